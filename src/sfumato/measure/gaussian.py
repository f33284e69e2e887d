"""Measure tables with Gaussian noise, larger tables with a larger part of the budget."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.data.marginal import Measurement
from sfumato.data.selection import Selection
from sfumato.measure.allocation import measure_tables
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder


@dataclass(frozen=True)
class GaussianTables:
    """Gaussian noise with rho_i proportional to cells_i^(2/3), which minimises the sum of expected L1 errors."""

    def __call__(self, holder: Holder, selection: Selection, share: Share) -> tuple[Measurement, ...]:
        """One noisy table for each clique; the whole share is spent unless there is nothing to measure."""
        return measure_tables(holder, selection, share, 2 / 3, Share.gaussian)
