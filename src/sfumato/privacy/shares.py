"""Shares of noise for many parties: any `honest` of them add up to exactly the noise that is charged.

A *Polya share* is the difference of two negative binomial numbers with shape 1 / honest; `honest` of them add up to
discrete Laplace noise. A *Skellam share* is the difference of two Poisson numbers with mean mu / (2 honest); they add
up to Skellam noise of variance mu.

Each number is drawn by rejection from a staircase above its probabilities, with a geometric tail. Floating point only
decides whether it is kept where it is sure; elsewhere exact arithmetic does, with as many random bits and digits as it
takes. So a share has its law exactly: docs/proofs/parties.md, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction
from functools import cache, lru_cache
from numbers import Rational

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import BudgetError
from sfumato.privacy.entropy import Entropy
from sfumato.privacy.noise import geometric

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

MARGIN = 1e-9
"""Room for the floating-point error of a logarithm of a probability; the true error is below 1e-11."""

TAIL = 134 * math.log(2)
"""Steps end where less than exp(-TAIL) of a law is left; what lies beyond is drawn too, but nearly never."""

_BATCH = 1 << 16  # long enough to hide the cost of a call, short enough for the cache
_ALL = 1 << 62
_FEW = 64  # from here on Stirling's series has all digits of a float
_SMALLEST, _LARGEST = Fraction(1, 1 << 60), Fraction(1 << 40)


def polya_share(scale: Fraction, honest: int, size: int, entropy: Entropy) -> Integers:
    """Draw shares of which any `honest` add up to discrete Laplace noise, proportional to exp(-|x| / scale)."""
    _require("Laplace noise", scale, honest)
    return _difference(_polya(scale, honest), size, entropy)


def skellam_share(mu: Fraction, honest: int, size: int, entropy: Entropy) -> Integers:
    """Draw shares of which any `honest` add up to the difference of two Poisson numbers, of variance `mu`."""
    _require("Skellam noise", mu, honest)
    return _difference(_poisson(mu / (2 * honest)), size, entropy)


def _require(noise: str, width: Fraction, honest: int) -> None:
    if not isinstance(width, Rational) or not _SMALLEST <= width <= _LARGEST:
        raise BudgetError(f"{noise} of width {width} was asked for; give an exact fraction from 2^-60 to 2^40")
    if honest < 1:
        raise BudgetError(f"noise that {honest} shares add up to was asked for; at least one party must be honest")


@dataclass(frozen=True)
class _Law:
    """A law on whole numbers, up to a factor: the logarithm of a probability as a float, and to any precision."""

    log_mass: Callable[[Integers], Floats]
    exact_log_mass: Callable[[int], Decimal]
    """In the current decimal context; off by less than a unit of its last place times the size of the number."""


@dataclass(frozen=True, eq=False)
class _Staircase:
    """Steps above a law: `weights[i]` of 2^62 on the 2^`bits[i]` numbers from `starts[i]` on, and two ends beyond them.

    A number of step i is kept with probability exp(log_mass + constant) * 2^bits / weight, which is at most 1. The last
    two weights are those of the ends: all numbers below the first step, in one wide step, and all numbers from `stop`
    on, `stop` plus a geometric number of the given scale. Law and ends are such that they lie above the law as well.
    """

    law: _Law
    constant: float
    starts: Integers
    bits: NDArray[np.uint64]
    weights: tuple[int, ...]
    stop: int
    scale: Fraction

    @classmethod
    def above(
        cls, law: _Law, starts: Sequence[int], bits: Sequence[int], highest: Sequence[int], scale: Fraction
    ) -> _Staircase:
        """Steps that start at `starts`; the likeliest number of each is in `highest`, and that of an end is next to it.

        From the end of the last step on, a number must be at least exp(1 / scale) times as likely as the next one.
        """
        stop = starts[-1] + (1 << bits[-1])
        ends = [*highest, max(0, starts[0] - 1), stop]
        widths = [*(bit * math.log(2) for bit in bits), starts[0].bit_length() * math.log(2)]
        widths.append(-math.log(-math.expm1(-1 / float(scale))))
        tops = law.log_mass(np.array(ends, dtype=np.int64)) + MARGIN + np.array(widths)
        if not starts[0]:
            tops[-2] = -np.inf
        constant = math.log(_ALL) - 1e-6 - float(np.logaddexp.reduce(tops))
        weights = [max(1, math.ceil(math.exp(top + constant))) if top > -np.inf else 0 for top in tops]
        return cls(law, constant, np.array(starts, np.int64), np.array(bits, np.uint64), tuple(weights), stop, scale)

    def draw(self, size: int, entropy: Entropy, margin: float = MARGIN) -> Integers:
        """About `size` independent numbers, never more; `margin` is larger in tests only."""
        steps = self.starts.size
        log_weights = np.log(np.array(self.weights[:steps], dtype=np.float64))
        factors = self.constant + self.bits.astype(np.float64) * math.log(2) - log_weights
        place, offset, coin = entropy.words(3 * size).reshape(3, size)
        step = np.searchsorted(np.cumsum(np.array(self.weights, dtype=np.uint64)), place >> np.uint64(2), side="right")
        number, kept = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.bool_)
        inside = np.flatnonzero(step < steps)
        at = step[inside]
        number[inside] = self.starts[at] + (offset[inside] & ((np.uint64(1) << self.bits[at]) - np.uint64(1))).astype(
            np.int64
        )
        chance = np.exp(self.law.log_mass(number[inside]) + factors[at])
        threshold = coin[inside].astype(np.float64) * 2.0**-64
        kept[inside] = threshold < chance
        for row in inside[np.abs(threshold - chance) <= 2 * margin]:
            kept[row] = self._is_kept(int(number[row]), int(step[row]), int(coin[row]), entropy)
        for row in np.flatnonzero((step >= steps) & (step < steps + 2)):
            number[row] = self._beyond(int(step[row]), int(offset[row]), entropy)
            inside_end = step[row] > steps or number[row] < self.starts[0]
            kept[row] = inside_end and self._is_kept(int(number[row]), int(step[row]), int(coin[row]), entropy)
        return number[kept]

    def _beyond(self, step: int, offset: int, entropy: Entropy) -> int:
        """A number of one of the ends, or of the steps next to the lower one, where it is not kept."""
        if step == self.starts.size:
            return offset & ((1 << int(self.starts[0]).bit_length()) - 1)
        return self.stop + int(geometric(self.scale, 1, entropy)[0])

    def _is_kept(self, number: int, step: int, coin: int, entropy: Entropy) -> bool:
        """Whether a uniform number, of which 64 bits are known, is below the probability of keeping a number."""
        bits, digits = 64, 40
        while True:
            with localcontext(prec=digits + 30 + number.bit_length()):
                chance = self._log_chance(number, step)
                room = Decimal(10) ** -digits  # far more than what the precision leaves uncertain
                if (Decimal(coin + 1) / (1 << bits)).ln() < chance - room:
                    return True
                if coin and (Decimal(coin) / (1 << bits)).ln() > chance + room:
                    return False
            coin, bits, digits = coin << 64 | int(entropy.words(1)[0]), bits + 64, digits + 20

    def _log_chance(self, number: int, step: int) -> Decimal:
        """The logarithm of the probability of keeping a number, in the current decimal context."""
        log_weight = Decimal(self.weights[step]).ln()
        height = self.law.exact_log_mass(number) + Decimal(self.constant) - log_weight
        if step <= self.starts.size:
            bits = int(self.bits[step]) if step < self.starts.size else int(self.starts[0]).bit_length()
            return height + Decimal(1 << bits).ln()
        rate = Decimal(self.scale.denominator) / self.scale.numerator
        return height + (number - self.stop) * rate - (1 - (-rate).exp()).ln()


def _difference(law: _Staircase, size: int, entropy: Entropy) -> Integers:
    drawn = np.empty(2 * size, dtype=np.int64)
    filled = 0
    while filled < drawn.size:
        numbers = law.draw(min(drawn.size - filled, _BATCH), entropy)
        drawn[filled : filled + numbers.size] = numbers
        filled += numbers.size
    return drawn[:size] - drawn[size:]


@lru_cache(maxsize=512)
def _polya(scale: Fraction, honest: int, tail: float = TAIL) -> _Staircase:
    """P(a) proportional to Gamma(a + 1/honest) / a! * exp(-a / scale): each is at most exp(-1 / scale) the last one."""
    shape, rate = 1 / honest, float(1 / scale)
    first = np.cumsum([0.0, *(math.log((k - 1 + shape) / k) for k in range(1, _FEW))])

    def log_mass(numbers: Integers) -> Floats:
        mass: Floats = first[np.minimum(numbers, _FEW - 1)]
        many = np.flatnonzero(numbers >= _FEW)
        a = numbers[many].astype(np.float64)
        mass[many] = (
            (a + shape - 0.5) * np.log1p((shape - 1) / (a + 1)) + (shape - 1) * np.log(a + 1) + 1 - shape
            + _stirling(a + shape) - _stirling(a + 1) - math.lgamma(shape)
        )  # fmt: skip
        return mass - numbers * rate

    def exact_log_mass(number: int) -> Decimal:
        power = Decimal(number * scale.denominator) / Decimal(scale.numerator)
        part = Fraction(1, honest)
        return _log_gamma(number + part) - _log_gamma(Fraction(number + 1)) - _log_gamma(part) - power

    # Beyond `last` there is at most (scale + 1) exp(-last / scale) times what lies at 0.
    last = math.ceil((tail + math.log(float(scale) + 1)) * float(scale))
    starts, bits = [0], [0]
    while starts[-1] + (1 << bits[-1]) <= last:
        starts.append(starts[-1] + (1 << bits[-1]))
        bits.append(max(0, starts[-1].bit_length() - 4))  # eight steps from a power of two to the next
    return _Staircase.above(_Law(log_mass, exact_log_mass), starts, bits, starts, max(scale, Fraction(1)))


@lru_cache(maxsize=512)
def _poisson(mean: Fraction, tail: float = TAIL) -> _Staircase:
    """P(a) = exp(-mean) mean^a / a!: it rises up to the whole part of the mean, and falls from there on."""
    whole, rest, average = math.floor(mean), float(mean - math.floor(mean)), float(mean)
    first = [a * math.log(average) - average - math.lgamma(a + 1) for a in range(_FEW)]

    def log_mass(numbers: Integers) -> Floats:
        mass: Floats = np.array(first)[np.minimum(numbers, _FEW - 1)]
        many = np.flatnonzero(numbers >= _FEW)
        a = numbers[many].astype(np.float64)
        away = (numbers[many] - whole) - rest  # exact up to one rounding, however large the mean is
        bend = _bend(np.asarray(away / average, dtype=np.float64))
        mass[many] = -average * bend - 0.5 * np.log(2 * math.pi * a) - _stirling(a)
        return mass

    def exact_log_mass(number: int) -> Decimal:
        exact = Decimal(mean.numerator) / Decimal(mean.denominator)
        return number * exact.ln() - exact - _log_gamma(Fraction(number + 1))

    def unlikely(number: int) -> bool:  # Chernoff: less than exp(-tail) lies there or further away from the mean
        away = np.array([(number - whole) - rest], dtype=np.float64)
        return number < 0 or average * float(_bend(away / average)[0]) > tail

    low, high = _edge(whole, -1, unlikely), _edge(whole + 1, 1, unlikely)
    bit = max(0, math.isqrt(whole).bit_length() - 3)  # about eight steps for a standard deviation
    starts = list(range(max(0, low) >> bit << bit, high + 1, 1 << bit))
    highest = [min(max(start, whole), start + (1 << bit) - 1) if start <= whole else start for start in starts]
    stop = starts[-1] + (1 << bit)
    # A number is (stop + 1) / mean times as likely as the next one, or more.
    scale = Fraction(math.ceil(1.001 / math.log((stop + 1) / average)))
    return _Staircase.above(_Law(log_mass, exact_log_mass), starts, [bit] * len(starts), highest, scale)


def _edge(start: int, direction: int, beyond: Callable[[int], bool]) -> int:
    """The first whole number from `start` on, in a direction, that is beyond; all further ones are."""
    step = 1
    while not beyond(start + direction * step):
        step *= 2
    inside, outside = step // 2, step
    while outside - inside > 1:
        middle = (inside + outside) // 2
        inside, outside = (inside, middle) if beyond(start + direction * middle) else (middle, outside)
    return start + direction * outside


def _bend(x: Floats) -> Floats:
    """(1 + x) log(1 + x) - x for x >= -1, without cancellation near 0."""
    series = np.zeros_like(x)
    for power in range(16, 1, -1):
        series = (-1) ** power / (power * (power - 1)) + x * series
    safe = np.maximum(x, np.nextafter(-1, 0))
    return np.where(np.abs(x) < 0.05, x * x * series, (1 + x) * np.log1p(safe) - x)


def _stirling(x: Floats) -> Floats:
    """What log Gamma(x) has above (x - 1/2) log x - x + log(2 pi) / 2; all digits for x >= 64."""
    square = 1 / (x * x)
    correction: Floats = (1 / 12 - square * (1 / 360 - square / 1260)) / x
    return correction


def _log_gamma(x: Fraction) -> Decimal:
    """The logarithm of Gamma(x) in the current decimal context, less what the size of the result takes.

    Stirling's series from as many as there are digits on, with half as many terms; the first term that is left out
    bounds the error, and is below the last digit.
    """
    digits = getcontext().prec
    steps = max(0, digits - math.floor(x))
    far = Decimal(x.numerator) / Decimal(x.denominator) + steps
    value = (far - Decimal("0.5")) * far.ln() - far + _log_two_pi(digits) / 2
    for index, bernoulli in enumerate(_bernoulli(digits // 2 + 1), start=1):
        term = Decimal(bernoulli.numerator) / Decimal(bernoulli.denominator * 2 * index * (2 * index - 1))
        value += term / far ** (2 * index - 1)
    product = math.prod(x.numerator + step * x.denominator for step in range(steps))
    return value - (Decimal(product).ln() - steps * Decimal(x.denominator).ln())


@cache
def _bernoulli(count: int) -> tuple[Fraction, ...]:
    """The Bernoulli numbers B2, B4, … of even index."""
    numbers = [Fraction(1)]
    for n in range(1, 2 * count + 1):
        numbers.append(-sum((math.comb(n + 1, k) * numbers[k] for k in range(n)), Fraction(0)) / (n + 1))
    return tuple(numbers[2::2])


@cache
def _log_two_pi(digits: int) -> Decimal:
    """The logarithm of 2 pi, by Machin's formula for pi."""

    def inverse_tangent(inverse: int) -> Decimal:
        terms = ((-1) ** k * Decimal(1) / ((2 * k + 1) * Decimal(inverse) ** (2 * k + 1)) for k in range(digits))
        return sum(terms, Decimal(0))

    with localcontext(prec=digits + 5):
        return (8 * (4 * inverse_tangent(5) - inverse_tangent(239))).ln()
