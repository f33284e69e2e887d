"""Where methods that move rows begin, and what they move them towards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato import kernels
from sfumato.data.constraints import Constraint
from sfumato.data.domain import Clique
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.models.rounding import round_counts

Table = NDArray[np.unsignedinteger]
"""Rows of codes: `table[column, row]`. They may lie in memory column by column, or row by row (`by_row`)."""


def independent_columns(
    marginals: Marginals, rows: int, rng: np.random.Generator, names: Iterable[str] | None = None
) -> Table:
    """Rows whose columns (all, or those named) follow their one-way tables and are independent of each other."""
    domain = marginals.domain if names is None else marginals.domain.project(names)
    table = np.empty((len(domain), rows), dtype=np.uint32)
    for index, (name, size) in enumerate(domain.items()):
        counts = round_counts(marginals.project((name,)).counts.astype(np.float64).clip(min=0), rows, rng)
        table[index] = rng.permutation(np.repeat(np.arange(size, dtype=np.uint32), counts))
    return table


def maximal(cliques: Iterable[Clique]) -> list[Clique]:
    """The cliques that lie inside no other one, smallest first; of two over the same columns only one."""
    kept: list[Clique] = []
    for clique in sorted(cliques, key=len, reverse=True):
        if not any(set(clique) <= set(other) for other in kept):
            kept.append(clique)
    return kept[::-1]


def by_row(table: Table, sizes: Iterable[int]) -> Table:
    """The same table, row by row in memory and with codes of two bytes where they fit.

    A row that is copied, or looked at as a whole, is then one place in memory and not one for each column.
    """
    return np.asarray(table, dtype=np.uint16 if max(sizes, default=0) <= 1 << 16 else np.uint32, order="F")


@dataclass(frozen=True)
class Target:
    """One table that rows are moved towards: its columns in the fitted part, their sizes, and its cells in rows."""

    columns: list[int]
    sizes: list[int]
    wanted: NDArray[np.float64]

    @classmethod
    def of(cls, marginal: Marginal, names: Sequence[str], rows: int) -> Target:
        """A target of `rows` rows in proportion to a marginal (an empty one asks for equal cells)."""
        wanted = marginal.counts.ravel().astype(np.float64).clip(min=0)
        total = wanted.sum()
        wanted = wanted * (rows / total) if total > 0 else np.full(len(wanted), rows / len(wanted))
        return cls([names.index(name) for name in marginal.clique], list(marginal.domain.shape), wanted)


@dataclass(frozen=True, eq=False)
class Barrier:
    """Cells that rows may not enter: their columns in the fitted part, their sizes, and which they are."""

    columns: list[int]
    sizes: list[int]
    forbidden: NDArray[np.bool_]

    @classmethod
    def of(cls, constraint: Constraint, names: Sequence[str]) -> Barrier:
        """The barrier of a constraint."""
        columns = [names.index(name) for name in constraint.clique]
        return cls(columns, list(constraint.allowed.shape), ~constraint.allowed.ravel())

    def crossed(self, table: Table) -> NDArray[np.bool_]:
        """Which rows lie in forbidden cells."""
        return self.forbidden[kernels.locate(table, self.columns, self.sizes)[0]]
