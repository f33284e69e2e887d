"""The kinds of column that a person may declare: one small frozen class for each.

A column knows its public domain and nothing else. `problems` says what is wrong with a declaration; `binning`
gives the bins of an ordered column.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sfumato.schema.bins import TickBins
from sfumato.schema.column_base import ColumnBase
from sfumato.schema.dtypes import label_problems, moment_problems, truth_problems
from sfumato.schema.fields import Bins, Day, Flag, Moment, Outside, Text, bound_problems, repetition
from sfumato.schema.numeric import Integer as Integer
from sfumato.schema.numeric import Number as Number
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


class _Dated(ColumnBase):
    """What dates and datetimes share: bounds, and the bins of the periods between them."""

    min: Any
    max: Any
    granularity: Any
    edges: Any
    cuts: tuple[Any, ...]
    bins: Bins | None
    outside: Outside
    format: Text | tuple[Text, ...] | None

    @property
    def formats(self) -> tuple[str, ...]:
        """How text is read, tried in this order; the first one is written. None of them: ISO."""
        return (self.format,) if isinstance(self.format, str) else self.format or ()

    def period(self, moment: date) -> int:
        """The period in which a moment lies."""
        return int(period_of(np.array([seconds_of(moment)]), self.granularity)[0])

    def read(self, text: str) -> datetime:
        """The moment that `text` stands for; a ValueError if it stands for none."""
        text = text.strip()
        moment = self._parsed(text)
        if moment.tzinfo is None:
            return moment
        try:
            return moment.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:  # a zone may lead out of the years 1 to 9999
            raise ValueError("no moment of the calendar") from None

    def _parsed(self, text: str) -> datetime:
        if not self.formats:
            return datetime.fromisoformat(text)
        for one in self.formats:
            try:
                return datetime.strptime(text, one)
            except ValueError:
                continue
        raise ValueError("no moment in any format")

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
        if self.format is not None and not self.formats:
            yield "key 'format' is an empty list; give formats, or leave it out for ISO"
        if self.formats and not self._format_is_faithful():
            yield (
                f"key 'format' is {self.formats[0]!r}, which does not tell every {self.granularity} from min to "
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
            back = [self.read(moment_of(int(start)).strftime(self.formats[0])) for start in starts]
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
    format: Text | tuple[Text, ...] | None = None


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
    format: Text | tuple[Text, ...] | None = None


Column = Annotated[Categorical | Boolean | Integer | Number | Date | Datetime, Field(discriminator="type")]


def size_of(column: Column) -> int:
    """The number of codes of a column, without that for missing."""
    match column:
        case Categorical():
            return len(column.labels)
        case Boolean():
            return 2
        case Integer() | Number():
            return len(column.binning()) + len(column.special)
        case _:
            return len(column.binning())


def ordered_size(column: Column) -> int:
    """How many of the first codes of a column have an order; special values and missing come after them."""
    if not column.is_ordered:
        return 0
    return size_of(column) - (len(column.special) if isinstance(column, Integer | Number) else 0)


def places_of(column: Column) -> NDArray[np.int64]:
    """Where each code of an ordered column stands in its order; -1 where it stands nowhere.

    A special value inside the bounds is the number that it is. One outside stands for something that is no number, and
    so does the code for missing.
    """
    places = np.arange(ordered_size(column))
    if isinstance(column, Integer | Number):
        bins = column.binning()
        inside = [bins.place(one) if column.min <= one <= column.max else -1 for one in column.special]
        places = np.append(places, np.array(inside, dtype=np.int64))
    return np.append(places, -1) if column.nullable else places
