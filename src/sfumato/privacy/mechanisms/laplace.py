"""Discrete Laplace noise: the noise of pure DP, and divisible among parties."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import cosh, exp, expm1
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.conversions import cost_of_pure, rounded_up
from sfumato.privacy.entropy import Entropy
from sfumato.privacy.noise import discrete_laplace, discrete_laplace_variance
from sfumato.privacy.sensitivity import LEAST_VARIANCE, Notion, Sensitivity, require_positive
from sfumato.privacy.shares import polya_share


@dataclass(frozen=True)
class Laplace:
    """Discrete Laplace noise: P(x) proportional to exp(-|x| / scale) on the integers."""

    kind: ClassVar[str] = "laplace"
    width_name: ClassVar[str] = "scale"
    divisible: ClassVar[bool] = True

    scale: Fraction

    def __post_init__(self) -> None:
        require_positive("Laplace noise of scale", self.scale)

    @property
    def width(self) -> Fraction:
        """The scale."""
        return self.scale

    @property
    def variance(self) -> float:
        """Variance of one draw."""
        return max(discrete_laplace_variance(self.scale), LEAST_VARIANCE)

    @property
    def mean_absolute(self) -> float:
        """Mean of one draw without its sign."""
        rate = 1 / float(self.scale)
        return 2 * exp(-rate) / -expm1(-2 * rate)

    @property
    def excess_kurtosis(self) -> float:
        """That of the difference of two geometric numbers; 3 for wide noise, as for continuous Laplace noise."""
        # (1 + 4 p + p²) / (2 p) with p = exp(-1 / scale)
        return 2 + cosh(min(1 / float(self.scale), 700.0))

    @classmethod
    def calibrate(cls, amount: Fraction, sensitivity: Sensitivity) -> Laplace:
        """The least noise that an epsilon of `amount` pays for, rounded up to 27 significant bits."""
        return cls(rounded_up(sensitivity.l1 / amount, 27))

    def cost(self, sensitivity: Sensitivity, notion: Notion) -> Fraction:
        """What one answer with this noise costs."""
        return cost_of_pure(sensitivity.l1 / self.scale, notion)

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """This many independent draws."""
        return discrete_laplace(self.scale, size, entropy)

    def draw_share(self, honest: int, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """One of `honest` shares, differences of Polya numbers, which add up to a draw."""
        return polya_share(self.scale, honest, size, entropy)
