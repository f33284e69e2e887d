"""Parts as data: frozen dataclasses of plain values become JSON, and come back by the names of known classes.

A release stores the recipe that made it in this form. Nothing is imported by a name that a file gives: a class is
known because the package, or the person who wrote it, has put it into `Parts`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

from sfumato.errors import MethodError

PART, FRACTION = "part", "fraction"


@dataclass(frozen=True)
class UnknownPart:
    """A part of a class that is not known here: it can be shown and stored again, but not run."""

    name: str
    data: str

    def __call__(self, *inputs: Any) -> Any:
        """Refuse to run."""
        raise MethodError(
            f"this release was made with a part named {self.name!r}, which is not known here; import the code that "
            "defines it and pass its class to sfumato.recipes.register first"
        )


def to_data(value: Any) -> Any:
    """A part as JSON: its class, and those of its fields that it can be built from again."""
    if isinstance(value, UnknownPart):
        return json.loads(value.data)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Fraction):
        return {FRACTION: str(value)}
    if isinstance(value, tuple | list):
        return [to_data(one) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {
            PART: type(value).__name__,
            **{one.name: to_data(getattr(value, one.name)) for one in fields(value) if one.init},
        }
    raise MethodError(
        f"a part has a field of type {type(value).__name__}; a part is a frozen dataclass of numbers, texts, "
        "fractions, tuples and other parts"
    )


def from_data(data: Any, known: Mapping[str, type]) -> Any:
    """Read a part back; one of an unknown class is an `UnknownPart`."""
    if isinstance(data, list):
        return tuple(from_data(one, known) for one in data)
    if not isinstance(data, dict):
        return data
    try:
        if set(data) == {FRACTION}:
            return Fraction(data[FRACTION])
        name = data[PART]
        if type(name) is not str:
            raise TypeError
        values = {key: from_data(value, known) for key, value in data.items() if key != PART}
    except (KeyError, ValueError, TypeError, ZeroDivisionError):
        raise MethodError("a part of a recipe cannot be read; wanted the keys that Sfumato writes") from None
    if name not in known:
        return UnknownPart(name, json.dumps(data))
    try:
        return known[name](**{key: _fitting(known[name], key, value) for key, value in values.items()})
    except TypeError:
        raise MethodError(
            f"part {name!r} has other fields than the version here knows; use the version that wrote it"
        ) from None


def _fitting(part: type, name: str, value: Any) -> Any:
    """A value for a field, of the type that its default has; anything else may come from a damaged or forged file."""
    usual = next((one.default for one in fields(part) if one.name == name), MISSING)
    if isinstance(usual, float) and type(value) is int:
        return float(value)
    if isinstance(usual, bool | int | float | str) and type(value) is not type(usual):
        raise TypeError
    return value
