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
from math import ceil, exp, expm1, floor, isqrt, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtri

from sfumato.errors import BudgetError
from sfumato.privacy.events import Choice, Event, Free, Gaussian, Laplace, Noisy, Sensitivity, Skellam

_SLACK = 1e-9
"""Relative room for the rounding of special functions, always taken on the private side."""

_STEEP = 600
"""Beyond this epsilon, e^-epsilon leaves the range of floats, and 4 epsilon is charged: a bound that needs no float."""


def pure_cost(event: Event) -> Fraction | None:
    """The epsilon of an event, or None if it has none (Gaussian and Skellam noise are not pure DP at any epsilon)."""
    if isinstance(event, Free):
        return Fraction(0)
    if isinstance(event, Choice):
        return event.epsilon
    match event.noise:
        case Laplace(scale):
            return event.sensitivity.l1 / scale
        case Gaussian() | Skellam():
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
        case Skellam():
            raise BudgetError("Skellam noise is charged by Renyi divergences only; open the ledger with SkellamDP")


def renyi_cost(event: Event) -> Fraction:
    """A number r such that the Renyi divergence of an event is at most r * order, for every whole order from 2 on.

    For Skellam noise: the bound of Agarwal, Kairouz and Liu (2021), made linear in the order (docs/proofs/parties.md).
    """
    if isinstance(event, Noisy) and isinstance(event.noise, Skellam):
        mu, l1, l2_squared = event.noise.mu, event.sensitivity.l1, event.sensitivity.l2_squared
        return l2_squared / (2 * mu) + min((2 * l2_squared + 3 * l1) / (4 * mu**2), 3 * l1 / (4 * mu))
    return concentrated_cost(event)


def skellam_for(rho: Fraction, sensitivity: Sensitivity) -> Skellam:
    """Nearly the least Skellam noise whose `renyi_cost` is at most rho."""
    half = sensitivity.l2_squared / 2
    # The positive root of rho mu^2 - (l2^2 / 2) mu - (2 l2^2 + 3 l1) / 4, or for little noise that of the other bound.
    square = half**2 + rho * (2 * sensitivity.l2_squared + 3 * sensitivity.l1)
    root = Fraction(isqrt(ceil(square * 2**80)) + 1, 2**40)
    return Skellam(_shorter(min((half + root) / (2 * rho), (half + 3 * sensitivity.l1 / 4) / rho)))


def _shorter(value: Fraction, bits: int = 40) -> Fraction:
    """A fraction a little above, with few significant bits."""
    shift = bits - (value.numerator.bit_length() - value.denominator.bit_length())
    scaled = value * Fraction(2) ** shift
    return Fraction(-(-scaled.numerator // scaled.denominator)) / Fraction(2) ** shift


def gaussian_cost(event: Event) -> Fraction:
    """Half the squared mu of an event in Gaussian DP; an epsilon-DP event is at most as bad as the mu it implies."""
    match event:
        case Noisy(noise=Laplace()) | Choice():
            epsilon = pure_cost(event) or Fraction(0)
            if epsilon > _STEEP:
                return 4 * epsilon
            odds = exp(-float(epsilon))
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


def renyi_epsilon(rho: Fraction, delta: float) -> float:
    """An epsilon, rounded up, such that divergences of rho * order, for whole orders, give (epsilon, delta)-DP."""
    if rho == 0:
        return 0.0
    return max(0.0, float((_ORDERS * float(rho) + _order_terms(delta)).min()) * (1 + _SLACK) + _SLACK * float(rho))


def renyi_budget(epsilon: float, delta: float) -> Fraction:
    """The largest rho (up to rounding down) for which `renyi_epsilon` is at most epsilon."""
    best = float(((epsilon - _order_terms(delta)) / _ORDERS).max())
    if best <= 0:
        raise BudgetError(f"epsilon {epsilon:g} is too small for delta {delta:g}; give more of either")
    return Fraction(floor(best * (1 - 10 * _SLACK) * 2**100), 2**100)


def _order_terms(delta: float) -> NDArray[np.float64]:
    """What the conversion adds to the divergence of each order (Canonne, Kamath and Steinke 2020, Proposition 12)."""
    return np.asarray(np.log1p(-1 / _ORDERS) - (log(delta) + np.log(_ORDERS)) / (_ORDERS - 1), dtype=np.float64)


_ORDERS = np.unique(np.concatenate([np.arange(2, 256), np.geomspace(256, 1e9, 2000).round()]))
"""Whole orders; beyond 256 the best of these costs less than one percent more than the best of all."""


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
