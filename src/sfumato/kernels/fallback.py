"""The kernels in NumPy: the specification of the compiled ones, and what runs where those could not be built."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 17  # rows per block: its 1 MB of 64-bit cell numbers does not leave the cache


def count(columns: Sequence[NDArray[np.unsignedinteger]], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Number of rows in each cell of the table over `columns`, cells in row-major order."""
    counts = np.zeros(int(np.prod(sizes, dtype=np.int64)), dtype=np.int64)
    rows = len(columns[0])
    for first in range(0, rows, BLOCK):
        block = [column[first : first + BLOCK] for column in columns]
        cell = block[0].astype(np.int64)
        for column, size in zip(block[1:], sizes[1:], strict=True):
            cell *= size
            cell += column
        counts += np.bincount(cell, minlength=len(counts))
    return counts


def locate(
    table: NDArray[np.uint32], columns: Sequence[int], sizes: Sequence[int]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The cell of every row of a column-major table, and the number of rows in each cell."""
    cell = np.zeros(table.shape[1], dtype=np.uint32)
    for column, size in zip(columns, sizes, strict=True):
        cell *= np.uint32(size)
        cell += table[column]
    return cell, np.bincount(cell, minlength=int(np.prod(sizes, dtype=np.int64)))


def move(
    table: NDArray[np.uint32],
    columns: Sequence[int],
    sizes: Sequence[int],
    cell: NDArray[np.uint32],
    counts: NDArray[np.int64],
    leave: NDArray[np.int64],
    replace: NDArray[np.int64],
    duplicate: NDArray[np.int64],
    rng: np.random.Generator,
) -> None:
    """Free `leave` random rows of each cell; let them enter others by `replace` or `duplicate`. Changes `table`.

    A replaced row takes only the marginal's own columns from its new cell; a duplicated row becomes a copy of a random
    row that was in the cell. A cell has either `leave` or entries, never both.
    """
    order = np.lexsort((rng.random(len(cell)), cell))
    start = np.concatenate(([0], np.cumsum(counts)[:-1]))
    rank = np.arange(len(cell)) - np.repeat(start, counts)
    freed = rng.permutation(order[rank < np.repeat(leave, counts)])

    entered = np.repeat(np.arange(len(counts)), replace)
    rows = freed[: len(entered)]
    stride = len(counts)
    for column, size in zip(columns, sizes, strict=True):
        stride //= size
        table[column, rows] = entered // stride % size

    entered = np.repeat(np.arange(len(counts)), duplicate)
    source = order[start[entered] + (rng.random(len(entered)) * counts[entered]).astype(np.int64)]
    table[:, freed[len(rows) :]] = table[:, source]
