"""Rows as single numbers, so two tables can be compared where they have rows, however many cells there are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique
from sfumato.data.marginal import Projectable
from sfumato.data.records import Records
from sfumato.errors import SchemaError

Ints = NDArray[np.int64]

DENSE_CELLS = 1 << 22
"""A table of more cells is never written down; rows are sorted instead."""
_LARGEST = 1 << 62


def joint_keys(tables: Sequence[Records], clique: Clique) -> list[Ints]:
    """One number for each row of each table; two rows have the same number just if they agree on `clique`.

    The numbers are mixed-radix codes. Before they would leave 64 bits they are replaced by their ranks, of which there
    are no more than rows: the method is exact and needs no hash, for any number of columns.
    """
    same_columns(tables, clique)
    keys = np.zeros(sum(map(len, tables)), dtype=np.int64)
    largest = 1
    for name in clique:
        size = tables[0].domain[name]
        if largest * size > _LARGEST:
            distinct, keys = np.unique(keys, return_inverse=True)
            keys, largest = keys.astype(np.int64), len(distinct)
        keys = keys * size + np.concatenate([table[name] for table in tables])
        largest *= size
    return np.split(keys, np.cumsum([len(table) for table in tables])[:-1])


def same_columns(tables: Sequence[Projectable], clique: Clique) -> None:
    """Refuse tables that code some column of `clique` differently."""
    first, *others = (table.domain.project(clique) for table in tables)
    for other in others:
        if other != first:
            raise SchemaError(f"the tables are over {first!r} and {other!r}; encode both by the same schema")


def occupied(table: Projectable, clique: Clique) -> tuple[tuple[Ints, ...], NDArray[np.float64]]:
    """The codes of each cell that has rows, column by column, and the counts; a count below 0 counts as 0."""
    domain = table.domain.project(clique)
    if isinstance(table, Records) and domain.cells() > DENSE_CELLS:
        (keys,) = joint_keys([table], clique)
        _, first, counts = np.unique(keys, return_index=True, return_counts=True)
        return tuple(table[name][first].astype(np.int64) for name in clique), counts.astype(np.float64)
    domain.require_cells(clique, DENSE_CELLS)
    dense = np.asarray(table.project(clique).counts, dtype=np.float64)
    codes = np.nonzero(dense > 0)
    return codes, dense[codes]
