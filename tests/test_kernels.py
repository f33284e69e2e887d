"""Both implementations of every kernel keep one contract; where C could not be built, only NumPy is there to test."""

import numpy as np
import pytest

from sfumato import kernels, loops
from sfumato.kernels import fallback

IMPLEMENTATIONS = [fallback]
if kernels.COMPILED:
    from sfumato.kernels import compiled

    IMPLEMENTATIONS.append(compiled)

both = pytest.mark.parametrize("kernel", IMPLEMENTATIONS, ids=lambda module: module.__name__)


@both
@pytest.mark.parametrize("types", [(np.uint8, np.uint16), (np.uint32, np.uint8), (np.uint16,)])
def test_counts_are_exact(kernel, types):
    rng = np.random.default_rng(1)
    sizes = [200, 7][: len(types)]
    columns = [rng.integers(0, size, 10_001).astype(kind) for size, kind in zip(sizes, types, strict=True)]
    expected = np.zeros(sizes, dtype=np.int64)
    np.add.at(expected, tuple(columns), 1)
    assert np.array_equal(kernel.count(columns, sizes), expected.ravel())


@both
def test_rows_are_located_in_row_major_cells(kernel):
    table = np.array([[0, 1, 1, 2], [4, 4, 4, 4], [1, 0, 0, 1]], dtype=np.uint32)
    cell, counts = kernel.locate(table, [2, 0], [2, 3])
    assert cell.tolist() == [3, 1, 1, 5]
    assert counts.tolist() == [0, 2, 0, 1, 0, 1]


