"""Consistency with ripple non-negativity: what a negative cell owes is taken from the cells next to it (PriView)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.marginals import Marginals
from sfumato.data.selection import Selection
from sfumato.models.nonnegative import norm_sub
from sfumato.reconcile.consistency import Overlaps

Array = NDArray[np.float64]

MOST_VISITS = 1 << 25
"""Ripple stops after visiting this many cells; small tables are done long before, large ones have had 10 sweeps."""

MOST_AGREEING = 100
"""Passes of consistency at the end; without cells that are known to be empty the first one is enough."""

ROUNDING = 1e-9
"""A negative cell within this part of the largest cell is taken for a rounding error."""


@dataclass(frozen=True)
class ConsistentRipple:
    """Consistency and ripple in turn, a few times, and consistency once more.

    The tables agree exactly. Cells may be below 0, but not by much: what consistency brings back after ripple.

    Args:
        theta: cells are left alone down to this many standard deviations of their noise below 0. A large theta serves
            sums of cells, which then keep their accuracy; a small one serves rows, which cannot be negative.
        passes: how often ripple is applied.
    """

    theta: float = 0.01
    passes: int = 3

    def __call__(
        self, domain: Domain, measurements: Sequence[Measurement], selection: Selection | None = None
    ) -> Marginals:
        """Tables with one common total and equal shared marginals, nearly without negative cells."""
        measurements = [one.ordered(domain) for one in measurements]
        overlaps = Overlaps.of(measurements)
        tables = [np.array(one.marginal.counts, dtype=np.float64) for one in measurements]
        scales = tuple(sqrt(one.variance) for one in measurements)
        for _ in range(self.passes):
            overlaps.agree(tables)
            tables = [
                ripple(table, self.theta * scale) * one.noisy_cells
                for table, scale, one in zip(tables, scales, measurements, strict=True)
            ]
        overlaps.agree(tables)
        # Where cells are known to be empty, a correction of one set of columns moves others a little: go on.
        total = max(overlaps.total(tables), 1.0)
        for _ in range(MOST_AGREEING if tables else 0):
            if overlaps.disagreement(tables) <= ROUNDING * total:
                break
            overlaps.agree(tables)
        agreed = tuple(Marginal(one.domain, table) for one, table in zip(measurements, tables, strict=True))
        return Marginals(domain, agreed, scales)


def ripple(table: Array, theta: float) -> Array:
    """The table without cells below -theta, and with the same total.

    Every cell below -theta is set to 0, and what it owed is taken evenly from its neighbours, the cells that differ
    from it in one column; this is repeated, for all such cells at once, until none is left.

    It ends if the total is above 0. A cell that pays out for ever gives each neighbour at least theta / neighbours of
    debt each time, so all its neighbours pay out for ever, and so do all cells. But a cell that has paid out once is
    never above 0 again; in the end no cell would be, and neither would the total. How soon it ends this does not say,
    so sweeps are counted, and norm-sub does what they have left. A total that is not above 0 has no table without
    negative cells, and is spread evenly.
    """
    neighbours = sum(size - 1 for size in table.shape)
    least = max(theta, ROUNDING * float(np.abs(table).max()))
    for _ in range(min(max(MOST_VISITS // table.size, 10), 1_000)):
        owed = np.where(table < -least, -table, 0.0)
        if not owed.any():
            return table
        if table.sum() <= 0:
            return np.full_like(table, table.mean())
        table = table + owed
        for axis in range(table.ndim):
            table = table - (owed.sum(axis=axis, keepdims=True) - owed) / neighbours
    return norm_sub(table)
