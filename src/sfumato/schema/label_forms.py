"""The forms of a rule that speak of values one by one: conditions, combinations and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from sfumato.schema.allowed import Allowed, Conditions, Mask, read_value, spoken
from sfumato.schema.columns import Boolean, Categorical, size_of
from sfumato.schema.fields import Name, complaint
from sfumato.schema.rule_forms import Cells, Columns, Form, Names, Rows


class IfThen(Form):
    """If some columns have such values, others have those; without `if`, always."""

    if_: Conditions | None = Field(default=None, alias="if")
    then: Conditions

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of both parts."""
        return tuple(dict.fromkeys(name for name, _ in self.conditions))

    @property
    def conditions(self) -> Sequence[tuple[str, Allowed]]:
        """The conditions of both parts."""
        return (*(self.if_ or {}).items(), *self.then.items())

    def cells(self, columns: Columns) -> Iterator[Cells]:
        """One table for each column after "then"."""
        for name, condition in self.then.items():
            names = tuple(dict.fromkeys([*(self.if_ or ()), name]))
            applies = [_along(names, columns, one, wanted) for one, wanted in (self.if_ or {}).items()]
            given = reduce(np.logical_and, applies, np.ones((1,) * len(names), dtype=np.bool_))
            yield names, np.broadcast_to(~given | _along(names, columns, name, condition), _shape(names, columns))

    def broken(self, rows: Rows) -> Mask:
        """Where everything after "if" holds and something after "then" does not."""
        applies, obeyed = (
            np.logical_and.reduce([rows[name].holds(wanted) for name, wanted in part.items()]) if part else np.True_
            for part in (self.if_, self.then)
        )
        return np.asarray(applies & ~obeyed)

    def __str__(self) -> str:
        return f"if {spoken(self.if_)}, then {spoken(self.then)}" if self.if_ else f"always {spoken(self.then)}"


