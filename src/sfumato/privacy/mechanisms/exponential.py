"""The exponential mechanism as a race: every candidate gets a random time, and the first one to arrive is chosen.

A candidate of integer score s arrives at the time E exp(-rate * s), where E is a standard exponential number. It comes
first with a probability proportional to exp(rate * s). All E are drawn before any score is known, so drawing takes the
same time whatever the rows are, and comparing takes a few operations on whole vectors.

Floats only rule out candidates that are late by more than the room for rounding; where that leaves several, exact
arithmetic on further digits decides. No probability is rounded or cut off. The argument: `docs/proofs/choice.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import BudgetError
from sfumato.privacy.conversions import gaussian_of_pure, largest
from sfumato.privacy.entropy import Entropy
from sfumato.privacy.exact_uniform import DigitSource, LazyUniform
from sfumato.privacy.sensitivity import Notion, require_positive

_BITS = 53
"""Bits of a uniform number that the float of its time is computed from: as many as a float has."""
_ROOM = 2.0**-40
"""Room for the rounding of logarithms, products and sums, in units of what they are rounded from."""
_FIRST_DIGITS = 4
"""This many digits of 32 bits decide nearly every race that floats leave open; the rest go on with twice as many."""


@dataclass(frozen=True)
class Exponential:
    """A candidate of integer score s is chosen with a probability proportional to exp(rate * s)."""

    rate: Fraction

    def __post_init__(self) -> None:
        require_positive("a choice of rate", self.rate)

    @classmethod
    def calibrate(cls, amount: Fraction, sensitivity: int, notion: Notion) -> Exponential:
        """The steepest choice that `amount` pays for, where one person moves every score by at most `sensitivity`."""
        epsilon = amount if notion is Notion.PURE else largest(lambda one: _cost(one, notion) <= amount)
        return cls(epsilon / (2 * sensitivity))

    def cost(self, sensitivity: int, notion: Notion) -> Fraction:
        """What one choice costs.

        Weights move by a factor of at most exp(rate * sensitivity), and so does their sum, maybe the other way.
        """
        return _cost(2 * self.rate * sensitivity, notion)


def _cost(epsilon: Fraction, notion: Notion) -> Fraction:
    match notion:
        case Notion.PURE:
            return epsilon
        case Notion.GAUSSIAN:
            return gaussian_of_pure(epsilon)
        case Notion.CONCENTRATED | Notion.RENYI:
            return epsilon**2 / 8  # log-likelihood ratios of a choice span at most epsilon, whatever the outcome


@dataclass(frozen=True, eq=False)
class Race:
    """One uniform number u for each candidate, E = -log u, and floats near log E.

    Args:
        uniform: the numbers.
        low: log E at the end of the interval, in which the bits drawn so far place u, where it is least; maybe -inf.
        high: log E at its other end.
    """

    uniform: LazyUniform
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def draw(cls, candidates: int, entropy: Entropy) -> Race:
        """Draw for a number of candidates."""
        if candidates < 1:
            raise BudgetError("a choice among no candidates was asked for; give at least one")
        uniform = LazyUniform.draw(DigitSource(entropy), candidates)
        leading = uniform.leading_bits(_BITS).astype(np.float64)
        with np.errstate(divide="ignore"):
            low, high = (np.log(-np.log((leading + step) * 2.0**-_BITS)) for step in (1, 0))
        return cls(uniform, low, high)

    def winner(self, scores: Sequence[int], rate: Fraction) -> int:
        """The place of the candidate that arrives first: each with probability proportional to exp(rate * score)."""
        floats = np.array(scores, dtype=np.float64)
        late = float(rate) * (floats.max() - floats)
        room = _ROOM * (64.0 + late + float(rate) * np.abs(floats).max() * 2.0**-10)
        open_ = np.flatnonzero(self.low + late - room <= (self.high + late + room).min())
        return int(open_[0]) if open_.size == 1 else self._exact_winner(open_.tolist(), scores, rate)

    def _exact_winner(self, places: Sequence[int], scores: Sequence[int], rate: Fraction) -> int:
        """The first of some candidates, with as many digits as it takes."""
        best = max(scores)
        digits = _FIRST_DIGITS
        while True:
            times = {place: self._log_time(place, rate * (best - scores[place]), digits) for place in places}
            first = min(high for _, high in times.values())
            places = [place for place, (low, _) in times.items() if low <= first]
            if len(places) == 1:
                return places[0]
            digits *= 2

    def _log_time(self, place: int, late: Fraction, digits: int) -> tuple[Decimal, Decimal]:
        """Numbers below and above log(-log u) + late, where u is known to this many digits."""
        down, up = (Context(prec=12 * digits, rounding=to) for to in (ROUND_FLOOR, ROUND_CEILING))
        least, most = self.uniform.interval(place, digits)
        # Decimal logarithms are off by at most half a unit of the last place; the next number is beyond the true one.
        shortest = up.next_plus(up.ln(_decimal(most, up))).copy_negate()
        longest = down.next_minus(down.ln(_decimal(least, down))).copy_negate()
        low = down.next_minus(down.ln(max(shortest, Decimal(0))))
        high = up.next_plus(up.ln(longest))
        return down.add(low, _decimal(late, down)), up.add(high, _decimal(late, up))


def _decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
