"""Shares of noise for many parties: any `honest` of them add up to exactly the noise that is charged.

A *Polya share* is the difference of two negative binomial numbers with shape 1 / honest; `honest` of them add up to
discrete Laplace noise. A *Skellam share* is the difference of two Poisson numbers with mean mu / (2 honest); they add
up to Skellam noise of variance mu.

Each number is drawn by rejection from a staircase above its probabilities. Floating point proposes a decision together
with room for its own error; where the room is not enough, 192 random bits and 80 decimal digits decide. What is cut off
the tails is less than 2^-128, so that one share is within 2^-100 of its law: docs/proofs/parties.md, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache
from numbers import Rational

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import BudgetError
from sfumato.privacy.entropy import Entropy

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

MARGIN = 1e-9
"""Room for the floating-point error of a logarithm of a probability; the true error is below 1e-11."""

_BATCH = 1 << 16  # long enough to hide the cost of a call, short enough for the cache
_TAIL = 134 * math.log(2)
_ALL = 1 << 62
_FEW = 64  # from here on Stirling's series has all digits of a float
_SMALLEST, _LARGEST = Fraction(1, 1 << 60), Fraction(1 << 40)
_CONTEXT = Context(prec=80)


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


@dataclass(frozen=True, eq=False)
class _Staircase:
    """A law on whole numbers, and steps above it: `weights[i]` of 2^62 on the 2^`bits[i]` numbers from `starts[i]` on.

    A number of step i is kept with probability exp(log_mass + constant) * 2^bits / weight, which is at most 1.
    """

    log_mass: Callable[[Integers], Floats]
    exact_log_mass: Callable[[int], Decimal]
    constant: float
    starts: Integers
    bits: NDArray[np.uint64]
    weights: tuple[int, ...]

    @classmethod
    def above(
        cls,
        log_mass: Callable[[Integers], Floats],
        exact_log_mass: Callable[[int], Decimal],
        starts: Sequence[int],
        bits: Sequence[int],
        highest: Sequence[int],
    ) -> _Staircase:
        """Steps that start at `starts`; the likeliest number of each is in `highest`."""
        tops = log_mass(np.array(highest, dtype=np.int64)) + MARGIN + np.array(bits) * math.log(2)
        constant = math.log(_ALL) - 1e-6 - float(np.logaddexp.reduce(tops))
        weights = tuple(max(1, math.ceil(math.exp(top + constant))) for top in tops)
        return cls(
            log_mass, exact_log_mass, constant, np.array(starts, dtype=np.int64), np.array(bits, np.uint64), weights
        )

    def draw(self, size: int, entropy: Entropy, margin: float = MARGIN) -> Integers:
        """About `size` independent numbers, never more; `margin` is larger in tests only."""
        ends = np.cumsum(np.array(self.weights, dtype=np.uint64))
        factors = (
            self.constant + self.bits.astype(np.float64) * math.log(2) - np.log(np.array(self.weights, np.float64))
        )
        place, offset, coin = entropy.words(3 * size).reshape(3, size)
        step = np.searchsorted(ends, place >> np.uint64(2), side="right")
        inside = np.flatnonzero(step < ends.size)
        step, offset, coin = step[inside], offset[inside], coin[inside]
        number = self.starts[step] + (offset & ((np.uint64(1) << self.bits[step]) - np.uint64(1))).astype(np.int64)
        chance = np.exp(self.log_mass(number) + factors[step])
        threshold = coin.astype(np.float64) * 2.0**-64
        kept = threshold < chance
        for row in np.flatnonzero(np.abs(threshold - chance) <= 2 * margin):
            kept[row] = self._is_kept(int(number[row]), int(step[row]), int(coin[row]), entropy)
        return number[kept]

    def _is_kept(self, number: int, step: int, coin: int, entropy: Entropy) -> bool:
        """The same decision with 128 further bits and 80 digits."""
        high, low = map(int, entropy.words(2))
        with localcontext(_CONTEXT):
            uniform = (Decimal((coin << 128) + (high << 64) + low) + Decimal("0.5")) / Decimal(1 << 192)
            steps = Decimal(1 << int(self.bits[step])) / Decimal(self.weights[step])
            return uniform.ln() < self.exact_log_mass(number) + Decimal(self.constant) + steps.ln()


def _difference(law: _Staircase, size: int, entropy: Entropy) -> Integers:
    drawn = np.empty(2 * size, dtype=np.int64)
    filled = 0
    while filled < drawn.size:
        numbers = law.draw(min(drawn.size - filled, _BATCH), entropy)
        drawn[filled : filled + numbers.size] = numbers
        filled += numbers.size
    return drawn[:size] - drawn[size:]


@lru_cache(maxsize=512)
def _polya(scale: Fraction, honest: int) -> _Staircase:
    """P(a) proportional to Gamma(a + 1/honest) / a! * exp(-a / scale): it never rises, from 0 on."""
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

    # Beyond `last` there is less than 2^-128: at most (scale + 1) exp(-last / scale) times what lies at 0.
    last = math.ceil((_TAIL + math.log(float(scale) + 1)) * float(scale))
    starts, bits = [0], [0]
    while starts[-1] + (1 << bits[-1]) <= last:
        starts.append(starts[-1] + (1 << bits[-1]))
        bits.append(max(0, starts[-1].bit_length() - 4))  # eight steps from a power of two to the next
    return _Staircase.above(log_mass, exact_log_mass, starts, bits, starts)


@lru_cache(maxsize=512)
def _poisson(mean: Fraction) -> _Staircase:
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

    def unlikely(number: int) -> bool:  # Chernoff: less than 2^-130 lies there or further away from the mean
        away = np.array([(number - whole) - rest], dtype=np.float64)
        return number < 0 or average * float(_bend(away / average)[0]) > _TAIL

    low, high = _edge(whole, -1, unlikely), _edge(whole + 1, 1, unlikely)
    bit = max(0, math.isqrt(whole).bit_length() - 3)  # about eight steps for a standard deviation
    starts = list(range(max(0, low) >> bit << bit, high + 1, 1 << bit))
    highest = [min(max(start, whole), start + (1 << bit) - 1) if start <= whole else start for start in starts]
    return _Staircase.above(log_mass, exact_log_mass, starts, [bit] * len(starts), highest)


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
    """The logarithm of Gamma(x) to about 70 digits, less what the size of the result takes: Stirling from 64 on."""
    steps = max(0, _FEW - math.floor(x))
    far = Decimal(x.numerator) / Decimal(x.denominator) + steps
    value = (far - Decimal("0.5")) * far.ln() - far + _log_two_pi() / 2
    for index, bernoulli in enumerate(_bernoulli(40), start=1):
        term = Decimal(bernoulli.numerator) / Decimal(bernoulli.denominator * 2 * index * (2 * index - 1))
        value += term / far ** (2 * index - 1)
    for step in range(steps):
        value -= (Decimal(x.numerator + step * x.denominator) / Decimal(x.denominator)).ln()
    return value


@cache
def _bernoulli(count: int) -> tuple[Fraction, ...]:
    """The Bernoulli numbers B2, B4, … of even index."""
    numbers = [Fraction(1)]
    for n in range(1, 2 * count + 1):
        numbers.append(-sum((math.comb(n + 1, k) * numbers[k] for k in range(n)), Fraction(0)) / (n + 1))
    return tuple(numbers[2::2])


@cache
def _log_two_pi() -> Decimal:
    """The logarithm of 2 pi, by Machin's formula for pi."""

    def inverse_tangent(inverse: int) -> Decimal:
        terms = ((-1) ** k * Decimal(1) / ((2 * k + 1) * Decimal(inverse) ** (2 * k + 1)) for k in range(70))
        return sum(terms, Decimal(0))

    with localcontext(_CONTEXT):
        return (8 * (4 * inverse_tangent(5) - inverse_tangent(239))).ln()
