"""Loops tell how far they are to whoever listens, and only the outermost one does."""

from threading import Event, Thread

import pytest

from sfumato import loops
from sfumato.loops import Stopped, counted, listening, sliced, stops_with


def test_a_loop_tells_before_each_item_and_loops_inside_are_silent():
    told = []
    with listening(lambda *what: told.append(what)):
        given = [(one, list(counted("xy", "letters"))) for one in counted(range(2), "numbers")]
    assert given == [(0, ["x", "y"]), (1, ["x", "y"])]
    assert told == [("numbers", 0, 2), ("numbers", 1, 2)]


def test_a_loop_that_ends_early_lets_the_next_one_speak():
    told = []
    with listening(lambda *what: told.append(what)):
        for _ in counted(range(9), "numbers"):
            break
        list(counted("x", "letters"))
    assert told == [("numbers", 0, 9), ("letters", 0, 1)]


def test_nobody_has_to_listen():
    assert list(counted(range(3), "numbers")) == [0, 1, 2]


def test_a_long_call_is_told_between_slices_that_grow_while_they_are_short(monkeypatch):
    monkeypatch.setattr(loops, "SLICE", 1e9)  # as if every slice took no time
    told, taken = [], []

    def run(steps):
        taken.append(min(steps, 10_000 - sum(taken)))
        return sum(taken), 10_000

    with listening(lambda *what: told.append(what)):
        sliced("steps", run)
    assert taken == [1024, 2048, 4096, 2832]
    assert told == [("steps", 0, 1), ("steps", 1024, 10_000), ("steps", 3072, 10_000), ("steps", 7168, 10_000)]
    monkeypatch.setattr(loops, "SLICE", 0)  # and now as if every one took far too long
    taken.clear()
    sliced("steps", run)
    assert set(taken[:-1]) == {1024}
    assert sum(taken) == 10_000


def test_loops_of_a_thread_that_nobody_waits_for_end():
    """Also one inside another, which is silent; and no handler of errors keeps it alive."""
    stop, reached = Event(), []

    def loop():
        for _ in counted(range(9), "outer"):
            for item in counted(range(9), "inner"):
                reached.append(item)
                stop.set()

    def work():
        stops_with(stop)
        with pytest.raises(Stopped):
            loop()
        reached.append("ended")

    worker = Thread(target=work)
    worker.start()
    worker.join()
    assert reached == [0, "ended"]
    assert not issubclass(Stopped, Exception)
    assert list(counted(range(2), "here")) == [0, 1]  # another thread goes on
