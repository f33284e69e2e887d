"""Loops tell how far they are to whoever listens, and only the outermost one does."""

from sfumato.loops import counted, listening


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
