"""Conditions: which values of one column a rule means, as values, as codes, and as edges of bins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from math import isfinite
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, model_serializer, model_validator

from sfumato.schema.axes import first_values
from sfumato.schema.columns import Boolean, Categorical, Column, Date, Datetime, Integer, Number, size_of
from sfumato.schema.fields import Name, complaint
from sfumato.schema.periods import seconds_of

Value = str | bool | int | float | None
"""A value as a schema file writes it: a text, a number, true or false, or null for a missing value."""

Mask = NDArray[np.bool_]

_BOUNDS = {"min": "at least", "above": "above", "max": "at most", "below": "below"}
_LOWER, _UPPER = ("min", "above"), ("max", "below")


class Allowed(BaseModel):
    """Which values of a column are meant: a list of them, all but a list of them, or a range.

    `min` and `max` belong to the range, `above` and `below` do not. A missing value is meant only where a list holds
    null, or where a list after `not` does not.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    values: tuple[Any, ...] = ()
    excluded: tuple[Any, ...] = Field(default=(), alias="not")
    min: Any = None
    max: Any = None
    above: Any = None
    below: Any = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, keys: Any) -> Any:
        if isinstance(keys, cls):
            return keys
        if isinstance(keys, list | tuple) and keys:
            return {"values": tuple(map(read_value, keys))}
        if isinstance(keys, Mapping) and set(keys) == {"not"} and isinstance(keys["not"], list | tuple) and keys["not"]:
            return {"not": tuple(map(read_value, keys["not"]))}
        if isinstance(keys, Mapping) and keys and set(keys) <= set(_BOUNDS):
            bounds = {key: read_value(bound) for key, bound in keys.items()}
            if None not in bounds.values() and not any(set(pair) <= set(keys) for pair in (_LOWER, _UPPER)):
                return bounds
        raise complaint(
            "give a list of values such as ['yes', 'no'], all but some such as {'not': ['no']}, or a range such as "
            "{'min': 1, 'max': 9}, with 'above' and 'below' for bounds that do not belong to it"
        )

    @model_serializer
    def _write(self) -> Any:
        if self.values:
            return list(self.values)
        return {"not": list(self.excluded)} if self.excluded else self.bounds

    @property
    def bounds(self) -> dict[str, Any]:
        """The bounds of a range that are given, by their keys."""
        return {key: bound for key in _BOUNDS if (bound := getattr(self, key)) is not None}

    def __str__(self) -> str:
        if self.values:
            return "is " + _spoken(self.values)
        if self.excluded:
            return "is not " + _spoken(self.excluded)
        return "is " + " and ".join(f"{_BOUNDS[key]} {bound}" for key, bound in self.bounds.items())

    def holds(self, column: Column, places: NDArray[Any], missing: Mask) -> Mask:
        """For each place in the order of a column, whether its value is meant."""
        if listed := self.values or self.excluded:
            meant = np.array([place(column, value) for value in listed if value is not None])
            found = np.where(missing, None in listed, np.isin(places, meant))
            return found if self.values else ~found
        inside = ~missing & _in_bounds(column, places)
        tests = {"min": np.greater_equal, "above": np.greater, "max": np.less_equal, "below": np.less}
        for key, bound in self.bounds.items():
            inside = inside & tests[key](places, np.asarray(place(column, bound)))
        return inside

    def codes(self, column: Column) -> Mask:
        """For each code of a column, with that for missing, whether it is meant; bins must have the edges of `cuts`."""
        missing = np.arange(size_of(column) + column.nullable) == size_of(column)
        special = column.special if isinstance(column, Integer | Number) else ()
        places = np.concatenate([first_values(column), special, [0] if column.nullable else []])
        return self.holds(column, places, missing)

    def cuts(self, column: Integer | Number | Date | Datetime) -> Iterator[float]:
        """The places where a bin must begin for no bin to be half meant: the least values after each change."""
        listed = [place(column, value) for value in (*self.values, *self.excluded) if value is not None]
        bounds = {key: place(column, bound) for key, bound in self.bounds.items()}
        yield from (where for where in [*listed, bounds.get("min"), bounds.get("below")] if where is not None)
        for where in [*listed, bounds.get("max"), bounds.get("above")]:
            if where is not None:
                yield np.nextafter(where, np.inf) if isinstance(column, Number) else where + 1

    def problems(self, column: Column) -> Iterator[str]:
        """What is wrong with this condition for a column."""
        about = f"column {column.name!r}"
        for value in (*self.values, *self.excluded):
            if value is None and not column.nullable:
                yield f"{about}: null is given, but no value may be missing; set nullable to true, or remove it"
            elif value is not None and place(column, value) is None:
                yield f"{about}: {value!r} is not a value of its domain; give values that the column declares"
            elif value is not None and isinstance(column, Number) and not _is_drawn(column, value):
                yield f"{about} has real numbers, of which a single one is never drawn; give a range, or 'decimals'"
        if self.bounds and not column.is_ordered:
            yield f"{about} has no order, so bounds mean nothing; give a list of values"
            return
        places = {key: place(column, bound) for key, bound in self.bounds.items()}
        for key, where in places.items():
            if where is None:
                problem = f"{self.bounds[key]!r} is not a value of its domain"
                yield f"{about}: {problem}; give a bound inside the declared domain"
                return
        if len(places) == 2:
            (low_key, low), (high_key, high) = places.items()
            strict = {low_key, high_key} != {"min", "max"}
            if high < low or (strict and high == low):  # type: ignore[operator]  # none is None by now
                yield (
                    f"{about}: {high_key} {self.bounds[high_key]!r} lies below {low_key} {self.bounds[low_key]!r}; "
                    f"give {high_key} {'>' if strict else '>='} {low_key}"
                )


