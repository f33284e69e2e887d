"""Integer noise that has exactly the distribution which the accountant charges for.

Two kinds. The *discrete Laplace* gives x a probability proportional to exp(-|x| / scale). The *rounded
Gaussian* is sigma times a standard normal number, rounded to the nearest integer. Added to an integer count
it is the ideal Gaussian mechanism, rounded, so the theory of continuous Gaussian noise holds for it.

Both find a real number first, exponential (von Neumann 1951) or normal (Karney 2016, "Sampling exactly from
the normal distribution"), of which they draw no more digits than they need. No floating-point number decides
a sample and no probability is cut off. The proofs: `docs/proofs/noise.md`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from numbers import Rational

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import BudgetError
from sfumato.privacy.entropy import Entropy
from sfumato.privacy.exact_uniform import DigitSource, Interval, LazyUniform, Mask, Rows, exp_bounds

Integers = NDArray[np.int64]

_BATCH = 1 << 16  # long enough to hide the cost of a call, short enough for the cache
_SMALLEST, _LARGEST = Fraction(1, 1 << 20), Fraction(1 << 40)
_HALF_WORD = np.uint64(32)


def discrete_laplace(scale: Fraction, size: int, entropy: Entropy) -> Integers:
    """Draw `size` independent integers x with probability proportional to exp(-|x| / scale)."""
    _require_scale("Laplace noise", scale)
    return _collect(size, partial(_laplace_batch, scale, DigitSource(entropy)))


def geometric(scale: Fraction, size: int, entropy: Entropy) -> Integers:
    """Draw `size` independent integers n >= 0 with probability proportional to exp(-n / scale)."""
    _require_scale("a geometric number", scale)
    return _collect(size, partial(_geometric_batch, scale, DigitSource(entropy)))


def rounded_gaussian(sigma: Fraction, size: int, entropy: Entropy) -> Integers:
    """Draw `size` independent normal numbers of standard deviation `sigma`, rounded to integers."""
    _require_scale("Gaussian noise", sigma)
    return _collect(size, partial(_gaussian_batch, sigma, DigitSource(entropy)))


def discrete_laplace_variance(scale: Fraction) -> float:
    """Variance of `discrete_laplace`: 2 r / (1 - r)^2 with r = exp(-1 / scale)."""
    _require_scale("Laplace noise", scale)
    exponent = -float(1 / scale)
    return 2 * math.exp(exponent) / math.expm1(exponent) ** 2


def rounded_gaussian_variance(sigma: Fraction) -> float:
    """Variance of `rounded_gaussian`: nearly sigma^2 + 1/12, except for small sigma."""
    _require_scale("Gaussian noise", sigma)
    deviation = float(sigma)
    if deviation < 1:
        # E[N^2] as a sum of tails: accurate however small the variance is.
        return sum((2 * k - 1) * math.erfc((k - 0.5) / (deviation * math.sqrt(2))) for k in range(1, 40))
    # The Fourier series of the rounding error; its second wave is below 1e-33.
    wave = math.exp(-2 * (math.pi * deviation) ** 2) * (4 * deviation**2 + 1 / math.pi**2)
    return deviation**2 + 1 / 12 - wave


def _require_scale(noise: str, scale: Fraction) -> None:
    if not isinstance(scale, Rational) or not _SMALLEST <= scale <= _LARGEST:
        raise BudgetError(f"{noise} of width {scale} was asked for; give an exact fraction from 2^-20 to 2^40")


def _collect(size: int, batch: Callable[[int], Integers]) -> Integers:
    """The first `size` numbers of a stream that comes in batches of about the length asked for."""
    drawn = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        numbers = batch(min(size - filled, _BATCH))[: size - filled]
        drawn[filled : filled + numbers.size] = numbers
        filled += numbers.size
    return drawn


def _geometric_batch(scale: Fraction, source: DigitSource, size: int) -> Integers:
    """About `size` draws: an exponential number, scaled and rounded down."""
    fraction = LazyUniform.draw(source, size * 8 // 5 + 16)
    fraction = fraction.take(np.flatnonzero(_exp_coins(source, fraction)))
    whole = _whole_parts(source, fraction.size, _exponential_survival)
    return _scaled_floor(scale, whole, fraction, Fraction(0))


def _laplace_batch(scale: Fraction, source: DigitSource, size: int) -> Integers:
    """About `size` draws: a geometric number with a sign; minus zero is thrown away."""
    magnitude = _geometric_batch(scale, source, size)
    negative = source.coins(magnitude.size)
    signed: Integers = np.where(negative, -magnitude, magnitude)
    return signed[~negative | (magnitude > 0)]


def _gaussian_batch(sigma: Fraction, source: DigitSource, size: int) -> Integers:
    """About `size` draws: Karney's normal number whole + fraction, scaled, rounded to nearest, signed."""
    candidates = size * 7 // 5 + 16
    whole = _whole_parts(source, candidates, _normal_survival)
    fraction = LazyUniform.draw(source, candidates)
    accepted = _exp_coins(source, fraction, gate=partial(_half_coins, source, fraction))
    # One coin of probability exp(-fraction) for each unit of the whole part; all must show heads.
    tossed = np.repeat(np.flatnonzero(accepted), whole[accepted])
    accepted[tossed[~_exp_coins(source, fraction.take(tossed))]] = False
    kept = np.flatnonzero(accepted)
    magnitude = _scaled_floor(sigma, whole[kept], fraction.take(kept), Fraction(1, 2))
    signed: Integers = np.where(source.coins(kept.size), -magnitude, magnitude)
    return signed


