"""Measure tables with Laplace noise, larger tables with a larger part of the budget."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.data.marginal import Measurement
from sfumato.data.selection import Selection
from sfumato.measure.allocation import measure_tables
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder


@dataclass(frozen=True)
class LaplaceTables:
    """Laplace noise with epsilon_i proportional to cells_i^power.

    The sum of the variances of all cells, sum of 2 cells_i / epsilon_i², is least at power 1/3; power 0 shares equally.
    """

    power: float = 1 / 3

    def __call__(self, holder: Holder, selection: Selection, share: Share) -> tuple[Measurement, ...]:
        """One noisy table for each clique; the whole share is spent unless there is nothing to measure."""
        return measure_tables(holder, selection, share, self.power, Share.laplace)
