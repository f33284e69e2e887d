"""The kinds of column that a person may declare: one small frozen class for each.

A column knows its public domain and nothing else. `problems` says what is wrong with a declaration; `binning`
gives the bins of an ordered column.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, Strict

from sfumato.schema.bins import RealBins, TickBins
from sfumato.schema.column_base import ColumnBase
from sfumato.schema.dtypes import decimal_problems, label_problems, moment_problems, range_problems, truth_problems
from sfumato.schema.fields import (
    Bins,
    Day,
    Flag,
    Moment,
    Outside,
    Real,
    Text,
    Whole,
    bound_problems,
    decimal_of,
    repetition,
)
from sfumato.schema.periods import DateGranularity, Granularity, moment_of, period_of, seconds_of, start_of


class Categorical(ColumnBase):
    """A column whose possible values are known and public."""

    type: Literal["categorical"]
    categories: Annotated[tuple[Text, ...], Field(min_length=1)]
    ordered: Flag = False
    other: Text | None = None

    @property
    def is_ordered(self) -> bool:
        """Whether neighbouring codes of this column are alike."""
        return self.ordered

    @property
    def labels(self) -> tuple[str, ...]:
        """The value of each code: the categories, then `other` if it is not one of them."""
        if self.other is None or self.other in self.categories:
            return self.categories
        return (*self.categories, self.other)

    def holds(self, text: str) -> bool:
        """Whether `text` is a value of the declared domain."""
        return text in self.labels

    def problems(self) -> Iterator[str]:
        """What is wrong with this declaration."""
        yield from repetition("categories", self.categories)
        yield from label_problems(self.dtype, self.labels)
        yield from super().problems()


class Boolean(ColumnBase):
    """A column of true and false; code 0 is false."""

    type: Literal["boolean"]
    true_values: Annotated[tuple[Text, ...], Field(min_length=1)] = ("true", "True", "TRUE")
    false_values: Annotated[tuple[Text, ...], Field(min_length=1)] = ("false", "False", "FALSE")

    @property
    def is_ordered(self) -> bool:
        """Two values have no order worth the name."""
        return False

    def holds(self, text: str) -> bool:
        """Whether `text` is a value of the declared domain."""
        return text in self.true_values or text in self.false_values

    def problems(self) -> Iterator[str]:
        """What is wrong with this declaration."""
        yield from repetition("true_values", self.true_values)
        yield from repetition("false_values", self.false_values)
        for text in self.true_values:
            if text in self.false_values:
                yield f"keys 'true_values' and 'false_values' both hold {text!r}; give it to one of them"
        yield from truth_problems(self.dtype, self.true_values, self.false_values)
        yield from super().problems()


class Integer(ColumnBase):
    """A column of whole numbers inside public bounds."""

    type: Literal["integer"]
    min: Whole
    max: Whole
    bins: Bins | None = None
    edges: Annotated[tuple[Whole, ...], Field(min_length=2)] | None = None
    cuts: tuple[Whole, ...] = ()
    outside: Outside = "refuse"

    def holds(self, text: str) -> bool:
        """Whether `text` is a value of the declared domain."""
        number = decimal_of(text)
        return number is not None and self.min <= number <= self.max

    def binning(self) -> TickBins:
        """The bins of this column; one more begins at each of the `cuts`."""
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
        yield from range_problems(self.dtype, self.min, self.max)
        yield from super().problems()


class Number(ColumnBase):
    """A column of real numbers inside public bounds."""

    type: Literal["number"]
    min: Real
    max: Real
    bins: Bins | None = None
    edges: Annotated[tuple[Real, ...], Field(min_length=2)] | None = None
    cuts: tuple[Real, ...] = ()
    decimals: Annotated[int, Strict(), Field(ge=0, le=15)] | None = None
    outside: Outside = "refuse"

    def holds(self, text: str) -> bool:
        """Whether `text` is a value of the declared domain."""
        number = decimal_of(text)
        return number is not None and self.min <= number <= self.max

    def binning(self) -> RealBins:
        """The bins of this column; one more begins at each of the `cuts`."""
        return self._bins().cut(self.cuts)

    def _bins(self) -> RealBins:
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
            for key, bound in (("min", self.min), ("max", self.max)):
                ticks = Fraction(repr(bound)) * 10**self.decimals
                if ticks.denominator != 1:
                    yield f"key {key!r} is {bound}, which has more than {self.decimals} decimals; round it"
                if abs(ticks) > 2**53:
                    yield f"key 'decimals' is {self.decimals}, too fine for {key} {bound}; give fewer"
        if self.binning().empty:
            key = "bins" if self.edges is None else "edges"
            yield f"key {key!r} leaves a bin without any number that could be drawn; give fewer or wider bins"
        yield from decimal_problems(self.dtype, self.decimals, self.min, self.max)
        yield from super().problems()


class _Dated(ColumnBase):
    """What dates and datetimes share: bounds, and the bins of the periods between them."""

    min: Any
    max: Any
    granularity: Any
    edges: Any
    cuts: tuple[Any, ...]
    bins: Bins | None
    outside: Outside
    format: Text | None

    def period(self, moment: date) -> int:
        """The period in which a moment lies."""
        return int(period_of(np.array([seconds_of(moment)]), self.granularity)[0])

    def read(self, text: str) -> datetime:
        """The moment that `text` stands for; a ValueError if it stands for none."""
        text = text.strip()
        moment = datetime.strptime(text, self.format) if self.format else datetime.fromisoformat(text)
        if moment.tzinfo is None:
            return moment
        try:
            return moment.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:  # a zone may lead out of the years 1 to 9999
            raise ValueError("no moment of the calendar") from None

    def holds(self, text: str) -> bool:
        """Whether `text` is a value of the declared domain."""
        try:
            period = self.period(self.read(text))
        except ValueError:
            return False
        return self.period(self.min) <= period <= self.period(self.max)

    def binning(self) -> TickBins:
        """The bins of the periods of this column; one more begins at each of the `cuts`."""
        cuts = [self.period(cut) for cut in self.cuts]
        if self.edges is not None:
            return TickBins.between([self.period(edge) for edge in self.edges]).cut(cuts)
        first, last = self.period(self.min), self.period(self.max)
        periods = last - first + 1
        return TickBins.equal(first, last, self.bins or (periods if periods <= 128 else 64)).cut(cuts)

    def problems(self) -> Iterator[str]:
        """What is wrong with this declaration."""
        yield from bound_problems(self.min, self.max, self.bins, self.edges, self.cuts)
        if self.binning().empty:
            key = "bins" if self.edges is None else "edges"
            yield f"key {key!r} leaves a bin without any {self.granularity}; give fewer or wider bins"
        if self.format is not None and not self._format_is_faithful():
            yield (
                f"key 'format' is {self.format!r}, which does not tell every {self.granularity} from min to "
                "max apart; give a format that can be read back"
            )
        yield from moment_problems(self.dtype, self.min, self.max)
        yield from super().problems()

    def _format_is_faithful(self) -> bool:
        """Whether the first and last two periods survive being written and read; stands for all of them."""
        first, last = self.period(self.min), self.period(self.max)
        periods = np.array([first, min(first + 1, last), max(last - 1, first), last])
        starts = np.maximum(start_of(periods, self.granularity), seconds_of(self.min))
        try:
            back = [self.read(moment_of(int(start)).strftime(str(self.format))) for start in starts]
        except ValueError:
            return False
        return bool([self.period(moment) for moment in back] == periods.tolist())


class Date(_Dated):
    """A column of days inside public bounds, known to a granularity."""

    type: Literal["date"]
    min: Day
    max: Day
    granularity: DateGranularity = "day"
    bins: Bins | None = None
    edges: Annotated[tuple[Day, ...], Field(min_length=2)] | None = None
    cuts: tuple[Day, ...] = ()
    outside: Outside = "refuse"
    format: Text | None = None


class Datetime(_Dated):
    """A column of moments inside public bounds, known to a granularity; time zones are converted to UTC."""

    type: Literal["datetime"]
    min: Moment
    max: Moment
    granularity: Granularity = "day"
    bins: Bins | None = None
    edges: Annotated[tuple[Moment, ...], Field(min_length=2)] | None = None
    cuts: tuple[Moment, ...] = ()
    outside: Outside = "refuse"
    format: Text | None = None


Column = Annotated[Categorical | Boolean | Integer | Number | Date | Datetime, Field(discriminator="type")]


def size_of(column: Column) -> int:
    """The number of codes of a column, without that for missing."""
    match column:
        case Categorical():
            return len(column.labels)
        case Boolean():
            return 2
        case _:
            return len(column.binning())