class MissingIff(Form):
    """A column is missing in the rows that the conditions mean, and in no others."""

    missing: Name
    iff: Conditions

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the conditions, and the one that is missing."""
        return (*self.iff, self.missing)

    @property
    def conditions(self) -> Sequence[tuple[str, Allowed]]:
        """The conditions."""
        return tuple(self.iff.items())

    def problems(self, columns: Columns) -> Iterator[str]:
        """A column may not decide about itself, and must be nullable."""
        if self.missing in self.iff:
            yield f"column {self.missing!r} decides about itself; give other columns after 'iff'"
        yield from _not_nullable(self.names[-1:], columns)
        yield from super().problems(columns)

    def cells(self, columns: Columns) -> Iterator[Cells]:
        """One table over all columns."""
        names = self.names
        given = reduce(np.logical_and, [_along(names, columns, name, one) for name, one in self.iff.items()])
        absent = _along(names, columns, self.missing, Allowed.model_validate([None]))
        yield names, np.broadcast_to(given == absent, _shape(names, columns))

    def broken(self, rows: Rows) -> Mask:
        """Where the conditions and the missing value disagree."""
        given = np.logical_and.reduce([rows[name].holds(one) for name, one in self.iff.items()])
        return np.asarray(given != rows[self.missing].missing)

    def __str__(self) -> str:
        return f"{self.missing} is missing if and only if {spoken(self.iff)}"


class MissingTogether(Form):
    """All of these columns are missing, or none is."""

    missing_together: Names

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.missing_together

    def problems(self, columns: Columns) -> Iterator[str]:
        """All must be nullable, and different."""
        yield from _repeated(self.names)
        yield from _not_nullable(self.names, columns)

    def cells(self, columns: Columns) -> Iterator[Cells]:
        """One table for each neighbouring pair."""
        for pair in pairwise(self.names):
            one, two = (_along(pair, columns, name, Allowed.model_validate([None])) for name in pair)
            yield pair, np.broadcast_to(one == two, _shape(pair, columns))

    def broken(self, rows: Rows) -> Mask:
        """Where some are missing and some are not."""
        absent = np.array([rows[name].missing for name in self.names])
        return np.asarray(absent.any(axis=0) & ~absent.all(axis=0))

    def __str__(self) -> str:
        return f"{_listed(self.names)} are missing together"


class ExactlyOne(Form):
    """Of some true or false columns, one is true."""

    exactly_one: Names

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.exactly_one

    def problems(self, columns: Columns) -> Iterator[str]:
        """All must be true or false, and different."""
        yield from _repeated(self.names)
        for name in self.names:
            if not isinstance(columns[name], Boolean):
                yield f"column {name!r} is {columns[name].type}; 'exactly_one' needs boolean columns"

    def cells(self, columns: Columns) -> Iterator[Cells]:
        """One table over all columns."""
        true = [_along(self.names, columns, name, Allowed.model_validate([True])) for name in self.names]
        yield self.names, sum((one.astype(np.int64) for one in true), np.zeros((), np.int64)) == 1

    def broken(self, rows: Rows) -> Mask:
        """Where none is true, or several are."""
        true = [rows[name].holds(Allowed.model_validate([True])) for name in self.names]
        return np.asarray(np.sum(true, axis=0) != 1)

    def __str__(self) -> str:
        return f"exactly one of {_listed(self.names)} is true"


class Combinations(Form):
    """Combinations of values that alone are allowed, or that are forbidden."""

    allowed: Names | None = None
    forbidden: Names | None = None
    rows: Annotated[tuple[tuple[Any, ...], ...], Field(min_length=1)]

    @field_validator("rows", mode="before")
    @classmethod
    def _read(cls, rows: Any) -> Any:
        if isinstance(rows, list | tuple) and all(isinstance(row, list | tuple) for row in rows):
            return tuple(tuple(map(read_value, row)) for row in rows)
        raise complaint("give a list of combinations, each a list of one value for each column")

    @model_validator(mode="after")
    def _refuse_lengths(self) -> Self:
        if any(len(row) != len(self.names) for row in self.rows):
            raise complaint(f"a combination needs one value for each of the {len(self.names)} columns; complete it")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.allowed or self.forbidden or ()

    @property
    def conditions(self) -> Sequence[tuple[str, Allowed]]:
        """For each column, the values that occur."""
        return [
            (name, Allowed.model_validate(list(dict.fromkeys(values))))
            for name, values in zip(self.names, zip(*self.rows, strict=True), strict=True)
        ]

    def problems(self, columns: Columns) -> Iterator[str]:
        """Columns must be different."""
        yield from _repeated(self.names)
        yield from super().problems(columns)

    def cells(self, columns: Columns) -> Iterator[Cells]:
        """One table over all columns."""
        found = np.zeros(_shape(self.names, columns), dtype=np.bool_)
        for row in self.rows:
            codes = [
                Allowed.model_validate([value]).codes(columns[name])
                for name, value in zip(self.names, row, strict=True)
            ]
            found[np.ix_(*codes)] = True
        yield self.names, found if self.allowed else ~found

    def broken(self, rows: Rows) -> Mask:
        """Where the combination is not among those allowed, or is forbidden."""
        found = np.logical_or.reduce(
            [
                np.logical_and.reduce(
                    [
                        rows[name].holds(Allowed.model_validate([value]))
                        for name, value in zip(self.names, row, strict=True)
                    ]
                )
                for row in self.rows
            ]
        )
        return np.asarray(~found if self.allowed else found)

    def __str__(self) -> str:
        verb = "are one of" if self.allowed else "are none of"
        return f"{_listed(self.names)} {verb} {len(self.rows)} combinations"


class Determines(Form):
    """A functional dependency with its table: the value of the first column decides that of the second."""

    determines: Annotated[Names, Field(max_length=2)]
    values: Annotated[dict[str, Any], Field(min_length=1)]

    @field_validator("values", mode="before")
    @classmethod
    def _read(cls, values: Any) -> Any:
        return {key: read_value(value) for key, value in values.items()} if isinstance(values, Mapping) else values

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.determines

    @property
    def conditions(self) -> Sequence[tuple[str, Allowed]]:
        """The values of both columns."""
        one, two = self.names
        return (
            (one, Allowed.model_validate(list(self.values))),
            (two, Allowed.model_validate(list(self.values.values()))),
        )

    def problems(self, columns: Columns) -> Iterator[str]:
        """Every value of the first column needs one of the second, which is another column."""
        yield from _repeated(self.names)
        first = columns[self.names[0]]
        if not isinstance(first, Categorical):
            yield f"column {first.name!r} is {first.type}; 'determines' starts from a categorical column"
            return
        yield from super().problems(columns)
        for label in first.labels:
            if label not in self.values:
                yield f"column {first.name!r}: 'values' lacks {label!r}; give what every value decides"

    def cells(self, columns: Columns) -> Iterator[Cells]:
        """One table; what is missing decides nothing."""
        one, two = (columns[name] for name in self.names)
        allowed = np.ones(_shape(self.names, columns), dtype=np.bool_)
        for label, value in self.values.items():
            code = Allowed.model_validate([label]).codes(one)
            allowed[code] = Allowed.model_validate([value]).codes(two)
        yield self.names, allowed

    def broken(self, rows: Rows) -> Mask:
        """Where the second value is not the one that the first decides."""
        one, two = (rows[name] for name in self.names)
        wrong = [
            one.holds(Allowed.model_validate([label])) & ~two.holds(Allowed.model_validate([value]))
            for label, value in self.values.items()
        ]
        return np.asarray(np.logical_or.reduce(wrong))

    def __str__(self) -> str:
        return f"{self.names[0]} determines {self.names[1]}"


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _shape(names: Sequence[str], columns: Columns) -> tuple[int, ...]:
    return tuple(size_of(columns[name]) + columns[name].nullable for name in names)


def _along(names: Sequence[str], columns: Columns, name: str, condition: Allowed) -> Mask:
    """The codes of one column that are meant, as an axis of a table over `names`."""
    mask = condition.codes(columns[name])
    return mask.reshape([len(mask) if one == name else 1 for one in names])


def _repeated(names: Sequence[str]) -> Iterator[str]:
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            yield f"column {name!r} occurs twice in the rule; give different columns"


def _not_nullable(names: Sequence[str], columns: Columns) -> Iterator[str]:
    for name in names:
        if not columns[name].nullable:
            yield f"column {name!r} is never missing; set nullable to true, or remove it from the rule"
