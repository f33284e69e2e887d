"""What events cost, and what a total cost guarantees. Proofs: docs/proofs/accounting.md.

Under pure DP an event costs its epsilon, and costs add up. Under zCDP and (epsilon, delta) it costs rho: half the
square of mu, where a Gaussian of standard deviation sigma on an answer of L2 sensitivity D has mu = D / sigma. These
costs add up as well, also when later noise depends on earlier answers. A total of rho is as private as *one* ideal
Gaussian release with mu = sqrt(2 rho), whose (epsilon, delta) curve is known exactly. Costs are exact fractions: no
run dies by one ulp.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, exp, expm1, floor, log, sqrt

from scipy.special import erfcx, ndtri

from sfumato.privacy.events import Choice, Event, Free, Gaussian, Laplace, Noisy

_SLACK = 1e-9
"""Relative room for the rounding of special functions, always taken on the private side."""


def pure_cost(event: Event) -> Fraction | None:
    """The epsilon of an event, or None if it has none (Gaussian noise is not pure DP at any epsilon)."""
    if isinstance(event, Free):
        return Fraction(0)
    if isinstance(event, Choice):
        return event.epsilon
    match event.noise:
        case Laplace(scale):
            return event.sensitivity.l1 / scale
        case Gaussian():
            return None


def concentrated_cost(event: Event) -> Fraction:
    """The rho of an event in zero-concentrated DP."""
    if isinstance(event, Free):
        return Fraction(0)
    if isinstance(event, Choice):
        return event.epsilon**2 / 8  # its log-likelihood ratios span at most epsilon, whatever the outcome
    match event.noise:
        case Gaussian(sigma):
            return event.sensitivity.l2_squared / (2 * sigma**2)
        case Laplace(scale):
            return (event.sensitivity.l1 / scale) ** 2 / 2


def gaussian_cost(event: Event) -> Fraction:
    """Half the squared mu of an event in Gaussian DP; an epsilon-DP event is at most as bad as the mu it implies."""
    match event:
        case Noisy(noise=Laplace()) | Choice():
            odds = exp(-float(pure_cost(event) or 0))
            mu = -2 * float(ndtri(odds / (1 + odds)))
            return round_up(mu * mu / 2)
        case _:
            return concentrated_cost(event)


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Smallest delta at which an ideal Gaussian release with parameter mu is (epsilon, delta)-DP.

    Phi(a) - e^epsilon Phi(b) with a = mu/2 - epsilon/mu and b = -mu/2 - epsilon/mu. Since e^epsilon phi(b) = phi(a),
    the common density can be taken out, which keeps all digits for every epsilon from 1e-4 to 1e4.
    """
    if mu == 0:
        return 0.0
    a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    if a > 25:
        return 1.0  # Phi(a) is 1 and the second term is below 1e-100
    mills = erfcx(-a / sqrt(2)) - erfcx(-b / sqrt(2))
    return float(exp(-a * a / 2) * mills / 2)


def gaussian_epsilon(rho: Fraction, delta: float) -> float:
    """An epsilon, rounded up, such that a total Gaussian cost of rho is (epsilon, delta)-DP."""
    mu = sqrt(2 * float(rho)) * (1 + _SLACK)
    if mu == 0 or gaussian_delta(0.0, mu) * (1 + _SLACK) <= delta:
        return 0.0
    low, high = 0.0, mu * mu / 2 + mu * sqrt(2 * log(1 / delta)) + 1e-12  # the textbook bound is enough
    return _smallest(lambda epsilon: gaussian_delta(epsilon, mu) * (1 + _SLACK) <= delta, low, high)


def gaussian_budget(epsilon: float, delta: float) -> Fraction:
    """The largest total Gaussian cost rho (up to rounding down) that is (epsilon, delta)-DP."""
    high = sqrt(2 * epsilon) + 10.0
    too_large = _smallest(lambda mu: gaussian_delta(epsilon, mu) * (1 + _SLACK) > delta, 0.0, high)
    mu = too_large * (1 - _SLACK)
    return Fraction(floor(mu * mu / 2 * (1 - _SLACK) * 2**100), 2**100)


def round_up(value: float, bits: int = 60) -> Fraction:
    """A fraction a little above a positive float, with room for its own rounding error."""
    return Fraction(ceil(value * (1 + _SLACK) * 2**bits), 2**bits)


def membership_advantage(epsilon: float, delta: float) -> float:
    """How often, at best, a guess whether one person is in the table beats a coin: true minus false positive rate."""
    return min(1.0, (expm1(epsilon) + 2 * delta) / (exp(epsilon) + 1)) if epsilon < 700 else 1.0


def _smallest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest x in [low, high] at which a monotone condition holds, approached from the side where it holds."""
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
