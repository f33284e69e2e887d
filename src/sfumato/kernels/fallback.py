"""The kernels in NumPy: the specification of the compiled ones, and what runs where those could not be built."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.checks import require_counted, require_moves, require_placed

BLOCK = 1 << 17  # rows per block: its 1 MB of 64-bit cell numbers does not leave the cache


def count(
    columns: Sequence[NDArray[np.unsignedinteger]],
    sizes: Sequence[int],
    lookups: Sequence[NDArray[np.integer] | None] | None = None,
    into: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Number of rows in each cell of the table over `columns`, cells in row-major order.

    Where a column has a lookup table, its codes are looked up there as they are counted. `into` holds the counts of
    rows before these; it is added to and returned.
    """
    counts = np.zeros(int(np.prod(sizes, dtype=np.int64)), dtype=np.int64) if into is None else into
    rows = len(columns[0])
    tables = lookups or [None] * len(columns)
    require_counted(columns, sizes, tables, counts.size)
    for first in range(0, rows, BLOCK):
        cell = np.zeros(min(BLOCK, rows - first), dtype=np.int64)
        for column, table, size in zip(columns, tables, sizes, strict=True):
            codes = column[first : first + BLOCK]
            cell *= size
            cell += codes if table is None else table[codes]
        counts += np.bincount(cell, minlength=len(counts))
    return counts