def _exp_coins(source: DigitSource, numbers: LazyUniform, gate: Callable[[Rows], Mask] | None = None) -> Mask:
    """Toss for each number x a coin that shows heads with probability exp(-x): is its run of even length.

    The run x > u1 > u2 > … of new uniform numbers ends where it does not fall. With a gate, which tosses a
    coin of some probability g for each of the rows it is given, every step must also pass the gate, and the
    probability of heads is exp(-g x).
    """
    heads = np.ones(numbers.size, dtype=np.bool_)
    running, last = np.arange(numbers.size), numbers
    while running.size:
        new = LazyUniform.draw(source, running.size)
        falls = np.flatnonzero(new.below(last))
        if gate is not None:
            falls = falls[gate(running[falls])]
        running, last = running[falls], new.take(falls)
        heads[running] ^= True
    return heads


def _half_coins(source: DigitSource, numbers: LazyUniform, rows: Rows) -> Mask:
    """Toss a coin of probability x / 2 for the number x in each of `rows`."""
    return source.coins(rows.size) & LazyUniform.draw(source, rows.size).below(numbers.take(rows))


def _whole_parts(source: DigitSource, size: int, survival: Callable[[int, int], Interval]) -> Integers:
    """Draw integers k >= 0 with P(k >= j) = survival(j): at how many j a uniform number is below it."""
    whole = np.zeros(size, dtype=np.int64)
    rows, uniform = np.arange(size), LazyUniform.draw(source, size)
    least = 0
    while rows.size:
        least += 1
        below = np.flatnonzero(uniform.below_constant(partial(survival, least)))
        rows, uniform = rows[below], uniform.take(below)
        whole[rows] = least
    return whole


@cache
def _exponential_survival(least: int, bits: int) -> Interval:
    """P(k >= least) where P(k) is proportional to exp(-k)."""
    return exp_bounds(Fraction(least), bits)


@cache
def _normal_survival(least: int, bits: int) -> Interval:
    """P(k >= least) where P(k) is proportional to exp(-k^2 / 2)."""
    # From `last` on each term is less than half of the one before, so all of them less than twice the first.
    last = max(least + 1, math.isqrt(2 * bits + 6) + 1)
    terms = [exp_bounds(Fraction(k * k, 2), bits + 2 + last.bit_length()) for k in range(last + 1)]
    zero = Fraction(0)
    head_low, head_high = (sum((term[end] for term in terms[:least]), zero) for end in (0, 1))
    tail_low, tail_high = (sum((term[end] for term in terms[least:last]), zero) for end in (0, 1))
    tail_high += 2 * terms[last][1]
    return tail_low / (head_high + tail_low), tail_high / (head_low + tail_high)


def _scaled_floor(
    scale: Fraction, whole: Integers, fraction: LazyUniform, shift: Fraction, point: int = 48
) -> Integers:
    """The integer part of scale * (whole + fraction) + shift, where shift is 0 or 1/2.

    Computed with at most `point` bits after the binary point, as an interval that has the true value in it.
    Where the two ends have different integer parts, exact arithmetic on further digits decides.
    """
    point = min(point, 59 - int(scale).bit_length())
    factor = int(scale * 2 ** (point + 4))  # below 2^63
    factor_high, factor_low = np.uint64(factor >> 32), np.uint64(factor & 0xFFFFFFFF)
    number = np.minimum(whole, 15).astype(np.uint64) << np.uint64(60) | fraction.leading_bits(60)
    number_high, number_low = number >> _HALF_WORD, number & np.uint64(0xFFFFFFFF)
    # factor * number / 2^64 is scale * (whole + fraction) in units of 2^-point. What is cut off in this
    # product is less than 3 units, and what was cut off its factors less than 2: the truth is within 5 above.
    value = factor_high * number_high
    value += (factor_high * number_low >> _HALF_WORD) + (factor_low * number_high >> _HALF_WORD)
    value += np.uint64(int(shift * 2**point))
    floor: Integers = (value >> np.uint64(point)).astype(np.int64)
    unclear = floor != (value + np.uint64(4) >> np.uint64(point)).astype(np.int64)
    for row in np.flatnonzero(unclear | (whole > 15)):
        floor[row] = _exact_floor(scale, int(whole[row]), fraction, int(row), shift)
    return floor


def _exact_floor(scale: Fraction, whole: int, fraction: LazyUniform, row: int, shift: Fraction) -> int:
    """The same for one number, with as many digits as it takes."""
    digits = 1
    while True:
        low, high = (math.floor(scale * (whole + end) + shift) for end in fraction.interval(row, digits))
        if low == high:
            return low
        digits += 1
