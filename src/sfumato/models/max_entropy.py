"""The table over any columns, from tables over others: maximum entropy, and least squares for comparison.

Both answers meet what the tables say about the columns that are asked for, and differ in what they make of the rest.
Maximum entropy (section 3.2 of the NIST paper) adds no dependence that no table shows; least squares makes the cells
as even as it can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals

CELLS = 5_000_000
"""The largest table that is worked out."""

BRIDGED_CELLS = 200_000
"""The largest table that further columns may make of a smaller one: a fifth of a second on a common machine."""

WEAK = 1e-2
"""Dependence (mutual information in nats) that is not worth a further column."""

TOLERANCE = 1e-7
"""The part of all rows that may be missing from what is known."""

SWEEPS = 500
"""The most sweeps over all known parts."""

LOOK_BACK, PROGRESS = 20, 0.98
"""Stop fitting where the gap is still above this part of what it was this many sweeps ago. Tables may agree on what
they share and yet have no common table over all columns: then the gap stays."""

Array = NDArray[np.float64]


def maximum_entropy(marginals: Marginals, clique: Clique) -> Marginal:
    """The table over `clique` of highest entropy among those that agree with all tables, by proportional fitting.

    A clique inside a table is answered by the smallest such table, as it is. Any other answer has no negative cell,
    and the mean of the tables' totals. Tables should agree with each other; as far as they do not, the answer lies
    between them.
    """
    return _solve(marginals, clique, _fit_proportions)


def least_squares(marginals: Marginals, clique: Clique) -> Marginal:
    """The table over `clique` of least L2 norm, among those without negative cells that agree with all tables.

    A clique inside a table is answered as by `maximum_entropy`.
    """
    return _solve(marginals, clique, _fit_squares)


def maximal_intersections(cliques: Sequence[Clique], clique: Clique) -> tuple[Clique, ...]:
    """The parts of `clique` that lie inside another clique, without those that lie inside a larger part."""
    parts = {frozenset(one) & frozenset(clique) for one in cliques}
    largest = (part for part in parts if part and not any(part < other for other in parts))
    return tuple(sorted(tuple(name for name in clique if name in part) for part in largest))


def bridged(marginals: Marginals, clique: Clique, cells: int = BRIDGED_CELLS) -> Clique:
    """The clique, and further columns that tie together those of its columns which no table holds together.

    Where tables hold (a, x) and (x, b), but none a and b, maximum entropy over a and b alone makes them independent;
    over a, b and x it keeps the dependence that goes through x. A column is worth min(dependence on a, dependence on b)
    summed over all such pairs; the best is added until none is worth anything or fits into the cells.
    """
    domain = marginals.domain

    @cache
    def dependence(one: str, other: str) -> float | None:
        known = any(one in table.clique and other in table.clique for table in marginals.tables)
        return _mutual_information(marginals.project((one, other))) if known else None

    while True:
        apart = [pair for pair in combinations(clique, 2) if dependence(*pair) is None]
        worth = {
            name: sum(min(dependence(a, name) or 0.0, dependence(b, name) or 0.0) for a, b in apart)
            for name in domain.names
            if name not in clique and domain.cells((*clique, name)) <= cells
        }
        best = max(worth, key=worth.__getitem__, default=None)
        if best is None or worth[best] < WEAK:
            return clique
        clique = (*clique, best)


def _mutual_information(pair: Marginal) -> float:
    counts = np.asarray(pair.counts, dtype=np.float64).clip(min=0)
    joint = counts / max(counts.sum(), 1e-300)
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    seen = joint > 0
    return float((joint[seen] * np.log(joint[seen] / product[seen])).sum())


@dataclass(frozen=True, eq=False)
class _Known:
    """What one table says about the wanted one: over which axes to sum, and the shares that must come out."""

    summed: tuple[int, ...]
    shares: Array

    def sums(self, table: Array) -> Array:
        """What the table says of the known cells; the shape fits the whole table."""
        return np.asarray(table.sum(axis=self.summed, keepdims=True))


def _known(marginal: Marginal, clique: Clique) -> _Known | None:
    """A known part in proportions; None where nothing can be said because no cell has any rows."""
    counts = np.asarray(marginal.counts, dtype=np.float64).clip(min=0)
    total = counts.sum()
    if total <= 0:
        return None
    shape = [marginal.domain[name] if name in marginal.clique else 1 for name in clique]
    summed = tuple(axis for axis, name in enumerate(clique) if name not in marginal.clique)
    return _Known(summed, (counts / total).reshape(shape))


Fit = Callable[[tuple[int, ...], Sequence[_Known]], Array]


def _solve(marginals: Marginals, clique: Clique, fit: Fit) -> Marginal:
    parts = maximal_intersections(marginals.cliques, clique)
    if clique and parts == (clique,):
        return marginals.project(clique)
    for name in clique:
        marginals.project((name,))  # refuses a column that no table knows
    marginals.domain.require_cells(clique, CELLS)
    domain = marginals.domain.project(clique)
    total = max(0.0, float(np.mean([table.total for table in marginals.tables])))
    known = [one for part in parts if (one := _known(marginals.project(part), clique)) is not None]
    shares = fit(domain.shape, known) if known else np.ones(domain.shape)
    return Marginal(domain, shares * (total / shares.sum()))


def _fit_proportions(shape: tuple[int, ...], known: Sequence[_Known]) -> Array:
    """Iterative proportional fitting, from equal cells."""
    table = np.ones(shape)
    gaps: list[float] = []
    while not _settled(gaps):
        worst = 0.0
        for one in known:
            sums = one.sums(table)
            worst = max(worst, float(np.abs(one.shares - sums).sum()))
            # No factor can bring rows into cells that another table has emptied: these stay empty. A cell is never
            # above its sum, so no product overflows, however large the factor.
            factor = np.divide(one.shares, sums, out=np.zeros_like(sums), where=sums > 1e-200)
            scaled = table * factor
            if scaled.any():  # a table that has no row in common with the others is not heard
                table = scaled
        gaps.append(worst)
    return table


def _fit_squares(shape: tuple[int, ...], known: Sequence[_Known]) -> Array:
    """Dykstra's projections of 0, in turn on the tables that agree and on those without a negative cell.

    A sweep over the known parts is itself a projection, because the projections on marginals of one table commute.
    """
    table, cut = np.zeros(shape), np.zeros(shape)
    for _ in range(SWEEPS):  # no look back: these projections may rest for many sweeps and then move on
        for one in known:
            table = table + (one.shares - one.sums(table)) * (one.shares.size / table.size)
        table = table + cut
        cut = np.minimum(table, 0)
        table = table - cut
        if max(float(np.abs(one.shares - one.sums(table)).sum()) for one in known) <= TOLERANCE:
            break
    return table


def _settled(gaps: Sequence[float]) -> bool:
    """Whether the known parts are met, or no longer come nearer."""
    if not gaps:
        return False
    stalled = len(gaps) > LOOK_BACK and gaps[-1] > PROGRESS * gaps[-1 - LOOK_BACK]
    return gaps[-1] <= TOLERANCE or stalled or len(gaps) == SWEEPS
