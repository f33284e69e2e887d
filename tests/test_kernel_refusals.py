"""Both kinds of kernels refuse what would make C read or write outside its arrays, changing nothing."""

import numpy as np
import pytest

from sfumato import kernels
from sfumato.kernels import fallback, fallback_trees

ROWS, TREES = [fallback], [fallback_trees]
if kernels.COMPILED:
    from sfumato.kernels import compiled, compiled_trees

    ROWS.append(compiled)
    TREES.append(compiled_trees)

both = pytest.mark.parametrize("kernel", ROWS, ids=lambda module: module.__name__)
both_trees = pytest.mark.parametrize("kernel", TREES, ids=lambda module: module.__name__)


def rng():
    return np.random.default_rng(0)


def codes(*values, kind=np.uint32):
    return np.array(values, dtype=kind)


@both
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_a_code_outside_its_column_is_not_counted(kernel, kind):
    # In row-major cells the code 3 of a column of 3 is a cell of the table all the same: the wrong one.
    into = np.zeros(6, dtype=np.int64)
    with pytest.raises(ValueError, match="codes from 0 to 3 were given for a table of 3"):
        kernel.count([codes(0, 1, kind=kind), codes(3, 0, kind=kind)], [2, 3], into=into)
    assert not into.any()


@both
def test_lookups_must_know_every_code_and_name_codes_of_the_table(kernel):
    column = codes(0, 1, 2, kind=np.uint8)
    for lookup, told in (([0, 1], "from 0 to 2 .* of 2"), ([0, 2, 1], "from 0 to 2 .* of 2"), ([0, -1, 1], "from -1")):
        with pytest.raises(ValueError, match=told):
            kernel.count([column], [2], [np.array(lookup)])


@both
def test_columns_and_counts_must_be_as_long_as_each_other(kernel):
    with pytest.raises(ValueError, match="columns of one length"):
        kernel.count([codes(0, 1), codes(0)], [2, 2])
    with pytest.raises(ValueError, match="and 3 counts given"):
        kernel.count([codes(0, 1)], [2], into=np.zeros(3, dtype=np.int64))


@both
def test_a_code_outside_its_column_is_not_located(kernel):
    with pytest.raises(ValueError, match="were given for a table of 2"):
        kernel.locate(np.array([[0, 2]], dtype=np.uint32), [0], [2])


@both
@pytest.mark.parametrize(
    ("leave", "replace", "duplicate"),
    [
        ([3, 0, 0], [0, 3, 0], [0, 0, 0]),  # more than are there
        ([2, 0, 0], [0, 1, 0], [0, 0, 0]),  # fewer enter than leave
        ([1, 0, 0], [0, 1, 0], [0, 1, 0]),  # more enter than leave
        ([1, 0, 0], [0, 0, 0], [0, 0, 1]),  # a copy of no row
        ([1, 0, 0], [0, 2, -1], [0, 0, 0]),
    ],
)
def test_moves_that_do_not_add_up_are_refused(kernel, leave, replace, duplicate):
    table = np.array([[0, 0, 1]], dtype=np.uint32)
    cell, counts = kernel.locate(table, [0], [3])
    with pytest.raises(ValueError, match=r"rows that leave|a negative number"):
        kernel.move(table, [0], [3], cell, counts, *(np.array(x) for x in (leave, replace, duplicate)), rng())
    assert table.tolist() == [[0, 0, 1]]


@both
def test_swaps_and_improvements_of_rows_outside_their_tables_are_refused(kernel):
    columns, sizes = [[0, 1]], [[2, 2]]
    for rows, cells, told in (
        ([[0, 1], [1, 2]], 4, "codes from 1 to 2 were given for a table of 2"),
        ([[0, 1], [1, 0]], 3, "tables of 4 cells were given with 3"),
    ):
        table = np.array(rows, dtype=np.uint32).T.copy()
        with pytest.raises(ValueError, match=told):
            kernel.swap(table, columns, sizes, np.zeros(cells, dtype=np.float32), 10, rng())
        by_row, excess = np.array(rows, dtype=np.uint16), np.zeros((cells, 2), dtype=np.float32)
        with pytest.raises(ValueError, match=told):
            kernel.improve(by_row, columns, sizes, excess, 10, 20, rng())


@both_trees
@pytest.mark.parametrize(
    ("parent", "counts"), [([0, 0, 1], [[1, 0], [1, 1]]), ([0, 2], [[1, 0], [1, 0]]), ([0], [[2, -1]])]
)
def test_hands_of_another_size_than_their_cells_are_refused(kernel, parent, counts):
    with pytest.raises(ValueError, match="were given for"):
        kernel.deal(codes(*parent), np.array(counts), rng())


@pytest.mark.skipif(not kernels.COMPILED, reason="only C walks over arrays without looking at their type")
def test_c_is_given_no_array_of_another_type():
    with pytest.raises(ValueError, match="a kernel wants contiguous uint32_t and was given int64"):
        compiled.locate(np.zeros((1, 3), dtype=np.int64), [0], [1])
