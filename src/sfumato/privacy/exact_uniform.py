"""Uniform real numbers that are drawn digit by digit and compared without error.

A number is an endless string of random digits, of which only those are drawn that some question needed. Every
answer holds for the real number itself; nothing is rounded. The argument: `docs/proofs/noise.md`, section 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.entropy import Entropy

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]
Interval = tuple[Fraction, Fraction]

Constant = Callable[[int], Interval]
"""A known real number: for any number of bits, an interval around it that is at most 2^-bits long."""


class DigitSource:
    """Random digits of `width` bits each, at most 32. Tests use few bits, so ties are common."""

    def __init__(self, entropy: Entropy, width: int = 32):
        self._entropy = entropy
        self.width = width

    def digits(self, count: int) -> NDArray[np.uint32]:
        """Independent uniform digits."""
        digits = self._entropy.words((count + 1) // 2).view(np.uint32)[:count]
        return digits if self.width == 32 else digits >> np.uint32(32 - self.width)

    def coins(self, count: int) -> Mask:
        """Independent fair coins."""
        octets = self._entropy.words((count + 63) // 64).view(np.uint8)
        return np.unpackbits(octets, count=count).view(np.bool_)


class LazyUniform:
    """A vector of independent uniform real numbers between 0 and 1.

    `take` gives a view of the same numbers: a digit that was drawn for one view is drawn for all. Were it a
    copy, one number could have two different tails.
    """

    def __init__(self, source: DigitSource, columns: list[NDArray[np.uint32]], rows: Rows | None):
        self._source = source
        self._columns = columns  # the first digits, the second digits, …; one list for all views
        self._rows = rows  # where in the columns the numbers of this view are; None for everywhere
        self._leading = columns[0] if rows is None else columns[0][rows]

    @classmethod
    def draw(cls, source: DigitSource, count: int) -> LazyUniform:
        """Draw `count` new numbers."""
        return cls(source, [source.digits(count)], None)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return self._leading.size

    def take(self, rows: Rows) -> LazyUniform:
        """The numbers at `rows`, which may repeat."""
        return LazyUniform(self._source, self._columns, rows if self._rows is None else self._rows[rows])

    def below(self, other: LazyUniform) -> Mask:
        """Which numbers are smaller than their partners in `other`."""
        smaller = self._leading < other._leading
        tied = np.flatnonzero(self._leading == other._leading)
        depth = 1
        while tied.size:
            mine, theirs = self._digit(depth, tied), other._digit(depth, tied)
            smaller[tied] = mine < theirs
            tied = tied[mine == theirs]
            depth += 1
        return smaller

    def below_constant(self, constant: Constant) -> Mask:
        """Which numbers are smaller than one known number between 0 and 1."""
        width = self._source.width
        low, high = (math.floor(end * 2**width) for end in constant(width + 2))
        smaller: Mask = self._leading < low
        for row in np.flatnonzero((self._leading >= low) & (self._leading <= high)):
            smaller[row] = self._is_below(int(row), constant)
        return smaller

    def leading_bits(self, bits: int) -> NDArray[np.uint64]:
        """The integer part of 2^bits times each number, for at most 64 bits."""
        width = self._source.width
        joined = np.zeros(self.size, dtype=np.uint64)
        for depth in range(-(-bits // width)):
            missing = bits - width * (depth + 1)
            digit = self._digit(depth, slice(None)).astype(np.uint64)
            joined |= digit << np.uint64(missing) if missing >= 0 else digit >> np.uint64(-missing)
        return joined

    def interval(self, row: int, digits: int) -> Interval:
        """Where the first `digits` digits place one number."""
        prefix = 0
        for depth in range(digits):
            prefix = prefix << self._source.width | int(self._digit(depth, row))
        unit = Fraction(1, 1 << digits * self._source.width)
        return prefix * unit, (prefix + 1) * unit

    def _is_below(self, row: int, constant: Constant) -> bool:
        digits = 2
        while True:
            low, high = self.interval(row, digits)
            constant_low, constant_high = constant(digits * self._source.width)
            if high <= constant_low:
                return True
            if low >= constant_high:
                return False
            digits += 1

    def _digit(self, depth: int, where: Rows | slice | int) -> NDArray[np.uint32]:
        while len(self._columns) <= depth:
            # For all numbers at once: a digit drawn before it is needed is as good as one drawn later.
            self._columns.append(self._source.digits(self._columns[0].size))
        column = self._columns[depth]
        return np.asarray(column[where] if self._rows is None else column[self._rows[where]])


def exp_bounds(power: Fraction, bits: int) -> Interval:
    """Two fractions around exp(-power), at most 2^-bits apart, for a power that is not negative."""
    # exp(p) = 1 + p/1 (1 + p/2 (1 + … p/n (rest))), where 1 <= rest <= 2 as soon as n + 1 >= 2 p.
    # With n >= 6 p the values for rest = 1 and rest = 2 are p^n / n! <= 2^-n apart.
    terms = max(math.ceil(6 * power), bits + 1)
    ends = []
    for rest in (2, 1):
        numerator, denominator = rest, 1
        for term in range(terms, 0, -1):
            denominator *= term * power.denominator
            numerator = denominator + power.numerator * numerator
        ends.append(Fraction(denominator, numerator))
    unit = 1 << bits + 2  # outward to a few bits, so sums of such bounds stay short
    return Fraction(math.floor(ends[0] * unit), unit), Fraction(math.ceil(ends[1] * unit), unit)
