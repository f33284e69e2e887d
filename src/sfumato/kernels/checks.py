"""What kernels refuse: C would write what lies outside its tables into memory that others use."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Lookups = Sequence[NDArray[np.integer] | None]


def require_below(codes: NDArray[np.integer], size: int) -> None:
    """Refuse codes that a table of this size does not have."""
    if len(codes) and (int(codes.max()) >= size or (codes.dtype.kind != "u" and int(codes.min()) < 0)):
        raise ValueError(f"codes from {codes.min()} to {codes.max()} were given for a table of {size}")


def require_counted(columns: Sequence[NDArray[Any]], sizes: Sequence[int], lookups: Lookups, into: int) -> None:
    """Refuse columns of rows that lie, or are looked up to lie, outside the table that they are counted in."""
    for column, size, lookup in zip(columns, sizes, lookups, strict=True):
        require_below(column, size if lookup is None else len(lookup))
        if lookup is not None:
            require_below(lookup, size)
    if len({len(column) for column in columns}) != 1 or into != prod(sizes):
        raise ValueError(f"columns of one length and {prod(sizes)} counts were wanted, and {into} counts given")


def require_placed(
    table: NDArray[Any], columns: Sequence[Sequence[int]], sizes: Sequence[Sequence[int]], cells: int
) -> None:
    """Refuse rows, column by column, that lie outside their tables, and tables with more or fewer cells."""
    if sum(map(prod, sizes)) != cells:
        raise ValueError(f"tables of {sum(map(prod, sizes))} cells were given with {cells}")
    for column, size in {pair for some in zip(columns, sizes, strict=True) for pair in zip(*some, strict=True)}:
        require_below(table[column], size)


def require_columns(width: int, columns: Sequence[int]) -> None:
    """Refuse columns that a table does not have."""
    if not all(0 <= column < width for column in columns):
        raise ValueError(f"columns {list(columns)} were named of a table that has {width}")


def require_cells(cell: NDArray[np.uint32], rows: int, counts: NDArray[np.int64], sizes: Sequence[int]) -> None:
    """Refuse cells of other rows than a table has, outside it, or other counts than they have."""
    if len(cell) != rows or counts.size != prod(sizes):
        raise ValueError(
            f"{len(cell)} cells and {counts.size} counts were given for {rows} rows of {prod(sizes)} cells"
        )
    require_below(cell, counts.size)


def require_moves(
    counts: NDArray[np.int64], leave: NDArray[np.int64], replace: NDArray[np.int64], duplicate: NDArray[np.int64]
) -> None:
    """Refuse more rows that leave a cell than it has, other numbers that leave and enter, and copies of no row."""
    if (leave > counts).any() or leave.sum() != replace.sum() + duplicate.sum() or duplicate[counts == 0].any():
        raise ValueError("rows that leave must be in their cell, as many must enter, and a copy needs a row to copy")
    if min(leave.min(), replace.min(), duplicate.min()) < 0:
        raise ValueError("a negative number of rows cannot move")


def require_hands(parent: NDArray[np.integer], counts: NDArray[np.int64]) -> None:
    """Refuse hands of children that are not as large as the parent cells that they are dealt to."""
    require_below(parent, len(counts))
    if (counts < 0).any() or not np.array_equal(np.bincount(parent, minlength=len(counts)), counts.sum(axis=1)):
        raise ValueError(
            f"{counts.sum()} children were given for {len(parent)} rows, or others than the rows of a cell"
        )
