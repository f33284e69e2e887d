"""The exponential mechanism: choose one of many candidates, good ones with higher probability, without any rounding.

A candidate of integer score s is chosen with a probability proportional to exp(rate * s). No floating-point number
takes part, and no probability is cut off: weights are intervals of integers, and a uniform number is drawn digit by
digit until it lies inside the part of one candidate. The privacy argument: `docs/proofs/choice.md`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from sfumato.errors import BudgetError
from sfumato.privacy.entropy import Entropy
from sfumato.privacy.lazy import DigitSource, LazyUniform, exp_bounds

_FIRST_DIGITS = 4
"""So many digits of 32 bits decide nearly every choice; the rest go on with twice as many."""
_STEEPEST = Fraction(1 << 12)


def exponential_choice(scores: Sequence[int], rate: Fraction, entropy: Entropy) -> int:
    """Draw the position of one score, with probability proportional to exp(rate * score)."""
    if not scores:
        raise BudgetError("a choice among no candidates was asked for; give at least one")
    if not 0 <= rate <= _STEEPEST:
        raise BudgetError(f"a choice of rate {float(rate):g} was asked for; give an exact fraction from 0 to 4096")
    best = max(scores)
    gaps = [best - score for score in scores]
    uniform = LazyUniform.draw(DigitSource(entropy), 1)
    digits = _FIRST_DIGITS
    while True:
        low, high = uniform.interval(0, digits)
        chosen = _place(gaps, rate, 32 * digits, low, high)
        if chosen is not None:
            return chosen
        digits *= 2


def _place(gaps: Sequence[int], rate: Fraction, bits: int, low: Fraction, high: Fraction) -> int | None:
    """The candidate in whose part of the line every number between `low` and `high` lies; None if that is not clear.

    The line has one part of length exp(-rate * gap) for each candidate, in units of 2^-bits, and is stretched to
    length 1.
    """
    lower, upper = zip(*_weights(gaps, rate, bits), strict=True)
    least, most = list(accumulate(lower)), list(accumulate(upper))
    place = bisect_right(most, low * least[-1])  # all parts before this one end at or before the number
    if place < len(gaps) and high * most[-1] <= least[place]:
        return place
    return None


def _weights(gaps: Sequence[int], rate: Fraction, bits: int) -> list[tuple[int, int]]:
    """Integers below and above 2^bits * exp(-rate * gap): products over the binary digits of the gap."""
    one = 1 << bits
    low, high = exp_bounds(rate, bits)
    powers = [(int(low * one), -int(-high * one // 1))]
    for _ in range(max(gaps).bit_length()):
        low_end, high_end = powers[-1]
        powers.append((low_end * low_end >> bits, (high_end * high_end >> bits) + 1))
    known: dict[int, tuple[int, int]] = {}
    for gap in set(gaps):
        below, above = one, one
        for place in range(gap.bit_length()):
            if gap >> place & 1:
                below, above = below * powers[place][0] >> bits, (above * powers[place][1] >> bits) + 1
        known[gap] = below, above
    return [known[gap] for gap in gaps]