def locate(
    table: NDArray[np.unsignedinteger], columns: Sequence[int], sizes: Sequence[int]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The cell of every row of a table, and the number of rows in each cell."""
    require_placed(table, [columns], [sizes], int(np.prod(sizes, dtype=np.int64)))
    cell = np.zeros(table.shape[1], dtype=np.uint32)
    for column, size in zip(columns, sizes, strict=True):
        cell *= np.uint32(size)
        cell += table[column]
    return cell, np.bincount(cell, minlength=int(np.prod(sizes, dtype=np.int64)))


def move(
    table: NDArray[np.unsignedinteger],
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
    require_moves(counts, leave, replace, duplicate)
    shuffled = rng.permutation(len(cell))
    narrow = np.uint16 if len(counts) <= 1 << 16 else np.uint32  # a stable sort of 16-bit numbers takes linear time
    order = shuffled[np.argsort(cell[shuffled].astype(narrow), kind="stable")]
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


def swap(
    table: NDArray[np.unsignedinteger],
    columns: Sequence[Sequence[int]],
    sizes: Sequence[Sequence[int]],
    excess: NDArray[np.float32],
    proposals: int,
    rng: np.random.Generator,
) -> int:
    """Swap values between random rows where that lowers the sum of squared `excess`. Changes `table`, `excess`.

    `excess` is rows minus target for every cell of every table, one table after the other. Rows are paired in
    batches; single improvements that together do harm (they crowd into the same cells) are halved until they do none.
    """
    require_placed(table, columns, sizes, excess.size)
    made, rows = 0, table.shape[1]
    starts = np.concatenate(([0], np.cumsum([np.prod(size, dtype=np.int64) for size in sizes])))
    batch = max(1, rows // 40)
    for _ in range(0, proposals, batch):
        column = int(rng.integers(len(table)))
        pairs = rng.permutation(rows)[: 2 * min(batch, rows // 2)].reshape(2, -1)
        moved = [
            (starts[number] + locate(table[:, pairs.ravel()], names, size)[0].reshape(pairs.shape), stride)
            for number, (names, size) in enumerate(zip(columns, sizes, strict=True))
            if column in names
            for stride in [int(np.prod(size[list(names).index(column) + 1 :], dtype=np.int64))]
        ]
        values = table[column, pairs].astype(np.int64)
        cells = [(old, old + (values[::-1] - values) * stride) for old, stride in moved]
        gain = np.zeros(pairs.shape[1])
        for old, new in cells:
            lasting = new[0] != old[1]
            gain += lasting * (2 * (excess[old].sum(axis=0) - excess[new].sum(axis=0)) - 4)
        chosen = np.flatnonzero(gain > 0)
        while len(chosen):
            trial = excess.astype(np.float64)
            for old, new in cells:
                np.subtract.at(trial, old[:, chosen].ravel(), 1)
                np.add.at(trial, new[:, chosen].ravel(), 1)
            if (trial**2).sum() < (excess.astype(np.float64) ** 2).sum():
                excess[:] = trial
                table[column, pairs[:, chosen]] = values[::-1, chosen]
                made += len(chosen)
                break
            chosen = chosen[: len(chosen) // 2]
    return made


OFTEN, SELDOM = 4, 20
"""Copies are every 4th batch while more than a fifth of them are made, otherwise every 20th."""


def improve(
    rows: NDArray[np.uint16],
    columns: Sequence[Sequence[int]],
    sizes: Sequence[Sequence[int]],
    cells: NDArray[np.float32],
    proposals: int,
    most: int,
    rng: np.random.Generator,
) -> int:
    """Exchange values and copy rows where that lowers the sum of weight * excess². Changes `rows` and `cells`.

    Two rows exchange their values of one column, or one row becomes a copy of another. `rows` is row-major; `cells` has
    a line (rows minus target, weight) for every cell of every table, one table after the other. It ends when there
    were `proposals` since copies were last frequent, or `most` in all. Rows are tried in batches; single improvements
    that together do harm are halved until they do none.
    """
    require_placed(rows.T, columns, sizes, len(cells))
    count, width = rows.shape
    starts = np.concatenate(([0], np.cumsum([np.prod(size, dtype=np.int64) for size in sizes]))).astype(np.int64)
    made, done, busy, interval = 0, 0, 0, SELDOM
    batch = max(1, count // 40)
    while count > 1 and done < min(busy + proposals, most):
        done += batch
        order = rng.permutation(count)
        if int(rng.integers(interval)) == 0:
            lost = order[: max(1, min(batch, count // 2))]
            source = order[count // 2 + rng.integers(0, count - count // 2, len(lost))]
            left = [_cells(rows[lost], columns, sizes, starts)]
            chosen = _agreeing(cells, left, [_cells(rows[source], columns, sizes, starts)])
            rows[lost[chosen]] = rows[source[chosen]]
            interval = OFTEN if 5 * len(chosen) > len(lost) else SELDOM
            busy = done if interval == OFTEN else busy
        else:
            column = int(rng.integers(width))
            one, two = order[: 2 * max(1, min(batch, count // 2))].reshape(2, -1)
            held = [place for place, names in enumerate(columns) if column in names and len(names) > 1]
            pick = ([columns[place] for place in held], [sizes[place] for place in held], starts[held])
            left = [_cells(rows[side], *pick) for side in (one, two)]
            swapped = rows[one], rows[two]
            swapped[0][:, column], swapped[1][:, column] = rows[two, column], rows[one, column]
            chosen = _agreeing(cells, left, [_cells(side, *pick) for side in swapped])
            rows[one[chosen]], rows[two[chosen]] = swapped[0][chosen], swapped[1][chosen]
        made += len(chosen)
    return made


def _cells(
    rows: NDArray[np.uint16],
    columns: Sequence[Sequence[int]],
    sizes: Sequence[Sequence[int]],
    starts: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The cell of each row in each table: one line for each table."""
    found = np.zeros((len(columns), len(rows)), dtype=np.int64)
    for line, names, size, start in zip(found, columns, sizes, starts, strict=False):
        for name, steps in zip(names, size, strict=True):
            line *= steps
            line += rows[:, name]
        line += start
    return found


def _agreeing(
    cells: NDArray[np.float32], old: Sequence[NDArray[np.int64]], new: Sequence[NDArray[np.int64]]
) -> NDArray[np.int64]:
    """Which moves are made, each from its `old` cells to its `new` ones; writes the excess that follows."""
    excess, weight = cells[:, 0].astype(np.float64), cells[:, 1].astype(np.float64)
    left, entered = np.stack(old), np.stack(new)  # sides × tables × moves
    # Where the rows of an exchange only trade places, nothing changes.
    lasting = ~np.all(np.sort(left, axis=0) == np.sort(entered, axis=0), axis=0)
    rise = weight[entered] * (2 * excess[entered] + 1) - weight[left] * (2 * excess[left] - 1)
    chosen = np.flatnonzero((rise.sum(axis=0) * lasting).sum(axis=0) < 0)
    while len(chosen):
        touched = np.concatenate([left[..., chosen].ravel(), entered[..., chosen].ravel()])
        steps = np.repeat([-1.0, 1.0], len(touched) // 2)
        places, where = np.unique(touched, return_inverse=True)
        by = np.bincount(where, steps)
        if float((weight[places] * (2 * excess[places] + by) * by).sum()) < 0:
            cells[places, 0] += by.astype(np.float32)
            break
        chosen = chosen[: len(chosen) // 2]
    return chosen