def moved(kernel, seed=0, rows=900):
    """Rows over 3 columns; 40 leave cell 0 of column 0, 10 enter cell 1 by replacing and 30 enter cell 2 by copying."""
    rng = np.random.default_rng(seed)
    before = np.stack([np.repeat([0, 1, 2], rows // 3), rng.integers(0, 50, rows), rng.integers(0, 50, rows)]).astype(
        np.uint32
    )
    before[1] += before[0] * 100  # column 1 tells from which cell of column 0 a row came
    after = before.copy()
    cell, counts = kernel.locate(after, [0], [3])
    leave, replace, duplicate = (np.array(x, dtype=np.int64) for x in ([40, 0, 0], [0, 10, 0], [0, 0, 30]))
    kernel.move(after, [0], [3], cell, counts, leave, replace, duplicate, rng)
    return before, after


@both
def test_moves_change_exactly_the_rows_they_should(kernel):
    before, after = moved(kernel)
    changed = (before != after).any(axis=0)
    assert changed.sum() <= 40
    assert (before[0][changed] == 0).all()  # only rows of the over-full cell
    assert np.bincount(after[0], minlength=3).tolist() == [260, 310, 330]


@both
def test_replaced_rows_keep_their_other_columns_and_copied_rows_do_not(kernel):
    before, after = moved(kernel)
    entered = np.flatnonzero((before[0] == 0) & (after[0] != 0))
    replaced = entered[after[0][entered] == 1]
    copied = entered[after[0][entered] == 2]
    assert len(replaced) == 10
    assert len(copied) == 30
    assert np.array_equal(before[1:, replaced], after[1:, replaced])
    originals = {tuple(row) for row in before.T[before[0] == 2]}
    assert all(tuple(row) in originals for row in after.T[copied])


@both
def test_every_row_of_a_cell_is_equally_likely_to_leave(kernel):
    leaving = np.zeros(300)
    for seed in range(600):
        before, after = moved(kernel, seed)
        leaving += after[0][:300] != before[0][:300]
    expected = 600 * 40 / 300
    chi_square = ((leaving - expected) ** 2 / (expected * (1 - 40 / 300))).sum()
    assert 200 < chi_square < 420  # 300 degrees of freedom: six standard deviations either way


@both
def test_every_row_of_a_cell_is_equally_likely_to_be_copied(kernel):
    copies = np.zeros(300)
    for seed in range(400):
        before, after = moved(kernel, seed)
        rows = np.flatnonzero((before[0] == 0) & (after[0] == 2))
        where = {tuple(row): index for index, row in enumerate(before.T[600:])}
        for row in rows:
            copies[where[tuple(after[:, row])]] += 1
    expected = 400 * 30 / 300
    assert 190 < ((copies - expected) ** 2 / expected).sum() < 460


def test_compiled_kernels_were_built_here():
    # The package works without them, but this project's own tests must cover them.
    assert kernels.COMPILED


def pulled(rows=3000):
    """Independent columns, and tables that ask for dependence between them."""
    rng = np.random.default_rng(4)
    table = np.stack([rng.integers(0, size, rows) for size in (4, 4, 3)]).astype(np.uint32)
    columns, sizes = [[0, 1], [1, 2]], [[4, 4], [4, 3]]
    wanted = np.concatenate([(np.eye(4) * rows / 4).ravel(), np.full(12, rows / 12)])
    return table, columns, sizes, wanted


def excess_of(kernel, table, columns, sizes, wanted):
    counts = [kernel.locate(table, c, s)[1] for c, s in zip(columns, sizes, strict=True)]
    return (np.concatenate(counts) - wanted).astype(np.float32)


@both
def test_swaps_bring_tables_nearer_and_keep_every_column_as_it_is(kernel):
    table, columns, sizes, wanted = pulled()
    before = table.copy()
    excess = excess_of(kernel, table, columns, sizes, wanted)
    error = (excess.astype(float) ** 2).sum()
    made = kernel.swap(table, columns, sizes, excess, 200_000, np.random.default_rng(0))
    assert made > 100
    assert np.array_equal(np.sort(table, axis=1), np.sort(before, axis=1))
    assert np.allclose(excess, excess_of(kernel, table, columns, sizes, wanted), atol=1e-2)  # the books are right
    assert (excess.astype(float) ** 2).sum() < 0.05 * error
    assert (table[0] == table[1]).mean() > 0.85  # the tables ask for column 0 = column 1


@both
def test_swaps_stop_at_the_best_table(kernel):
    table = np.tile(np.arange(4, dtype=np.uint32), (2, 50))
    excess = np.zeros(16, dtype=np.float32)
    assert kernel.swap(table, [[0, 1]], [[4, 4]], excess, 5000, np.random.default_rng(0)) == 0
    assert (table[0] == table[1]).all()


@both
def test_one_row_has_no_partner_to_swap_with(kernel):
    table = np.zeros((2, 1), dtype=np.uint32)
    assert kernel.swap(table, [[0, 1]], [[2, 2]], np.zeros(4, dtype=np.float32), 10, np.random.default_rng(0)) == 0


def test_swaps_in_slices_and_with_wide_codes_are_the_same_swaps(monkeypatch):
    """Slices are there so an interrupt is heard; 2-byte codes for speed. Neither may change what comes out."""
    compiled = pytest.importorskip("sfumato.kernels.compiled")
    rng = np.random.default_rng(0)
    sizes = [5, 7, 70_000]
    first = np.stack([rng.integers(0, size, 3000, dtype=np.uint32) for size in sizes])
    excess = rng.normal(0, 3, 35).astype(np.float32)

    def swapped(tables, size_lists, start):
        table, off = first.copy(), start.copy()
        made = compiled.swap(table, tables, size_lists, off, 40_000, np.random.default_rng(1))
        return made, table

    made, table = swapped([[0, 1]], [[5, 7]], excess)
    assert made > 0
    assert np.array_equal(table[2], first[2])  # in no table, so it never moves, however wide its codes are
    monkeypatch.setattr(loops, "SLICE", 0)
    monkeypatch.setattr(loops, "FIRST", 999)
    again, sliced = swapped([[0, 1]], [[5, 7]], excess)
    assert again == made
    assert np.array_equal(sliced, table)
    monkeypatch.setattr(compiled, "SMALL", 1)  # as if no code fitted in two bytes
    again, wide = swapped([[0, 1]], [[5, 7]], excess)
    assert again == made
    assert np.array_equal(wide, table)
