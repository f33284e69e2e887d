"""Measure tables with Gaussian noise, larger tables with a larger part of the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.data.domain import Clique
from sfumato.data.marginal import Measurement
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder


@dataclass(frozen=True)
class GaussianTables:
    """Gaussian noise with rho_i proportional to cells_i^(2/3), which minimises the sum of expected L1 errors."""

    def __call__(self, holder: Holder, cliques: Sequence[Clique], share: Share) -> tuple[Measurement, ...]:
        """One noisy table for each clique; the whole share is spent unless there is nothing to measure."""
        if not cliques:
            return ()
        parts = share.split([holder.domain.cells(clique) ** (2 / 3) for clique in cliques])
        return holder.measure(cliques, [part.gaussian(holder.neighbours.marginal) for part in parts])
