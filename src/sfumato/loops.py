"""How far a long loop is, and whether anybody still wants it.

Loops tell how far they are, whoever shows progress listens, and neither knows of the other. What runs in a thread can
be told to stop: a loop then ends with `Stopped` at its next item.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")

Listener = Callable[[str, int, int], None]
"""Called with what a loop counts, how many of them are done, and how many there are at most."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_stop: ContextVar[Event | None] = ContextVar("stop", default=None)

SLICE = 0.1
"""Seconds that a slice of a long call should take."""

FIRST = 1 << 10
"""Steps of the first slice, and of the smallest one."""

AT_ONCE = 1 << 8
"""Values that count as one step where a call takes only a few nanoseconds for each."""


class Stopped(BaseException):
    """Nobody wants the result of this thread any more. Not an error: no handler of errors should catch it."""


def counted(items: Collection[T], what: str) -> Iterator[T]:
    """The items, each told to the listener before it is given; loops inside are not told."""
    for done, item in enumerate(items):
        tell(what, done, len(items))
        outer = _listener.set(None)
        try:
            yield item
        finally:
            _listener.reset(outer)


def sliced(what: str, run: Callable[[int], tuple[int, int]]) -> None:
    """Run a long call slice by slice: between two of them Python hears an interrupt, and the listener is told.

    Args:
        what: what is counted.
        run: takes this many steps, as far as there are any, and says how many are done and how many there are at most.
            What it makes must not depend on where slices end, because that is a matter of time.
    """
    steps, done, most = FIRST, 0, 1
    while done < most:
        tell(what, done, most)
        started = perf_counter()
        done, most = run(steps)
        took = perf_counter() - started
        steps = max(FIRST, min(2 * steps, int(steps * SLICE / max(took, 1e-9))))


def tell(what: str, done: int, most: int) -> None:
    """Tell the listener how far a loop is; end it if nobody wants it."""
    stop, listener = _stop.get(), _listener.get()
    if stop is not None and stop.is_set():
        raise Stopped
    if listener is not None:
        listener(what, done, most)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell this listener of loops, until the end of the block."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def stops_with(stop: Event) -> None:
    """From now on, loops of this thread end as soon as `stop` is set."""
    _stop.set(stop)
