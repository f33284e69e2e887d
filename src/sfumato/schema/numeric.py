"""Columns of numbers: bins inside public bounds, or a short list of values, and special values with codes of their own.

A special value is a number that stands for something else, or that many rows share: 999 for "never", 0 for "no income".
In a bin it would be smeared over its neighbours. Its code comes after those of the bins.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, Strict

from sfumato.schema.bins import PointBins, RealBins, TickBins
from sfumato.schema.column_base import ColumnBase
from sfumato.schema.dtypes import decimal_problems, range_problems
from sfumato.schema.fields import Bins, Outside, Real, Whole, bound_problems, decimal_of, repetition
from sfumato.schema.reading import Written


class Numeric(ColumnBase):
    """What columns of numbers share."""

    min: Any
    max: Any
    bins: Bins | None
    edges: Any
    cuts: Any
    values: Any
    special: Any
    outside: Outside
    written: Written | None = None

    def holds(self, text: str) -> bool:
        """Whether `text` is a value of the declared domain."""
        number = decimal_of(text)
        if number is None:
            return False
        if any(number == _exact(one) for one in self.special):
            return True
        if self.values is not None:
            return any(number == _exact(one) for one in self.values)
        return bool(self.min <= number <= self.max)

    def inside(self, number: float) -> bool:
        """Whether a number lies in the bounds, or is a special value."""
        return self.min <= number <= self.max or number in self.special

    def binning(self) -> TickBins | RealBins | PointBins:
        """The bins of this column, without special values."""
        raise NotImplementedError

    def bin_problems(self) -> Iterator[str]:
        """What is wrong with values and special values, where bounds and bins are right."""
        yield from repetition("special", [str(one) for one in self.special])
        if self.values is not None:
            yield from self._value_problems()
        if self.special and not self._bins_outlast_special():
            yield (
                "key 'special' holds all numbers of some bin, so a code would stand for nothing; remove those that "
                "have a code of their own already, or give wider bins"
            )

    def _value_problems(self) -> Iterator[str]:
        if self.bins is not None or self.edges is not None:
            yield "key 'values' lists all numbers; remove 'bins' and 'edges'"
        if list(self.values) != sorted(set(self.values)):
            yield "key 'values' must grow"
        elif (self.min, self.max) != (self.values[0], self.values[-1]):
            yield f"key 'values' goes from {self.values[0]} to {self.values[-1]}; 'min' and 'max' must be these two"
        for one in self.special:
            if one in self.values:
                yield f"keys 'values' and 'special' both hold {one}; give it to one of them"

    def _bins_outlast_special(self) -> bool:
        """Whether each bin holds a number that is not special."""
        bins = self.binning()
        if isinstance(bins, PointBins):
            return True
        ticks = bins.ticks if isinstance(bins, RealBins) and bins.decimals is not None else bins
        if isinstance(ticks, RealBins):
            return len(ticks) > 1 or ticks.edges[0] < ticks.edges[1]
        scale = 1 if isinstance(bins, TickBins) else 10 ** (bins.decimals or 0)
        whole = np.array([round(_exact(one) * scale) for one in self.special if self.min <= one <= self.max], np.int64)
        taken = np.bincount(ticks.code(whole), minlength=len(ticks))
        return bool((taken < np.diff(ticks.starts)).all())


class Integer(Numeric):
    """A column of whole numbers inside public bounds."""

    type: Literal["integer"]
    min: Whole
    max: Whole
    bins: Bins | None = None
    edges: Annotated[tuple[Whole, ...], Field(min_length=2)] | None = None
    cuts: tuple[Whole, ...] = ()
    values: Annotated[tuple[Whole, ...], Field(min_length=1)] | None = None
    special: tuple[Whole, ...] = ()
    outside: Outside = "refuse"

    def binning(self) -> TickBins | PointBins:
        """The bins of this column; one more begins at each of the `cuts`."""
        if self.values is not None:
            return PointBins(np.array(self.values, dtype=np.int64))
        if self.edges is not None:
            return TickBins.between(self.edges).cut(self.cuts)
        values = self.max - self.min + 1
        return TickBins.equal(self.min, self.max, self.bins or (values if values <= 128 else 32)).cut(self.cuts)

    def problems(self) -> Iterator[str]:
        """What is wrong with this declaration."""
        yield from bound_problems(self.min, self.max, self.bins, self.edges, self.cuts)
        values = self.max - self.min + 1
        if self.bins is not None and self.bins > values:
            yield f"key 'bins' is {self.bins}, but min to max are {values} whole numbers; give fewer bins"
        yield from self.bin_problems()
        yield from range_problems(
            self.dtype, min(self.min, *self.special, self.max), max(self.max, *self.special, self.min)
        )
        yield from super().problems()


class Number(Numeric):
    """A column of real numbers inside public bounds."""

    type: Literal["number"]
    min: Real
    max: Real
    bins: Bins | None = None
    edges: Annotated[tuple[Real, ...], Field(min_length=2)] | None = None
    cuts: tuple[Real, ...] = ()
    values: Annotated[tuple[Real, ...], Field(min_length=1)] | None = None
    special: tuple[Real, ...] = ()
    decimals: Annotated[int, Strict(), Field(ge=0, le=15)] | None = None
    outside: Outside = "refuse"

    def binning(self) -> RealBins | PointBins:
        """The bins of this column; one more begins at each of the `cuts`."""
        if self.values is not None:
            return PointBins(np.array(self.values, dtype=np.float64))
        return self._real_bins().cut(self.cuts)

    def _real_bins(self) -> RealBins:
        if self.edges is not None:
            return RealBins(np.array(self.edges), self.decimals)
        if self.bins is not None:
            return RealBins.equal(self.min, self.max, self.bins, self.decimals)
        count = 32
        if self.decimals is not None:
            count = min(count, round((Fraction(self.max) - Fraction(self.min)) * 10**self.decimals) + 1)
        default = RealBins.equal(self.min, self.max, count, self.decimals)
        # Between bounds that are next to each other there are not even 32 floats.
        return RealBins.equal(self.min, self.max, 1, self.decimals) if default.empty else default

    def problems(self) -> Iterator[str]:
        """What is wrong with this declaration."""
        yield from bound_problems(self.min, self.max, self.bins, self.edges, self.cuts)
        if self.decimals is not None:
            yield from self._decimal_problems(self.decimals)
        if self.binning().empty:
            key = "bins" if self.edges is None else "edges"
            yield f"key {key!r} leaves a bin without any number that could be drawn; give fewer or wider bins"
        yield from self.bin_problems()
        low, high = min(self.min, *self.special, self.max), max(self.max, *self.special, self.min)
        yield from decimal_problems(self.dtype, self.decimals, low, high)
        yield from super().problems()

    def _decimal_problems(self, decimals: int) -> Iterator[str]:
        numbers = [("min", self.min), ("max", self.max), *(("special", one) for one in self.special)]
        for key, number in [*numbers, *(("values", one) for one in self.values or ())]:
            ticks = _exact(number) * 10**decimals
            if ticks.denominator != 1:
                yield f"key {key!r} is {number}, which has more than {decimals} decimals; round it"
            if abs(ticks) > 2**53:
                yield f"key 'decimals' is {decimals}, too fine for {key} {number}; give fewer"


def _exact(number: float) -> Fraction:
    """A number as a person writes it."""
    return Fraction(repr(number))
