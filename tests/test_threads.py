"""Jobs in threads: results in order, few at a time, errors where they belong, and an end when nobody waits."""

import os
from itertools import count
from threading import Event, Lock, active_count
from time import monotonic, sleep

import pyarrow as pa
import pytest

from sfumato import threads
from sfumato.loops import counted, listening
from sfumato.threads import AHEAD, in_order, may_use


def wait_for_threads(number):
    """Until this many are there; a busy machine may let them wait before they end."""
    until = monotonic() + 60
    while active_count() != number and monotonic() < until:
        sleep(0.01)
    assert active_count() == number


every_number = pytest.mark.parametrize("number", [1, 2, 3, 8])


def jobs_of(sizes):
    return [lambda start=start, size=size: ((start, item) for item in range(size)) for start, size in enumerate(sizes)]


@every_number
@pytest.mark.parametrize("sizes", [[], [3], [0, 0], [5, 0, 1, 7, 2, 2], [1] * 20])
def test_results_come_in_the_order_of_jobs(number, sizes):
    wanted = [(start, item) for start, size in enumerate(sizes) for item in range(size)]
    assert list(in_order(jobs_of(sizes), number)) == wanted


@pytest.mark.parametrize("number", [2, 3])
def test_few_jobs_are_under_way_and_none_runs_far_ahead(number):
    """However slowly results are taken: no job starts before one has ended, and none has more than a few ready."""
    lock, made, begun = Lock(), [], []

    def job(which):
        with lock:
            begun.append(which)
        for item in range(6):
            with lock:
                made.append(which)
            yield which, item

    taken = 0
    for which, item in in_order([lambda which=which: job(which) for which in range(7)], number):
        with lock:
            assert len(begun) <= which + number
            # What is taken, what is ready, and in each job the one that waits for room.
            assert len(made) <= taken + 1 + number * (AHEAD + 1)
        assert (which, item) == divmod(taken, 6)
        taken += 1
    assert taken == 42


@every_number
def test_an_error_is_raised_where_its_result_would_have_been(number):
    def broken():
        yield "first"
        raise ValueError("of the job")

    taken, before = [], active_count()
    with pytest.raises(ValueError, match="of the job"):
        taken.extend(in_order([lambda: ["whole"], broken, *[lambda: count()] * 3], number))
    assert taken == ["whole", "first"]
    wait_for_threads(before)


def test_threads_end_when_nobody_takes_results():
    """Also those in the middle of a loop, and those that wait for room."""
    before, looping = active_count(), Event()

    def endless():
        for _ in counted(range(10**12), "items"):
            looping.set()
        yield "never"

    results = in_order([lambda: count(), lambda: count(), endless], 3)
    assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
    assert looping.wait(60)
    assert active_count() == before + 3
    results.close()
    wait_for_threads(before)


def test_the_first_job_tells_how_far_it_is_until_there_are_results(monkeypatch):
    monkeypatch.setattr(threads, "LOOK", 0.001)
    told, heard = [], Event()

    def listener(*what):
        told.append(what)
        heard.set()

    def job():
        for _ in counted(range(2), "steps"):
            assert heard.wait(60)
        yield "result"

    with listening(listener):
        results = list(in_order([job, job], 2))
    assert results == ["result"] * 2
    assert told[0] in [("steps", 0, 2), ("steps", 1, 2)]


def test_no_more_threads_than_cores_and_than_arrow_has(monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0), raising=False)
    before = pa.cpu_count()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        for most in (1, 2, 1000):
            pa.set_cpu_count(most)
            assert may_use() == min(most, cores, threads.MOST)
    finally:
        pa.set_cpu_count(before)


@pytest.mark.parametrize(
    ("load", "all_cores", "threads_used"),
    [(0.0, 4, 4), (1.9, 4, 4), (2.0, 4, 3), (4.4, 4, 1), (90.0, 4, 1), (17.0, 64, 3), (200.0, 64, 1)],
)
def test_cores_that_others_keep_busy_are_left_to_them(load, all_cores, threads_used, monkeypatch):
    """Of a machine with many cores this process may run on four: it has its part of the load."""
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0), raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: all_cores)
    monkeypatch.setattr(pa, "cpu_count", lambda: 1000)
    assert may_use() == threads_used


def test_where_the_load_is_not_told_all_cores_count_as_free(monkeypatch):
    monkeypatch.delattr(os, "getloadavg", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1}, raising=False)
    monkeypatch.setattr(pa, "cpu_count", lambda: 1000)
    assert may_use() == 2
