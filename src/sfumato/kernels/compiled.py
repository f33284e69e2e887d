"""The kernels in C, with the signatures of fallback.py."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels._compiled import ffi, lib
from sfumato.kernels.checks import require_cells, require_columns, require_counted, require_moves, require_placed
from sfumato.loops import AT_ONCE, sliced

SMALL = 1 << 16
"""Cells of a table whose cell numbers fit in 16 bits, which halves the work of counting it."""


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
    columns = [np.ascontiguousarray(column) for column in columns]
    cells, strides = prod(sizes), _strides(sizes)
    counts = np.zeros(cells, dtype=np.int64) if into is None else into
    require_counted(columns, sizes, lookups or [None] * len(columns), counts.size)
    tables = [
        None if lookup is None else np.ascontiguousarray(lookup * stride, dtype=np.uint32)
        for lookup, stride in zip(lookups or [None] * len(columns), strides, strict=True)
    ]
    rows = (
        ffi.new("void *[]", [ffi.from_buffer(column) for column in columns]),
        ffi.new("int32_t[]", [column.itemsize for column in columns]),
        ffi.new("uint32_t[]", strides),
        ffi.new("uint32_t *[]", [ffi.NULL if table is None else _pointer("uint32_t *", table) for table in tables]),
        len(columns),
        len(columns[0]),
    )
    if cells > SMALL:
        lib.sfumato_count(*rows, _pointer("int64_t *", counts))
        return counts
    odd = np.zeros(cells, dtype=np.int64)
    lib.sfumato_count_small(*rows, _pointer("int64_t *", counts), _pointer("int64_t *", odd))
    counts += odd
    return counts


def locate(
    table: NDArray[np.unsignedinteger], columns: Sequence[int], sizes: Sequence[int]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The cell of every row of a table, and the number of rows in each cell.

    The table may lie in memory column by column, with codes of 4 bytes, or row by row, with codes of 2 or 4.
    """
    width, rows = table.shape
    cell = np.empty(rows, dtype=np.uint32)
    counts = np.zeros(prod(sizes), dtype=np.int64)
    strides, numbers = ffi.new("uint32_t[]", _strides(sizes)), ffi.new("int32_t[]", list(columns))
    found = _pointer("uint32_t *", cell), _pointer("int64_t *", counts)
    if table.itemsize != 2 and table.flags.c_contiguous:
        require_placed(table, [columns], [sizes], counts.size)
        problem: tuple[Any, ...] = (_pointer("uint32_t *", table), rows, numbers, strides)
        run = lib.sfumato_locate
    else:
        require_columns(width, columns)
        problem = (_codes(table), table.itemsize, width, numbers, strides, ffi.new("uint32_t[]", list(sizes)))
        run = lib.sfumato_locate_rows
    done = 0

    def some(steps: int) -> tuple[int, int]:
        nonlocal done
        end = min(rows, done + steps * AT_ONCE)
        if run(*problem, len(columns), *found, done, end):
            require_placed(table, [columns], [sizes], counts.size)  # says what is wrong
        done = end
        return done, rows

    sliced("rows", some)
    return cell, counts


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

    It is fastest for a table that lies row by row in memory.
    """
    width, rows = table.shape
    require_columns(width, columns)
    require_cells(cell, rows, counts, sizes)
    require_moves(counts, leave, replace, duplicate)
    by_row = np.asfortranarray(table)
    order = np.empty(rows, dtype=np.uint32)
    freed_rows, copies = int(leave.sum()), int(duplicate.sum())
    freed = np.empty(max(1, freed_rows), dtype=np.uint32)
    start = np.empty(len(counts), dtype=np.int64)
    state = rng.integers(1, 1 << 63, size=4, dtype=np.uint64)
    so_far = np.zeros(5, dtype=np.int64)
    problem = (
        _codes(by_row),
        by_row.itemsize,
        rows,
        width,
        ffi.new("int32_t[]", list(columns)),
        ffi.new("uint32_t[]", _strides(sizes)),
        ffi.new("uint32_t[]", list(sizes)),
        len(columns),
        len(counts),
        _pointer("uint32_t *", cell),
        _pointer("int64_t *", counts),
        _pointer("int64_t *", leave),
        _pointer("int64_t *", replace),
        _pointer("int64_t *", duplicate),
        _pointer("uint64_t *", state),
        _pointer("uint32_t *", order),
        _pointer("uint32_t *", freed),
        _pointer("int64_t *", start),
        _pointer("int64_t *", so_far),
    )
    done, most = 0, rows + 3 * freed_rows + 2 * len(counts) + copies * width // 16

    def some(steps: int) -> tuple[int, int]:
        nonlocal done
        ended = lib.sfumato_move(*problem, steps * AT_ONCE)
        done = most if ended else min(done + steps * AT_ONCE, most - 1)
        return done, most

    sliced("steps", some)
    if by_row is not table:
        table[:] = by_row


def swap(
    table: NDArray[np.unsignedinteger],
    columns: Sequence[Sequence[int]],
    sizes: Sequence[Sequence[int]],
    excess: NDArray[np.float32],
    proposals: int,
    rng: np.random.Generator,
) -> int:
    """Swap values between random rows where that lowers the sum of squared `excess`. Changes `table`, `excess`."""
    require_placed(table, columns, sizes, excess.size)
    strides = [_strides(size) for size in sizes]
    occurs: list[list[tuple[int, int]]] = [[] for _ in table]
    for number, (names, steps) in enumerate(zip(columns, strides, strict=True)):
        for name, step in zip(names, steps, strict=True):
            occurs[name].append((number, step))
    touched = np.empty(4 * max(1, *map(len, occurs)), dtype=np.int64)
    state = rng.integers(1, 1 << 63, size=4, dtype=np.uint64)
    narrow = max((size for some in sizes for size in some), default=0) <= SMALL
    kind, run = ("uint16_t *", lib.sfumato_swap_16) if narrow else ("uint32_t *", lib.sfumato_swap)
    # A column in no table never moves, and its codes may be too wide: it is not among the rows at all.
    moving = [place for place, found in enumerate(occurs) if found]
    by_row = np.ascontiguousarray(table[moving].T, dtype=np.uint16 if narrow else np.uint32) if moving else None
    if by_row is None:
        return 0
    place_of = {name: place for place, name in enumerate(moving)}
    occurs = [occurs[name] for name in moving]
    structure = (
        ffi.new("int32_t[]", [0, *accumulate(map(len, columns))]),
        ffi.new("int32_t[]", [place_of[name] for names in columns for name in names]),
        ffi.new("uint32_t[]", [step for steps in strides for step in steps]),
        ffi.new("int64_t[]", [0, *accumulate(map(prod, sizes))]),
        ffi.new("int32_t[]", [0, *accumulate(map(len, occurs))]),
        ffi.new("int32_t[]", [number for found in occurs for number, _ in found]),
        ffi.new("uint32_t[]", [step for found in occurs for _, step in found]),
        _pointer("float *", excess),
    )
    made = done = 0

    def some(steps: int) -> tuple[int, int]:
        nonlocal made, done
        rows = (_pointer(kind, by_row), by_row.shape[0], by_row.shape[1])
        here = min(steps, proposals - done)
        made += run(*rows, *structure, here, _pointer("uint64_t *", state), _pointer("int64_t *", touched))
        done += here
        return done, proposals

    sliced("swaps", some)
    for name, column in zip(moving, by_row.T, strict=True):
        table[name] = column
    return made


def improve(
    rows: NDArray[np.uint16],
    columns: Sequence[Sequence[int]],
    sizes: Sequence[Sequence[int]],
    cells: NDArray[np.float32],
    proposals: int,
    most: int,
    rng: np.random.Generator,
) -> int:
    """Exchange values and copy rows where that lowers the sum of weight * excess². Changes `rows` and `cells`."""
    count, width = rows.shape
    require_placed(rows.T, columns, sizes, cells.size // 2)
    strides = [_strides(size) for size in sizes]
    starts = [0, *accumulate(map(prod, sizes))]
    # For each column: where a table begins that has it and others, its stride there, and the others with theirs.
    entries: list[list[tuple[int, int, list[tuple[int, int]]]]] = [[] for _ in range(width)]
    for names, steps, start in zip(columns, strides, starts, strict=False):
        for name, step in zip(names, steps, strict=True):
            if len(names) > 1:
                others = [(one, by) for one, by in zip(names, steps, strict=True) if one != name]
                entries[name].append((start, step, others))
    flat = [entry for found in entries for entry in found]
    energy = np.empty(count, dtype=np.float32)
    touched = np.empty(4 * max(1, len(columns)), dtype=np.int32)
    state = rng.integers(1, 1 << 63, size=4, dtype=np.uint64)
    so_far = np.zeros(8, dtype=np.int64)
    problem = (
        _pointer("uint16_t *", rows),
        count,
        width,
        len(columns),
        ffi.new("int32_t[]", [0, *accumulate(map(len, columns))]),
        ffi.new("int32_t[]", [name for names in columns for name in names]),
        ffi.new("int32_t[]", [step for steps in strides for step in steps]),
        ffi.new("int32_t[]", starts),
        ffi.new("int32_t[]", [0, *accumulate(map(len, entries))]),
        ffi.new("int32_t[]", [start for start, _, _ in flat]),
        ffi.new("int32_t[]", [step for _, step, _ in flat]),
        ffi.new("int32_t[]", [0, *accumulate(len(others) for _, _, others in flat)]),
        ffi.new("int32_t[]", [name for _, _, others in flat for name, _ in others]),
        ffi.new("int32_t[]", [step for _, _, others in flat for _, step in others]),
        _pointer("float *", cells),
        _pointer("float *", energy),
        proposals,
        most,
        _pointer("uint64_t *", state),
        _pointer("int32_t *", touched),
        _pointer("int64_t *", so_far),
    )

    def some(steps: int) -> tuple[int, int]:
        lib.sfumato_improve(*problem, steps)
        looked, done, busy = so_far[:3].tolist()
        return looked + done, count + min(busy + proposals, most)

    sliced("moves", some)
    return int(so_far[3])


def _strides(sizes: Sequence[int]) -> list[int]:
    """Distance between neighbouring codes of each column in the row-major list of cells."""
    return [prod(sizes[position + 1 :]) for position in range(len(sizes))]


def _codes(table: NDArray[np.unsignedinteger]) -> Any:
    """The address of a table that lies row by row, with codes of 2 or 4 bytes."""
    return ffi.cast("char *", _pointer("uint16_t *" if table.itemsize == 2 else "uint32_t *", table.T))


def _pointer(kind: str, array: NDArray[Any]) -> Any:
    """The address of an array for C, which must be contiguous because C walks it without strides."""
    if not array.flags.c_contiguous or array.itemsize != ffi.sizeof(kind.removesuffix(" *")):
        raise ValueError(f"a kernel wants contiguous {kind.removesuffix(' *')} and was given {array.dtype}")
    return ffi.cast(kind, array.ctypes.data)
