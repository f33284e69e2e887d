"""Jobs in threads, their results in the order of the jobs: what comes out does not depend on the number of threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Event, Semaphore, Thread
from time import monotonic
from typing import Generic, TypeVar

import pyarrow as pa

from sfumato.loops import Stopped, listening, stops_with, tell

T = TypeVar("T")

Job = Callable[[], Iterable[T]]
"""Gives results one by one."""

MOST = 4
"""Threads at most: each has a job in memory."""

AHEAD = 2
"""Results that a job may have ready before somebody takes them."""

LOOK = 0.2
"""Seconds between two looks at how far a thread is. An interrupt is heard then, wherever waiting itself does not."""

PATIENCE = 0.5
"""Seconds that threads have to end when nobody wants their results any more. They end with the process in any case."""


def may_use() -> int:
    """How many threads to use: as many as cores that this process may run on and that are free, at least one.

    Fewer if Arrow was told of fewer: it takes that from OMP_NUM_THREADS, as other libraries for numbers do.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(MOST, cores - _busy(cores), int(pa.cpu_count())))


def _busy(cores: int) -> int:
    """How many of these cores others keep busy, by the load of the last minute; of it, 1 is this process.

    Threads take turns with Python's lock. Where there are more of them than free cores, the one that has it is made to
    wait by the system, and all others wait for it: two threads then take longer than one.
    """
    if not hasattr(os, "getloadavg"):
        return 0
    others = max(0.0, os.getloadavg()[0] - 1)
    return int(others * cores / (os.cpu_count() or cores))


def in_order(jobs: Sequence[Job[T]], threads: int) -> Iterator[T]:
    """All results of the first job, then those of the second, and so on; up to `threads` jobs are under way.

    An error in a job is raised where its next result would have been. Whoever stops taking results ends the threads. A
    single job, or a single thread, is this one. Until the first result is there, loops of its job are told to the
    listener of this thread.
    """
    if min(threads, len(jobs)) < 2:
        for job in jobs:
            yield from job()
        return
    stop, waiting = Event(), iter(jobs)
    lines = deque(_Line(job, stop) for job in islice(waiting, threads))
    try:
        silent = False
        while lines:
            while not isinstance(found := lines[0].take(silent), _End):
                silent = True
                yield found
            if found.problem is not None:
                raise found.problem
            lines.popleft()
            lines.extend(_Line(job, stop) for job in islice(waiting, 1))
    finally:
        stop.set()
        until = monotonic() + PATIENCE
        for line in lines:
            line.leave(until)


@dataclass(frozen=True)
class _End:
    """Nothing more comes from a job, and why, if it did not end well."""

    problem: BaseException | None = None


class _Line(Generic[T]):
    """A job in a thread of its own, and the results that are ready."""

    def __init__(self, job: Job[T], stop: Event):
        self._ready: SimpleQueue[T | _End] = SimpleQueue()
        self._room = Semaphore(AHEAD)
        self._told: tuple[str, int, int] | None = None
        # A thread that does not end in time must not keep the process alive.
        self._thread = Thread(target=self._run, args=(job, stop), daemon=True)
        self._thread.start()

    def _run(self, job: Job[T], stop: Event) -> None:
        stops_with(stop)
        end = _End()
        try:
            with listening(self._hear):
                for result in job():
                    self._room.acquire()
                    if stop.is_set():
                        return
                    self._ready.put(result)
        except Stopped:
            return
        except BaseException as problem:  # whatever it is, it belongs to whoever waits for the result
            end = _End(problem)
        self._ready.put(end)

    def _hear(self, what: str, done: int, most: int) -> None:
        self._told = what, done, most

    def take(self, silent: bool) -> T | _End:
        """The next result; while it is waited for, tell how far the job is."""
        while True:
            try:
                found = self._ready.get(timeout=LOOK)
            except Empty:
                if self._told is not None and not silent:
                    tell(*self._told)
            else:
                self._room.release()
                return found

    def leave(self, until: float) -> None:
        """Take no more results, and wait for the thread to end, up to a moment."""
        self._room.release()
        self._thread.join(max(0.0, until - monotonic()))
