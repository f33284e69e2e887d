"""Rounded Gaussian noise: the noise of (epsilon, delta)-DP on one machine."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, pi, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import BudgetError, MethodError
from sfumato.privacy.entropy import Entropy
from sfumato.privacy.noise import rounded_gaussian, rounded_gaussian_variance
from sfumato.privacy.sensitivity import LEAST_VARIANCE, Notion, Sensitivity, require_positive


@dataclass(frozen=True)
class Gaussian:
    """A normal deviate of standard deviation `sigma`, rounded to the nearest integer."""

    kind: ClassVar[str] = "gaussian"
    width_name: ClassVar[str] = "sigma"
    divisible: ClassVar[bool] = False

    sigma: Fraction

    def __post_init__(self) -> None:
        require_positive("Gaussian noise of standard deviation", self.sigma)

    @property
    def width(self) -> Fraction:
        """The standard deviation before rounding."""
        return self.sigma

    @property
    def variance(self) -> float:
        """Variance of one draw."""
        return max(rounded_gaussian_variance(self.sigma), LEAST_VARIANCE)

    @property
    def mean_absolute(self) -> float:
        """Mean of one draw without its sign, up to rounding: it is all but normal."""
        return sqrt(2 / pi * self.variance)

    @property
    def excess_kurtosis(self) -> float:
        """That of normal noise, up to rounding."""
        return 0.0

    @classmethod
    def calibrate(cls, amount: Fraction, sensitivity: Sensitivity) -> Gaussian:
        """The least noise that a rho of `amount` pays for, rounded up to 27 significant bits."""
        square = sensitivity.l2_squared / (2 * amount)
        shift = 54 - (square.numerator.bit_length() - square.denominator.bit_length())
        shift += shift % 2  # an even power of two has an exact square root
        scaled = square * Fraction(2) ** shift
        root = isqrt(-(-scaled.numerator // scaled.denominator) - 1) + 1
        return cls(Fraction(root) / Fraction(2) ** (shift // 2))

    def cost(self, sensitivity: Sensitivity, notion: Notion) -> Fraction:
        """What one answer with this noise costs; pure DP has no price for it."""
        if notion is Notion.PURE:
            raise BudgetError("Gaussian noise has no cost in pure DP; give a delta, or use a method with Laplace noise")
        return sensitivity.l2_squared / (2 * self.sigma**2)

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """This many independent draws."""
        return rounded_gaussian(self.sigma, size, entropy)

    def draw_share(self, honest: int, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """Refuse: a sum of rounded normal numbers is not a rounded normal number."""
        raise MethodError("rounded Gaussian noise has no shares; ask parties for Laplace or Skellam noise")
