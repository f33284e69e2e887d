"""Skellam noise: the noise of (epsilon, delta)-DP over many parties, because shares of it add up exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt, pi, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import BudgetError
from sfumato.privacy.conversions import rounded_up
from sfumato.privacy.entropy import Entropy
from sfumato.privacy.sensitivity import LEAST_VARIANCE, Notion, Sensitivity, require_positive
from sfumato.privacy.shares import skellam_share


@dataclass(frozen=True)
class Skellam:
    """The difference of two Poisson numbers, of variance `mu`."""

    kind: ClassVar[str] = "skellam"
    width_name: ClassVar[str] = "mu"
    divisible: ClassVar[bool] = True

    mu: Fraction

    def __post_init__(self) -> None:
        require_positive("Skellam noise of variance", self.mu)

    @property
    def width(self) -> Fraction:
        """The variance."""
        return self.mu

    @property
    def variance(self) -> float:
        """Variance of one draw."""
        return max(float(self.mu), LEAST_VARIANCE)

    @property
    def mean_absolute(self) -> float:
        """Mean of one draw without its sign, up to rounding: it is all but normal."""
        return sqrt(2 / pi * self.variance)

    @property
    def excess_kurtosis(self) -> float:
        """All cumulants of even order are mu."""
        return 1 / self.variance

    @classmethod
    def calibrate(cls, amount: Fraction, sensitivity: Sensitivity) -> Skellam:
        """Nearly the least noise whose Renyi cost is at most `amount`, rounded up to 40 significant bits."""
        half = sensitivity.l2_squared / 2
        # The positive root of amount mu^2 - (l2^2 / 2) mu - (2 l2^2 + 3 l1) / 4, or for little noise the other bound's.
        square = half**2 + amount * (2 * sensitivity.l2_squared + 3 * sensitivity.l1)
        root = Fraction(isqrt(ceil(square * 2**80)) + 1, 2**40)
        return cls(rounded_up(min((half + root) / (2 * amount), (half + 3 * sensitivity.l1 / 4) / amount), 40))

    def cost(self, sensitivity: Sensitivity, notion: Notion) -> Fraction:
        """A number r such that the divergence of every whole order from 2 on is at most r times the order.

        The bound of Agarwal, Kairouz and Liu (2021), made linear in the order (docs/proofs/parties.md).
        """
        if notion is not Notion.RENYI:
            raise BudgetError("Skellam noise is charged by Renyi divergences only; open the ledger with SkellamDP")
        mu, l1, l2_squared = self.mu, sensitivity.l1, sensitivity.l2_squared
        return l2_squared / (2 * mu) + min((2 * l2_squared + 3 * l1) / (4 * mu**2), 3 * l1 / (4 * mu))

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """This many independent draws."""
        return skellam_share(self.mu, 1, size, entropy)

    def draw_share(self, honest: int, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """One of `honest` shares, which add up to a draw."""
        return skellam_share(self.mu, honest, size, entropy)
