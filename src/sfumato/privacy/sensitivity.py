"""How far neighbouring tables can be apart in an answer. Proofs: docs/proofs/sensitivity.md."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from sfumato.errors import BudgetError


class Notion(Enum):
    """The price lists: in which sense the cost of an event is meant, and adds up."""

    PURE = "epsilon of pure DP"
    CONCENTRATED = "rho of zero-concentrated DP"
    GAUSSIAN = "half the squared mu of Gaussian DP"
    RENYI = "Renyi divergence for each order"


LEAST_VARIANCE = 1e-12
"""Noise far narrower than 1 is all but surely 0; tables are weighed by its variance, which must not be."""


def require_positive(what: str, number: Fraction | int) -> None:
    """Refuse noise without width, which hides nothing, and sensitivities that would make answers free."""
    if not number > 0:
        raise BudgetError(f"{what} {number} was given; it must be above 0")


@dataclass(frozen=True)
class Sensitivity:
    """How far one person can move an answer: the L1 norm, and the square of the L2 norm (which is rational)."""

    l1: Fraction
    l2_squared: Fraction

    def __post_init__(self) -> None:
        require_positive("an L1 sensitivity of", self.l1)
        require_positive("a squared L2 sensitivity of", self.l2_squared)

    @classmethod
    def single(cls, bound: int) -> Sensitivity:
        """Of one number that moves by at most `bound`."""
        return cls(Fraction(bound), Fraction(bound) ** 2)

    def repeated(self, times: int) -> Sensitivity:
        """Of `times` such answers side by side."""
        return Sensitivity(self.l1 * times, self.l2_squared * times)
