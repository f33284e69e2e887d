"""Steps between notions of privacy, always rounded to the private side. Proofs: docs/proofs/accounting.md."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, exp

from sfumato.privacy.sensitivity import Notion

SLACK = 1e-9
"""Relative room for the rounding of special functions, always taken on the private side."""

_STEEP = 600
"""Beyond this epsilon, e^-epsilon leaves the range of floats, and 4 epsilon is charged: a bound that needs no float."""


def gaussian_of_pure(epsilon: Fraction) -> Fraction:
    """Half the squared mu of the Gaussian release that an epsilon-DP event is at most as bad as."""
    if epsilon > _STEEP:
        return 4 * epsilon
    from scipy.special import ndtri  # on demand: it takes as long to load as a small run

    odds = exp(-float(epsilon))
    mu = -2 * float(ndtri(odds / (1 + odds)))
    return Fraction(ceil(mu * mu / 2 * (1 + SLACK) * 2**60), 2**60)


def cost_of_pure(epsilon: Fraction, notion: Notion) -> Fraction:
    """What an answer, or a whole release, of which only its pure epsilon is known costs in a notion of privacy."""
    match notion:
        case Notion.PURE:
            return epsilon
        case Notion.GAUSSIAN:
            return gaussian_of_pure(epsilon)
        case Notion.CONCENTRATED | Notion.RENYI:
            return epsilon**2 / 2


def rounded_up(value: Fraction, bits: int) -> Fraction:
    """A fraction a little above a positive one, with few significant bits."""
    shift = bits - (value.numerator.bit_length() - value.denominator.bit_length())
    scaled = value * Fraction(2) ** shift
    return Fraction(-(-scaled.numerator // scaled.denominator)) / Fraction(2) ** shift


def largest(holds: Callable[[Fraction], bool]) -> Fraction:
    """Nearly the largest number of 40 bits for which a condition holds that is monotone and holds near 0."""
    low, high = Fraction(0), Fraction(1)
    while holds(high):
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
