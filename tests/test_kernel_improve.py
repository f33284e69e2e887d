"""The kernel that exchanges values and copies rows: both implementations keep one contract."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import loops
from sfumato.kernels import fallback
from test_kernels import both


def problem(seed, rows=600, sizes=(3, 4, 2, 5)):
    """Rows of independent columns, and tables of rows that depend on each other: single columns, pairs, a triple."""
    rng = np.random.default_rng(seed)
    table = np.stack([rng.integers(0, size, rows) for size in sizes], axis=1).astype(np.uint16)
    last = rng.integers(0, 1 << 20, rows)
    real = []
    for size in sizes:
        last = np.where(rng.random(rows) < 0.7, last, rng.integers(0, 1 << 20, rows))
        real.append(last % size)
    columns = [(0,), (1,), (2,), (3,), (0, 1), (1, 2), (2, 3), (0, 2, 3)]
    wanted = [counted(np.stack(real, axis=1), names, sizes) for names in columns]
    shapes = [[sizes[name] for name in names] for names in columns]
    weights = [rng.random(table.size) + 0.1 for table in wanted]
    return table, columns, shapes, wanted, weights


def counted(rows, names, sizes):
    cell = np.zeros(len(rows), dtype=np.int64)
    for name in names:
        cell = cell * sizes[name] + rows[:, name]
    return np.bincount(cell, minlength=int(np.prod([sizes[name] for name in names])))


def cells_of(rows, columns, wanted, weights, sizes):
    excess = [counted(rows, names, sizes) - one for names, one in zip(columns, wanted, strict=True)]
    return np.stack([np.concatenate(excess), np.concatenate(weights)], axis=1).astype(np.float32)


def error(cells):
    return float((cells[:, 1].astype(float) * cells[:, 0].astype(float) ** 2).sum())


@both
@given(seed=st.integers(0, 2**32), rows=st.integers(2, 300), proposals=st.integers(0, 1500))
@settings(max_examples=15, deadline=None)
def test_every_move_lowers_the_error_and_the_cells_say_what_the_rows_are(kernel, seed, rows, proposals):
    sizes = (3, 4, 2, 5)
    table, columns, shapes, wanted, weights = problem(seed, rows, sizes)
    before = cells_of(table, columns, wanted, weights, sizes)
    cells = before.copy()
    made = kernel.improve(table, columns, shapes, cells, proposals, 2 * proposals, np.random.default_rng(seed))
    after = cells_of(table, columns, wanted, weights, sizes)
    np.testing.assert_allclose(cells, after, atol=1e-3)
    assert (table < np.array(sizes)).all()
    assert error(after) < error(before) if made else np.array_equal(before, after)


@both
def test_rows_come_nearer_to_all_tables(kernel):
    table, columns, shapes, wanted, weights = problem(1)
    sizes = (3, 4, 2, 5)
    cells = cells_of(table, columns, wanted, weights, sizes)
    before = error(cells)
    assert kernel.improve(table, columns, shapes, cells, 30 * len(table), 60 * len(table), np.random.default_rng(0)) > 0
    assert error(cells) < 0.02 * before


def test_more_rows_than_fit_into_the_cache_come_near_in_all_their_parts():
    """Moves are tried among neighbouring rows, and all rows take part in them."""
    kernel = pytest.importorskip("sfumato.kernels.compiled")
    sizes = (3, 4, 2, 5)
    table, columns, shapes, wanted, weights = problem(5, 50_000)
    cells = cells_of(table, columns, wanted, weights, sizes)
    before, rows = error(cells), table.copy()
    kernel.improve(table, columns, shapes, cells, 20 * len(table), 40 * len(table), np.random.default_rng(0))
    after = cells_of(table, columns, wanted, weights, sizes)
    np.testing.assert_allclose(cells, after, atol=0.05)
    assert error(after) < 0.001 * before
    changed = (table != rows).any(axis=1).reshape(50, -1).mean(axis=1)
    assert changed.min() > 0.5 * changed.max()


@both
def test_it_stops_at_the_best_table(kernel):
    table, columns, shapes, _, weights = problem(2)
    sizes = (3, 4, 2, 5)
    cells = cells_of(table, columns, [counted(table, names, sizes) for names in columns], weights, sizes)
    before = table.copy()
    assert kernel.improve(table, columns, shapes, cells, 5000, 5000, np.random.default_rng(0)) == 0
    assert np.array_equal(table, before)


@both
def test_it_is_repeatable_and_limited(kernel):
    made = []
    for _ in range(2):
        table, columns, shapes, wanted, weights = problem(3)
        cells = cells_of(table, columns, wanted, weights, (3, 4, 2, 5))
        kernel.improve(table, columns, shapes, cells, 10**9, 3000, np.random.default_rng(7))
        made.append(table)
    assert np.array_equal(*made)


@both
def test_columns_without_pairs_are_met_by_copies(kernel):
    """An exchange cannot change how often a value occurs; a copy can."""
    table = np.zeros((200, 2), dtype=np.uint16)
    table[:20] = 1
    wanted = [np.array([100.0, 100.0]), np.array([100.0, 100.0])]
    weights = [np.ones(2), np.ones(2)]
    cells = cells_of(table, [(0,), (1,)], wanted, weights, (2, 2))
    kernel.improve(table, [(0,), (1,)], [[2], [2]], cells, 8_000, 16_000, np.random.default_rng(0))
    assert abs(cells[:, 0]).max() <= 1


@pytest.mark.parametrize("seed", range(3))
def test_both_implementations_come_equally_near(seed):
    kernels = pytest.importorskip("sfumato.kernels.compiled")
    errors = []
    for kernel in (fallback, kernels):
        table, columns, shapes, wanted, weights = problem(seed, 1000)
        cells = cells_of(table, columns, wanted, weights, (3, 4, 2, 5))
        start = error(cells)
        kernel.improve(table, columns, shapes, cells, 40 * len(table), 80 * len(table), np.random.default_rng(seed))
        errors.append(error(cells) / start)
    assert max(errors) < 0.005


def test_moves_in_slices_are_the_same_moves(monkeypatch):
    """Where slices end is a matter of time, and may not change what is made."""
    compiled = pytest.importorskip("sfumato.kernels.compiled")

    def moved():
        table, columns, shapes, wanted, weights = problem(4)
        cells = cells_of(table, columns, wanted, weights, (3, 4, 2, 5))
        made = compiled.improve(table, columns, shapes, cells, 20_000, 40_000, np.random.default_rng(7))
        return made, table, cells

    whole = moved()
    monkeypatch.setattr(loops, "SLICE", 0)
    for steps in (1, 599, 1001):
        monkeypatch.setattr(loops, "FIRST", steps)
        assert all(np.array_equal(one, two) for one, two in zip(moved(), whole, strict=True))


CALLS = {
    "improve": "improve(rows, [(0, 1), (1, 2)], [[4, 4], [4, 4]], np.ones((32, 2), np.float32), 10**12, 10**12, rng)",
    "swap": "swap(rows.T.astype(np.uint32), [(0, 1), (1, 2)], [[4, 4], [4, 4]], np.ones(32, np.float32), 10**12, rng)",
}
"""Calls that would take hours."""


@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_is_heard_while_rows_are_moved(name):
    """Within a second of its own time: how long a busy machine lets it wait is not ours to say."""
    program = f"""
import os, signal
from threading import Timer
from time import process_time
import numpy as np
from sfumato.kernels import improve, swap
rng = np.random.default_rng(0)
rows = rng.integers(0, 4, (1000, 3)).astype(np.uint16)
sent = []
def send():
    sent.append(process_time())
    os.kill(os.getpid(), signal.SIGINT)
Timer(0.3, send).start()
try:
    {CALLS[name]}
except KeyboardInterrupt:
    print("heard", "soon" if process_time() - sent[0] < 1 else "late")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["heard", "soon"]
