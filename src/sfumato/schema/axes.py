"""Axes: the values of an ordered column as whole numbers in a unit that several columns share.

Numbers are counted in decimal fractions, dates in seconds, labels by their rank. Sums and differences of values are
then exact, and a value between two others can be drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log10
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.schema.bins import PointBins, RealBins, TickBins
from sfumato.schema.columns import Boolean, Categorical, Column, Date, Datetime, Integer, Number, size_of
from sfumato.schema.periods import period_of, seconds_of, start_of

Ints = NDArray[np.int64]

DIGITS = 12
"""A number without `decimals` is drawn with this many digits where a rule compares it with others."""


class Axis(Protocol):
    """The values of one column; all arguments and results are in the common unit."""

    @property
    def first(self) -> Ints:
        """The least value of each code; above `last` where a code has none."""
        ...

    @property
    def last(self) -> Ints:
        """The largest value of each code."""
        ...

    def up(self, values: Ints) -> Ints:
        """The next value of the column that is not below each number."""
        ...

    def down(self, values: Ints) -> Ints:
        """The next value of the column that is not above each number."""
        ...

    def draw(self, low: Ints, high: Ints, rng: np.random.Generator) -> Ints:
        """Values of the column between bounds that are values of it."""
        ...


@dataclass(frozen=True, eq=False)
class Steps:
    """Every `step`-th number from `start` on."""

    first: Ints
    last: Ints
    step: int = 1
    start: int = 0

    def up(self, values: Ints) -> Ints:
        """The next multiple that is not below each number."""
        return -((self.start - values) // self.step) * self.step + self.start

    def down(self, values: Ints) -> Ints:
        """The next multiple that is not above each number."""
        return (values - self.start) // self.step * self.step + self.start

    def draw(self, low: Ints, high: Ints, rng: np.random.Generator) -> Ints:
        """Multiples between bounds that are multiples."""
        return low + self.step * rng.integers(0, (high - low) // self.step + 1)


@dataclass(frozen=True, eq=False)
class Moments:
    """The first seconds of the periods of a column; the first period begins with the column's `min`."""

    column: Date | Datetime
    first: Ints
    last: Ints

    def up(self, values: Ints) -> Ints:
        """The next period that does not begin before each moment."""
        periods = np.maximum(period_of(values, self.column.granularity), self.column.period(self.column.min))
        begins = self._start(periods)
        return np.where(begins >= values, begins, self._start(periods + 1))

    def down(self, values: Ints) -> Ints:
        """The period that holds each moment; before `min` there is none."""
        begins = self._start(period_of(values, self.column.granularity))
        return np.where(begins <= values, begins, values)

    def draw(self, low: Ints, high: Ints, rng: np.random.Generator) -> Ints:
        """Periods between two."""
        first, last = (period_of(values, self.column.granularity) for values in (low, high))
        return self._start(rng.integers(first, last + 1))

    def _start(self, periods: Ints) -> Ints:
        return np.maximum(start_of(periods, self.column.granularity), seconds_of(self.column.min))


def decimals_of(column: Number) -> int:
    """The decimals that a column of numbers has, or gets where a rule compares it with others."""
    if column.decimals is not None:
        return column.decimals
    bins = column.binning()
    if isinstance(bins, PointBins):
        return next(
            (
                d
                for d in range(16)
                if all((Fraction(repr(one)) * 10**d).denominator == 1 for one in bins.points.tolist())
            ),
            15,
        )
    size = max(abs(column.min), abs(column.max), 1e-300)
    decimals = min(max(DIGITS - ceil(log10(size)), 0), 15)
    while RealBins(bins.edges, decimals).empty and decimals < 15:
        decimals += 1
    return decimals


def scale_of(columns: Sequence[Column]) -> int:
    """How many units make 1, where these columns are compared: a power of ten that makes all their values whole."""
    return int(10 ** max((decimals_of(column) for column in columns if isinstance(column, Number)), default=0))


def axis_of(column: Column, scale: int, step: int = 1, start: int = 0) -> Axis:
    """The values of a column in units of 1 / scale (numbers), seconds or ranks.

    Args:
        column: the column.
        scale: how many units make 1.
        step: only every so-many units is a value; it must be a multiple of the column's own step.
        start: one of these values.
    """
    match column:
        case Categorical() | Boolean():
            ranks = np.arange(size_of(column))
            return Steps(ranks, ranks)
        case Date() | Datetime():
            starts = start_of(column.binning().starts, column.granularity)
            first = np.maximum(starts[:-1], seconds_of(column.min))
            last = start_of(column.binning().starts[1:] - 1, column.granularity)
            return Moments(column, first, np.maximum(last, first))
        case Integer():
            own, first, last = scale, *_ticks(column.binning(), 0)
        case Number():
            decimals = decimals_of(column)
            own, first, last = scale // 10**decimals, *_ticks(column.binning(), decimals)
    lattice = Steps(first, last, max(step, own), start)
    return Steps(lattice.up(first * own), lattice.down(last * own), lattice.step, start)


def _ticks(bins: TickBins | RealBins | PointBins, decimals: int) -> tuple[Ints, Ints]:
    """The least and the largest multiple of 10^-decimals in each bin."""
    if isinstance(bins, PointBins):
        points = (
            np.rint(bins.points * float(10**decimals)).astype(np.int64) if decimals else bins.points.astype(np.int64)
        )
        return points, points
    starts = bins.starts if isinstance(bins, TickBins) else RealBins(bins.edges, decimals).ticks.starts
    return starts[:-1], starts[1:] - 1


def first_values(column: Column) -> NDArray[Any]:
    """The least value that can be drawn for each code but special ones: a rank, a number, or seconds."""
    if isinstance(column, Number):
        bins = column.binning()
        if isinstance(bins, PointBins) or column.decimals is None:
            return bins.firsts
        return bins.ticks.starts[:-1] / float(10**column.decimals)
    return axis_of(column, 1).first
