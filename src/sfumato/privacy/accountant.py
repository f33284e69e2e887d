"""What a total cost guarantees. Proofs: docs/proofs/accounting.md.

What single events cost is said by their mechanisms. Under pure DP that is an epsilon, and costs add up. Under zCDP and
(epsilon, delta) it is rho: half the square of mu, where a Gaussian of standard deviation sigma on an answer of L2
sensitivity D has mu = D / sigma. These costs add up as well, also when later noise depends on earlier answers. A total
of rho is as private as *one* ideal
Gaussian release with mu = sqrt(2 rho), whose (epsilon, delta) curve is known exactly. Costs are exact fractions: no
run dies by one ulp.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, expm1, floor, log, sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import BudgetError
from sfumato.privacy.conversions import SLACK


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
    from scipy.special import erfcx  # on demand: it takes as long to load as a small run

    mills = erfcx(-a / sqrt(2)) - erfcx(-b / sqrt(2))
    return float(exp(-a * a / 2) * mills / 2)


def gaussian_epsilon(rho: Fraction, delta: float) -> float:
    """An epsilon, rounded up, such that a total Gaussian cost of rho is (epsilon, delta)-DP."""
    mu = sqrt(2 * float(rho)) * (1 + SLACK)
    if mu == 0 or gaussian_delta(0.0, mu) * (1 + SLACK) <= delta:
        return 0.0
    low, high = 0.0, mu * mu / 2 + mu * sqrt(2 * log(1 / delta)) + 1e-12  # the textbook bound is enough
    return _smallest(lambda epsilon: gaussian_delta(epsilon, mu) * (1 + SLACK) <= delta, low, high)


def gaussian_budget(epsilon: float, delta: float) -> Fraction:
    """The largest total Gaussian cost rho (up to rounding down) that is (epsilon, delta)-DP."""
    high = sqrt(2 * epsilon) + 10.0
    too_large = _smallest(lambda mu: gaussian_delta(epsilon, mu) * (1 + SLACK) > delta, 0.0, high)
    mu = too_large * (1 - SLACK)
    return Fraction(floor(mu * mu / 2 * (1 - SLACK) * 2**100), 2**100)


def renyi_epsilon(rho: Fraction, delta: float) -> float:
    """An epsilon, rounded up, such that divergences of rho * order, for whole orders, give (epsilon, delta)-DP."""
    if rho == 0:
        return 0.0
    return max(0.0, float((_ORDERS * float(rho) + _order_terms(delta)).min()) * (1 + SLACK) + SLACK * float(rho))


def renyi_budget(epsilon: float, delta: float) -> Fraction:
    """The largest rho (up to rounding down) for which `renyi_epsilon` is at most epsilon."""
    best = float(((epsilon - _order_terms(delta)) / _ORDERS).max())
    if best <= 0:
        raise BudgetError(f"epsilon {epsilon:g} is too small for delta {delta:g}; give more of either")
    return Fraction(floor(best * (1 - 10 * SLACK) * 2**100), 2**100)


def _order_terms(delta: float) -> NDArray[np.float64]:
    """What the conversion adds to the divergence of each order (Canonne, Kamath and Steinke 2020, Proposition 12)."""
    return np.asarray(np.log1p(-1 / _ORDERS) - (log(delta) + np.log(_ORDERS)) / (_ORDERS - 1), dtype=np.float64)


_ORDERS = np.unique(np.concatenate([np.arange(2, 256), np.geomspace(256, 1e9, 2000).round()]))
"""Whole orders; beyond 256 the best of these costs less than one percent more than the best of all."""


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
