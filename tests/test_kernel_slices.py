"""Long calls of the kernels end in slices: an interrupt is heard between two of them, and nothing else changes."""

import subprocess
import sys

import numpy as np
import pytest

from sfumato import kernels, loops

if not kernels.COMPILED:
    pytest.skip("the NumPy fallback has no long calls", allow_module_level=True)

from sfumato.kernels import compiled, compiled_trees, fallback

SIZES = [5, 7, 3, 4]


def locating(rows=2000):
    """A call that finds out which cell each row lies in."""
    rng = np.random.default_rng(0)
    table = np.stack([rng.integers(0, size, rows, dtype=np.uint32) for size in SIZES])
    return lambda: (table, *compiled.locate(table, [2, 0], [3, 5]))


def moving(rows=2000):
    """A call that moves rows between the cells of a table: some leave, some enter by replacing, some as copies."""
    table, cell, counts = locating(rows)()
    leave, replace, duplicate = (np.zeros(15, dtype=np.int64) for _ in range(3))
    leave[:6] = counts[:6] // 2
    duplicate[6:9] = leave.sum() // 6
    replace[9:] = (leave.sum() - duplicate.sum()) // 6
    replace[14] += leave.sum() - duplicate.sum() - replace.sum()

    def call():
        compiled.move(table, [2, 0], [3, 5], cell, counts, leave, replace, duplicate, np.random.default_rng(1))
        return (table,)

    return call


def dealing(rows=2000):
    """A call that deals children to the rows of parents."""
    rng = np.random.default_rng(0)
    parent = rng.integers(0, 9, rows)
    counts = np.stack([rng.multinomial(count, [0.1, 0.2, 0.7]) for count in np.bincount(parent, minlength=10)])
    return lambda: (compiled_trees.deal(parent, counts, np.random.default_rng(1)),)


@pytest.mark.parametrize("prepare", [locating, moving, dealing])
def test_where_slices_end_changes_nothing(prepare, monkeypatch):
    """It is a matter of time, so a sample with a seed would not be a function of the seed."""
    whole = prepare()()
    monkeypatch.setattr(loops, "SLICE", 0)
    for steps, at_once in ((1, 1), (1, 7), (3, 331), (1, 1999)):
        monkeypatch.setattr(loops, "FIRST", steps)
        monkeypatch.setattr(compiled, "AT_ONCE", at_once)
        monkeypatch.setattr(compiled_trees, "AT_ONCE", at_once)
        assert all(np.array_equal(one, two) for one, two in zip(prepare()(), whole, strict=True))


@pytest.mark.parametrize("kind", [np.uint16, np.uint32])
def test_rows_that_lie_one_after_the_other_are_located_and_moved_like_columns(kind):
    """Where a table lies in memory is a matter of speed; with codes of two bytes and of four."""
    table, cell, counts = locating()()
    by_row = np.asfortranarray(table.astype(kind))
    found = compiled.locate(by_row, [2, 0], [3, 5])
    assert np.array_equal(found[0], cell)
    assert np.array_equal(found[1], counts)
    leave = np.where(np.arange(15) < 6, counts // 2, 0)
    enter = np.zeros(15, dtype=np.int64)
    enter[10], enter[12] = leave.sum() // 3, leave.sum() - leave.sum() // 3
    duplicate = enter // 2
    for one in (table, by_row):
        moves = (cell, counts, leave, enter - duplicate, duplicate)
        compiled.move(one, [2, 0], [3, 5], *moves, np.random.default_rng(1))
    assert by_row.flags.f_contiguous
    assert np.array_equal(by_row, table)


@pytest.mark.parametrize("kind", [np.uint16, np.uint32])
def test_what_lies_outside_its_table_is_refused_in_rows_too(kind):
    by_row = np.asfortranarray(np.array([[0, 1, 2], [0, 1, 0]], dtype=kind))
    with pytest.raises(ValueError, match="codes from 0 to 2 were given for a table of 2"):
        compiled.locate(by_row, [0, 1], [2, 2])
    with pytest.raises(ValueError, match=r"columns \[2\] were named of a table that has 2"):
        compiled.locate(by_row, [2], [2])
    cell, counts = compiled.locate(by_row, [0], [3])
    still = [np.zeros(3, dtype=np.int64)] * 3
    for columns, cells, told in (
        ([2], cell, "were named"),
        ([0], cell + 9, "codes from 9"),
        ([0], cell[:2], "2 cells"),
    ):
        with pytest.raises(ValueError, match=told):
            compiled.move(by_row, columns, [3], cells.astype(np.uint32), counts, *still, np.random.default_rng())


def test_rows_enter_the_cells_they_should():
    before, _, counts = locating()()
    (after,) = moving()()
    found = fallback.locate(after, [2, 0], [3, 5])[1]
    leave = np.where(np.arange(15) < 6, counts // 2, 0)
    assert np.array_equal(found[:6], (counts - leave)[:6])
    assert found.sum() == counts.sum()
    assert (found[6:] > counts[6:]).all()
    kept = {tuple(row) for row in before.T}
    copies = (found - counts)[6:9].sum()
    # A copy is a row that was there before, in all columns; one that replaces has only the cell's own.
    assert sum(tuple(row) in kept for row in after.T) >= len(after.T) - (leave.sum() - copies)


def test_no_rows_are_moved_nowhere():
    nothing = np.zeros(15, dtype=np.int64)
    cell, counts = compiled.locate(np.zeros((4, 0), dtype=np.uint32), [2, 0], [3, 5])
    assert len(cell) == counts.sum() == 0
    table = np.zeros((4, 0), dtype=np.uint32)
    compiled.move(table, [2, 0], [3, 5], cell, counts, nothing, nothing, nothing, np.random.default_rng())
    assert len(compiled_trees.deal(np.zeros(0, np.uint32), np.zeros((3, 2), np.int64), np.random.default_rng())) == 0


@pytest.mark.parametrize("name", ["locating", "moving", "dealing"])
def test_an_interrupt_is_heard_in_the_middle_of_a_call(name):
    """Within a second of its own time: how long a busy machine lets it wait is not ours to say.

    Slices of a single value make the call take many seconds; what is heard between them is heard between others too.
    """
    program = f"""
import os, signal
from threading import Timer
from time import process_time
import test_kernel_slices
from sfumato import loops
from sfumato.kernels import compiled, compiled_trees
call = test_kernel_slices.{name}(10_000_000)
loops.SLICE, loops.FIRST, compiled.AT_ONCE, compiled_trees.AT_ONCE = 0, 1, 1, 1
sent = []
def send():
    sent.append(process_time())
    os.kill(os.getpid(), signal.SIGINT)
Timer(0.3, send).start()
try:
    call()
    print("ended")
except KeyboardInterrupt:
    print("heard", "soon" if process_time() - sent[0] < 1 else "late")
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, cwd="tests")
    assert done.stdout.split() == ["heard", "soon"]