Condition = Annotated[
    Allowed,
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "minItems": 1, "items": {"type": ["string", "number", "boolean", "null"]}},
                {
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": False,
                    "properties": {
                        "not": {
                            "type": "array",
                            "minItems": 1,
                            "items": {"type": ["string", "number", "boolean", "null"]},
                        },
                        **{key: {"type": ["string", "number"]} for key in _BOUNDS},
                    },
                },
            ]
        }
    ),
]
Conditions = Annotated[dict[Name, Condition], Field(min_length=1)]


def _in_bounds(column: Column, places: NDArray[Any]) -> Mask:
    """Where a place is a number of the bounds; a special value outside stands for something that is no number."""
    if not isinstance(column, Integer | Number):
        return np.ones(len(places), dtype=np.bool_)
    return np.asarray((places >= column.min) & (places <= column.max))


def place(column: Column, value: Value) -> int | float | None:
    """Where a value lies in the order of its column: a rank, a number, or seconds; None if it is not in the domain."""
    match column:
        case Categorical():
            return column.labels.index(value) if isinstance(value, str) and value in column.labels else None
        case Boolean():
            if isinstance(value, str):
                value = True if value in column.true_values else False if value in column.false_values else None
            return int(value) if isinstance(value, bool) else None
        case Integer() | Number():
            if isinstance(value, bool) or not isinstance(value, int | float) or not column.inside(value):
                return None
            return value if isinstance(column, Number) or value == int(value) else None
        case Date() | Datetime():
            moment = _moment(value)
            inside = moment is not None and seconds_of(column.min) <= moment <= seconds_of(column.max)
            return moment if inside else None


def _is_drawn(column: Number, value: Any) -> bool:
    """Whether single numbers of a column are drawn, this one among them."""
    return column.decimals is not None or value in column.special or column.values is not None


def read_value(value: Any) -> Value:
    """A value of a rule as JSON writes it."""
    if isinstance(value, date):  # YAML reads a date without quotes as a date
        return value.isoformat()
    if value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and isfinite(value)):
        return value
    raise complaint("a value of a rule is a text, a finite number, true, false or null; give one of these")


def spoken(conditions: Mapping[str, Allowed]) -> str:
    """Conditions as part of a sentence."""
    return " and ".join(f"{name} {condition}" for name, condition in conditions.items())


def _spoken(values: tuple[Any, ...]) -> str:
    return " or ".join("missing" if value is None else str(value) for value in values)


def _moment(value: Value) -> int | None:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    if moment is None:
        return None
    return seconds_of(moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment)
