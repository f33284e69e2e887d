"""Rules: public statements about a row, such as "who is under 16 has never married".

A rule says something of the columns that every real row obeys by its nature; it is declared, never read from rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from math import isfinite
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, model_serializer, model_validator

from sfumato.schema.columns import Boolean, Categorical, Column, Date, Datetime, Integer, Number
from sfumato.schema.fields import Name, complaint
from sfumato.schema.periods import seconds_of

Value = str | bool | int | float | None
"""A value as a schema file writes it: a text, a number, true or false, or null for a missing value."""

_KEYS = ("if", "then", "less_or_equal")
_FORMS = ((True, True, False), (False, False, True))


class Allowed(BaseModel):
    """Which values of a column are meant: a list of them, or all from `min` to `max`.

    A missing value is meant only where the list holds null.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    values: tuple[Any, ...] = ()
    min: Any = None
    max: Any = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, keys: Any) -> Any:
        if isinstance(keys, cls):
            return keys
        if isinstance(keys, list | tuple) and keys:
            return {"values": tuple(map(_value, keys))}
        if isinstance(keys, Mapping) and keys and set(keys) <= {"min", "max"}:
            bounds = {key: _value(bound) for key, bound in keys.items()}
            if None not in bounds.values():
                return bounds
        raise complaint("give a list of values such as ['yes', 'no'], or a range such as {'min': 1, 'max': 9}")

    @model_serializer
    def _write(self) -> Any:
        if self.values:
            return list(self.values)
        return {key: bound for key in ("min", "max") if (bound := getattr(self, key)) is not None}

    def __str__(self) -> str:
        if self.values:
            return "is " + " or ".join("missing" if value is None else str(value) for value in self.values)
        parts = [] if self.min is None else [f"at least {self.min}"]
        return "is " + " and ".join(parts if self.max is None else [*parts, f"at most {self.max}"])


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
                    "properties": {key: {"type": ["string", "number"]} for key in ("min", "max")},
                },
            ]
        }
    ),
]
Conditions = dict[Name, Condition]


class Rule(BaseModel):
    """One of two statements: if some columns have such values then others have those; or one column is <= another.

    >>> rule = Rule.model_validate({"if": {"age": {"max": 15}}, "then": {"status": ["single"]}})
    >>> print(rule)
    if age is at most 15, then status is single
    >>> print(Rule.model_validate({"less_or_equal": ["admitted", "discharged"]}))
    admitted <= discharged
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    if_: Conditions | None = Field(default=None, alias="if")
    then: Conditions | None = None
    less_or_equal: Annotated[tuple[Name, ...], Field(min_length=2, max_length=2)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _refuse_other_keys(cls, keys: Any) -> Any:
        if isinstance(keys, cls):
            return keys
        if not isinstance(keys, Mapping) or set(keys) not in ({"if", "then"}, {"less_or_equal"}):
            raise complaint("a rule has the keys 'if' and 'then', or the key 'less_or_equal'; give one of the two")
        return keys

    @model_validator(mode="after")
    def _refuse_halves(self) -> Self:
        if (bool(self.if_), bool(self.then), bool(self.less_or_equal)) not in _FORMS:
            raise complaint("a key of the rule has no value; give 'if' and 'then', or 'less_or_equal'")
        return self

    @model_serializer
    def _write(self) -> dict[str, Any]:
        pairs = zip(_KEYS, (self.if_, self.then, self.less_or_equal), strict=True)
        return {
            key: list(held)
            if isinstance(held, tuple)
            else {name: condition.model_dump(mode="json") for name, condition in held.items()}
            for key, held in pairs
            if held is not None
        }

    def __str__(self) -> str:
        if self.less_or_equal is not None:
            return " <= ".join(self.less_or_equal)
        if_, then = (
            " and ".join(f"{name} {condition}" for name, condition in (conditions or {}).items())
            for conditions in (self.if_, self.then)
        )
        return f"if {if_}, then {then}"

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the rule speaks of."""
        return tuple(dict.fromkeys([*(self.if_ or ()), *(self.then or ()), *(self.less_or_equal or ())]))

    def problems(self, columns: Sequence[Column]) -> Iterator[str]:
        """What is wrong with this rule for these columns; a problem may rely on those before it being absent."""
        by_name = {column.name: column for column in columns}
        for name in self.names:
            if name not in by_name:
                yield f"column {name!r} is not in the schema; it has {', '.join(by_name)}"
                return
        for conditions in (self.if_, self.then):
            for name, condition in (conditions or {}).items():
                yield from _condition_problems(by_name[name], condition)
        if self.less_or_equal is not None:
            yield from _order_problems(*(by_name[name] for name in self.less_or_equal))


def rule_problems(rules: Sequence[Rule], columns: Sequence[Column]) -> Iterator[str]:
    """What is wrong with these rules for these columns, in words for the person who wrote the schema."""
    for number, rule in enumerate(rules, 1):
        for problem in rule.problems(columns):
            yield f"rule number {number}: {problem}"


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
            if isinstance(value, bool) or not isinstance(value, int | float) or not column.min <= value <= column.max:
                return None
            return value if isinstance(column, Number) or value == int(value) else None
        case Date() | Datetime():
            moment = _moment(value)
            inside = moment is not None and seconds_of(column.min) <= moment <= seconds_of(column.max)
            return moment if inside else None


def _moment(value: Value) -> int | None:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    if moment is None:
        return None
    return seconds_of(moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment)


def _value(value: Any) -> Value:
    if isinstance(value, date):  # YAML reads a date without quotes as a date
        return value.isoformat()
    if value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and isfinite(value)):
        return value
    raise complaint("a value of a rule is a text, a finite number, true, false or null; give one of these")


def _condition_problems(column: Column, condition: Allowed) -> Iterator[str]:
    about = f"column {column.name!r}"
    for value in condition.values:
        if value is None and not column.nullable:
            yield f"{about}: null is given, but no value may be missing; set nullable to true, or remove it"
        elif value is not None and place(column, value) is None:
            yield f"{about}: {value!r} is not a value of its domain; give values that the column declares"
    bounds = [bound for bound in (condition.min, condition.max) if bound is not None]
    if bounds and not column.is_ordered:
        yield f"{about} has no order, so that min and max mean nothing; give a list of values"
        return
    places = [place(column, bound) for bound in bounds]
    for bound, where in zip(bounds, places, strict=True):
        if where is None:
            yield f"{about}: {bound!r} is not a value of its domain; give a bound inside the declared domain"
            return
    if len(places) == 2 and places != sorted(places, key=float):  # type: ignore[arg-type]  # none is None by now
        yield f"{about}: max {condition.max!r} lies below min {condition.min!r}; give max >= min"


def _order_problems(one: Column, two: Column) -> Iterator[str]:
    if one.name == two.name:
        yield f"column {one.name!r} is compared with itself; give two columns"
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
