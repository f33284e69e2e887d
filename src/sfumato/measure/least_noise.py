"""Measure tables with the noise that the budget is stated in: Laplace under pure DP, Gaussian otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.data.marginal import Measurement
from sfumato.data.selection import Selection
from sfumato.measure.allocation import measure_tables
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder


@dataclass(frozen=True)
class LeastNoise:
    """Laplace noise for a share of epsilon, Gaussian noise for a share of rho.

    Which of the two is the lesser was settled when the budget was opened (`privacy.narrowing.less_noise`).

    Args:
        laplace_power: tables get epsilon in proportion to cells^laplace_power; 1/3 minimises the sum of variances.
        gaussian_power: tables get rho in proportion to cells^gaussian_power; 2/3 minimises the sum of expected L1
            errors.
    """

    laplace_power: float = 1 / 3
    gaussian_power: float = 2 / 3

    def __call__(self, holder: Holder, selection: Selection, share: Share) -> tuple[Measurement, ...]:
        """One noisy table for each clique; the whole share is spent unless there is nothing to measure."""
        power = self.laplace_power if share.unit == "epsilon" else self.gaussian_power
        return measure_tables(holder, selection, share, power, Share.noise)
