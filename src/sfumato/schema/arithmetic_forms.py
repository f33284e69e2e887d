"""The forms of a rule that compare and add values: orders, differences, sums and increments."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, Strict, model_validator

from sfumato.schema.allowed import Mask
from sfumato.schema.axes import scale_of
from sfumato.schema.columns import Categorical, Column, Date, Datetime, Integer, Number
from sfumato.schema.fields import Name, complaint
from sfumato.schema.periods import DAY
from sfumato.schema.relations import FAR, Difference, Relation, Sum
from sfumato.schema.rule_forms import Columns, Form, Names, Rows

UNITS = {"seconds": 1, "minutes": 60, "hours": 3_600, "days": DAY, "weeks": 7 * DAY}
Figure = Annotated[int, Strict()] | Annotated[float, Strict(), Field(allow_inf_nan=False)]
LARGEST = 1 << 60
"""Sums and differences of values, in their common unit, stay below this."""


class Order(Form):
    """Each column is at most, below, or equal to the next, where both are there."""

    less_or_equal: Names | None = None
    less: Names | None = None
    equal: Names | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, from left to right."""
        return self.less_or_equal or self.less or self.equal or ()

    def problems(self, columns: Columns) -> Iterator[str]:
        """All must be of one kind that has an order."""
        if len(set(self.names)) < len(self.names):
            yield f"column {max(self.names, key=self.names.count)!r} is compared with itself; give different columns"
        for one, two in pairwise(self.names):
            yield from _order_problems(columns[one], columns[two])
        yield from _size_problems(self.names, columns)

    def relations(self, columns: Columns, scale: int) -> Iterator[Relation]:
        """The difference of each two neighbours."""
        low, high = (0, 0) if self.equal else (1, FAR) if self.less else (0, FAR)
        for one, two in pairwise(self.names):
            yield Difference(one, two, low, high)

    def broken(self, rows: Rows) -> Mask:
        """Where both values of a neighbouring pair are there and in the wrong order."""
        test = np.not_equal if self.equal else np.greater_equal if self.less else np.greater
        pairs = [(rows[one], rows[two]) for one, two in pairwise(self.names)]
        return np.asarray(np.logical_or.reduce([~a.missing & ~b.missing & test(a.places, b.places) for a, b in pairs]))

    def __str__(self) -> str:
        return (" = " if self.equal else " < " if self.less else " <= ").join(self.names)


