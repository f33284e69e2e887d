"""The noise of this build on this machine against its exact law, with tests whose chance of a false alarm is known."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Domain
from sfumato.engines.memory import Memory
from sfumato.privacy.budget import Budget
from sfumato.privacy.events import Noisy
from sfumato.privacy.holder import LocalHolder
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.mechanisms import Gaussian, Laplace, Noise
from sfumato.privacy.neighbours import Neighbours

ALARM = 1e-9
"""The chance that a test here fails a build that is right."""

Draws = NDArray[np.int64]


def noise_problems(budget: Budget, neighbours: Neighbours, draws: int) -> list[str]:
    """Draw through a holder of no rows, whose answers are noise and nothing else, for a large and a small part."""
    problems: list[str] = []
    for part in (Fraction(1, 2), Fraction(1, 40)):
        first, event = _drawn(budget, neighbours, part, draws)
        second, _ = _drawn(budget, neighbours, part, draws)
        name = f"{event.noise.kind} noise of width {float(event.noise.width):.4g}"
        if np.array_equal(first[0], second[0]):
            problems.append(f"{name}: two runs drew the same numbers")
        if np.array_equal(first[0], first[1]):
            problems.append(f"{name}: two tables got the same numbers")
        for numbers in first:
            problems += [f"{name}: {one}" for one in law_problems(numbers, event.noise)]
    return problems


def law_problems(numbers: Draws, noise: Noise) -> list[str]:
    """What is wrong with some draws."""
    problems = []
    distance = law_distance(numbers, noise)
    if distance > sqrt(log(2 / ALARM) / (2 * numbers.size)):
        problems.append(f"the numbers are not drawn from its law (off by {distance:.3f})")
    if abs(sign_correlation(numbers)) > sqrt(2 * log(2 / ALARM) / max(int(np.count_nonzero(numbers)) - 1, 1)):
        problems.append("one number tells the next")
    return problems


def _drawn(budget: Budget, neighbours: Neighbours, part: Fraction, draws: int) -> tuple[list[Draws], Noisy]:
    """Noise of two tables, and the event that was charged for the first."""
    ledger = Ledger(budget, str(neighbours))
    domain = Domain({"one": draws, "two": draws})
    holder = LocalHolder(Memory(domain, []), neighbours, ledger)
    tables = holder.measure([("one",), ("two",)], [budget.total.part(part)] * 2)
    _, event = ledger.statement().entries[0]
    if not isinstance(event, Noisy):
        raise TypeError
    # Where persons are counted, noise is drawn in their parts.
    return [np.rint(table.marginal.counts * neighbours.parts).astype(np.int64) for table in tables], event


def law_distance(numbers: Draws, noise: Noise) -> float:
    """The largest distance between the distribution of some numbers and the law.

    It exceeds t with a chance of at most 2 exp(-2 n t²), whatever the law is (Dvoretzky, Kiefer and Wolfowitz;
    Massart).
    """
    values, counts = np.unique(numbers, return_counts=True)
    seen = np.cumsum(counts) / numbers.size
    at, before = cumulative(values, noise), cumulative(values - 1, noise)
    return float(max(np.abs(seen - at).max(), np.abs(np.append(0.0, seen[:-1]) - before).max()))


def cumulative(values: Draws, noise: Noise) -> NDArray[np.float64]:
    """P(X ≤ x) of integer noise."""
    from scipy.special import ndtr  # on demand: it takes as long to load as a small run
    from scipy.stats import skellam

    if isinstance(noise, Gaussian):
        return np.asarray(ndtr((values + 0.5) / float(noise.sigma)), dtype=np.float64)
    if isinstance(noise, Laplace):
        ratio = exp(-1 / float(noise.scale))
        tail = ratio ** np.where(values >= 0, values + 1, -values) / (1 + ratio)
        return np.asarray(np.where(values >= 0, 1 - tail, tail), dtype=np.float64)
    half = float(noise.width) / 2
    return np.asarray(skellam.cdf(values, half, half), dtype=np.float64)


def sign_correlation(numbers: Draws) -> float:
    """The mean of sign times next sign: signs of symmetric noise are fair coins, and so are these products."""
    signs = np.sign(numbers[numbers != 0]).astype(np.float64)
    return float((signs[1:] * signs[:-1]).mean()) if signs.size > 1 else 0.0


def kernel_problems(seed: int = 0) -> list[str]:
    """The compiled and the fallback kernel count the same."""
    from sfumato.kernels import fallback

    try:
        from sfumato.kernels import compiled
    except ImportError:
        return []
    rng = np.random.default_rng(seed)
    columns: list[Any] = [rng.integers(0, 7, 1000).astype(np.uint8), rng.integers(0, 300, 1000).astype(np.uint16)]
    lookup = rng.integers(0, 5, 300)
    one, two = (np.zeros(35, dtype=np.int64) for _ in range(2))
    compiled.count(columns, (7, 5), [None, lookup], one)
    fallback.count(columns, (7, 5), [None, lookup], two)
    return [] if np.array_equal(one, two) else ["the compiled kernel counts otherwise than the fallback"]
