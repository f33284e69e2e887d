"""Mechanisms: how exact numbers become noisy ones, and what that costs. One file each, and one line in `NOISES`.

The noise that is drawn and the noise that is charged are one and the same object. Every file here keeps the contract
that tests/privacy/test_mechanisms.py runs: the draws follow their law, and a law 30 % off is told apart; calibrating
costs at most what was given; shares add up; JSON there and back gives the same object.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.entropy import Entropy
from sfumato.privacy.mechanisms.gaussian import Gaussian
from sfumato.privacy.mechanisms.laplace import Laplace
from sfumato.privacy.mechanisms.skellam import Skellam
from sfumato.privacy.sensitivity import Notion, Sensitivity


class Noise(Protocol):
    """Independent integer noise for every number of an answer."""

    kind: ClassVar[str]
    """Its name in ledgers and messages."""
    width_name: ClassVar[str]
    """What its one parameter is called there."""
    divisible: ClassVar[bool]
    """Whether several parties can each draw a share of it."""

    @property
    def width(self) -> Fraction:
        """Its one parameter."""
        ...

    @property
    def variance(self) -> float:
        """Variance of one draw."""
        ...

    @property
    def mean_absolute(self) -> float:
        """Mean of one draw without its sign."""
        ...

    @property
    def excess_kurtosis(self) -> float:
        """Fourth cumulant of one draw beside its squared variance: 0 for normal noise, more for longer tails."""
        ...

    @classmethod
    def calibrate(cls, amount: Fraction, sensitivity: Sensitivity) -> Self:
        """The least noise that `amount` pays for, rounded up, in the notion that this noise is made for."""
        ...

    def cost(self, sensitivity: Sensitivity, notion: Notion) -> Fraction:
        """What one answer with this noise costs; a BudgetError where the notion has no price for it."""
        ...

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """This many independent draws."""
        ...

    def draw_share(self, honest: int, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """One of `honest` shares, which add up to a draw; a MethodError if this noise is not divisible."""
        ...


__all__ = ["NOISES", "Gaussian", "Laplace", "Noise", "Skellam"]

NOISES: dict[str, type[Laplace] | type[Gaussian] | type[Skellam]] = {
    one.kind: one for one in (Laplace, Gaussian, Skellam)
}