class Gap(Form):
    """The second column minus the first one lies from `min` to `max`; for dates in `unit`."""

    difference: Annotated[Names, Field(max_length=2)]
    min: Figure | None = None
    max: Figure | None = None
    unit: Literal["seconds", "minutes", "hours", "days", "weeks"] | None = None

    @model_validator(mode="after")
    def _refuse_problems(self) -> Self:
        if self.min is None and self.max is None:
            raise complaint("a difference needs 'min', 'max' or both; give one")
        if self.min is not None and self.max is not None and self.max < self.min:
            raise complaint(f"max {self.max} lies below min {self.min}; give max >= min")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The earlier column and the later one."""
        return self.difference

    def problems(self, columns: Columns) -> Iterator[str]:
        """Both must be numbers, or both dates; only dates have a unit."""
        one, two = (columns[name] for name in self.names)
        if one is two:
            yield f"column {one.name!r} is compared with itself; give two columns"
        dates = [isinstance(column, Date | Datetime) for column in (one, two)]
        numbers = [isinstance(column, Integer | Number) for column in (one, two)]
        if not all(dates) and not all(numbers):
            yield (
                f"columns {one.name!r} ({one.type}) and {two.name!r} ({two.type}) have no difference; "
                "give two numbers or two dates"
            )
            return
        if (self.unit is None) == all(dates):
            yield "'unit' is given for dates and for nothing else; give seconds, minutes, hours, days or weeks"
        for bound in (self.min, self.max):
            if bound is not None and all(numbers) and (Fraction(repr(bound)) * scale_of([one, two])).denominator != 1:
                yield f"bound {bound} has more decimals than the columns; round it"
        yield from _size_problems(self.names, columns)

    def relations(self, columns: Columns, scale: int) -> Iterator[Relation]:
        """The difference."""
        scale = UNITS[self.unit] if self.unit else scale
        low, high = (None if bound is None else Fraction(repr(bound)) * scale for bound in (self.min, self.max))
        least, most = -FAR if low is None else -(-low).__floor__(), FAR if high is None else high.__floor__()
        yield Difference(self.names[0], self.names[1], least, most)

    def broken(self, rows: Rows) -> Mask:
        """Where both are there, and too near or too far from each other."""
        one, two = (rows[name] for name in self.names)
        scale = 1 if self.unit else scale_of([one.column, two.column])
        (tie,) = self.relations({}, scale)
        return ~one.missing & ~two.missing & ~tie.holds({name: _units(rows[name].places, scale) for name in self.names})

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        parts = [] if self.min is None else [f"at least {self.min}{unit}"]
        parts += [] if self.max is None else [f"at most {self.max}{unit}"]
        return f"{self.names[1]} - {self.names[0]} is {' and '.join(parts)}"


class Total(Form):
    """Some columns add up to another one, where all are there."""

    sum: Names
    equals: Name

    @property
    def names(self) -> tuple[str, ...]:
        """The parts and the total."""
        return (*self.sum, self.equals)

    def problems(self, columns: Columns) -> Iterator[str]:
        """All must be numbers, each once."""
        if len(set(self.names)) < len(self.names):
            yield f"column {max(self.names, key=self.names.count)!r} occurs twice in a sum; give different columns"
        for name in self.names:
            if not isinstance(columns[name], Integer | Number):
                yield f"column {name!r} is {columns[name].type}; a sum needs columns of numbers"
                return
        yield from _size_problems(self.names, columns)

    def relations(self, columns: Columns, scale: int) -> Iterator[Relation]:
        """The sum."""
        yield Sum(self.sum, self.equals)

    def broken(self, rows: Rows) -> Mask:
        """Where all values are there and do not add up."""
        scale = scale_of([rows[name].column for name in self.names])
        absent = np.logical_or.reduce([rows[name].missing for name in self.names])
        values = {name: _units(rows[name].places, scale) for name in self.names}
        return np.asarray(~absent & ~Sum(self.sum, self.equals).holds(values))

    def __str__(self) -> str:
        return f"{self.equals} = {' + '.join(self.sum)}"


class Increments(Form):
    """The values of a column go in fixed steps: `start` (0 if not given) plus a multiple of the step."""

    multiple_of: Figure
    column: Name
    start: Figure = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def problems(self, columns: Columns) -> Iterator[str]:
        """It must be a column of numbers, and the step one that its values can have."""
        column = columns[self.column]
        if not isinstance(column, Integer | Number):
            yield f"column {self.column!r} is {column.type}; 'multiple_of' needs a column of numbers"
            return
        if self.multiple_of <= 0:
            yield f"column {self.column!r}: multiple_of is {self.multiple_of}; give a step above 0"
            return
        for key, figure in (("multiple_of", self.multiple_of), ("start", self.start)):
            if (Fraction(repr(figure)) * scale_of([column])).denominator != 1:
                yield f"column {self.column!r}: {key} {figure} has more decimals than the column; round it"
        yield from _size_problems(self.names, columns)

    def increments(self) -> dict[str, tuple[Fraction, Fraction]]:
        """The step and the start."""
        return {self.column: (Fraction(repr(self.multiple_of)), Fraction(repr(self.start)))}

    def broken(self, rows: Rows) -> Mask:
        """Where a value is between two steps."""
        one = rows[self.column]
        scale = scale_of([one.column])
        step, start = (int(Fraction(repr(figure)) * scale) for figure in (self.multiple_of, self.start))
        return np.asarray(~one.missing & ((_units(one.places, scale) - start) % step != 0))

    def __str__(self) -> str:
        start = f" plus {self.start}" if self.start else ""
        return f"{self.column} is a multiple of {self.multiple_of}{start}"


def _units(places: Any, scale: int) -> Any:
    """Values as whole numbers of 1 / scale; what lies between two of these is taken for the nearer one."""
    if places.dtype.kind in "iu":
        return places.astype(np.int64) * scale
    return np.rint(np.clip(places * float(scale), -LARGEST, LARGEST)).astype(np.int64)


def _size_problems(names: tuple[str, ...], columns: Columns) -> Iterator[str]:
    for name in names:
        if getattr(columns[name], "special", ()):
            yield (
                f"column {name!r} has special values, which are no numbers to compare or to add; make them missing "
                "values (null_values), or speak of them in 'if' and 'then'"
            )
    numbers = [column for name in names if isinstance(column := columns[name], Integer | Number)]
    if sum(max(abs(column.min), abs(column.max)) for column in numbers) * scale_of(numbers) >= LARGEST:
        about = f"columns {', '.join(names)}"
        yield f"{about} have values too large to be compared exactly; give narrower bounds or fewer decimals"


def _order_problems(one: Column, two: Column) -> Iterator[str]:
    for column in (one, two):
        if not column.is_ordered:
            yield f"column {column.name!r} has no order; compare ordered columns"
            return
    if isinstance(one, Categorical) and isinstance(two, Categorical):
        if one.labels != two.labels:
            yield f"columns {one.name!r} and {two.name!r} have different categories; compare columns with the same ones"
    elif not any(isinstance(one, kind) and isinstance(two, kind) for kind in (Integer | Number, Date | Datetime)):
        yield (
            f"columns {one.name!r} ({one.type}) and {two.name!r} ({two.type}) are of different kinds; "
            "compare numbers with numbers, dates with dates"
        )
