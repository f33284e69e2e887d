"""The types that a synthetic column may be given: a short list of names, for each kind of column.

Types are public facts. They follow from the kind of a column; whoever wants another type says so by `dtype`. None
is ever taken from the private table, where a single value may have decided it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import Annotated

from pydantic import Field, Strict

from sfumato.schema.spelling import EXACT, is_plain

INTEGERS = {f"int{bits}": 2 ** (bits - 1) for bits in (8, 16, 32, 64)}
"""Types of whole numbers; each holds what is not below minus this number and below it."""

_MOMENTS = ("timestamp[s]", "timestamp[ms]", "timestamp[us]", "timestamp[ns]")
_KNOWN = {
    "categorical": ("string", "category", *INTEGERS),
    "boolean": ("bool", "string", "int8"),
    "integer": (*INTEGERS, "float64", "string"),
    "number": ("float64", "decimal(p,s)", "string"),
    "date": ("date", *_MOMENTS, "string"),
    "datetime": (*_MOMENTS, "string"),
}
_DECIMAL = re.compile(r"decimal\(([0-9]{1,2}),([0-9]{1,2})\)")
_WORDS = sorted({word for words in _KNOWN.values() for word in words if "(" not in word})
_PATTERN = "|".join([*map(re.escape, _WORDS), _DECIMAL.pattern])

DtypeName = Annotated[str, Strict(), Field(json_schema_extra={"pattern": f"^({_PATTERN})$"})]
"""The name of a type; the functions below check it against the column."""


def decimal_digits(dtype: str) -> tuple[int, int] | None:
    """Precision and scale of `decimal(p,s)`; None for other types."""
    match = _DECIMAL.fullmatch(dtype)
    return (int(match[1]), int(match[2])) if match else None


def name_problems(dtype: str | None, kind: str) -> Iterator[str]:
    """A name that is no type of this kind of column."""
    known = _KNOWN[kind]
    if dtype is not None and dtype not in known and not ("decimal(p,s)" in known and decimal_digits(dtype)):
        yield f"key 'dtype' is {dtype!r}; the types of {kind} columns are {', '.join(known)}"


def label_problems(dtype: str | None, labels: Iterable[str]) -> Iterator[str]:
    """Labels that a type of whole numbers does not hold."""
    limit = INTEGERS.get(dtype or "", 0)
    for label in labels if limit else ():
        if not re.fullmatch("-?[0-9]+", label) or not is_plain(label) or not -limit <= int(label) < limit:
            yield f"key 'dtype' is {dtype!r}, which does not hold the category {label!r}; give 'string' or 'category'"
            return


def truth_problems(dtype: str | None, true: Sequence[str], false: Sequence[str]) -> Iterator[str]:
    """Truth values that could not be read back from the numbers 1 and 0."""
    if dtype == "int8" and not ("1" in true and "0" in false):
        yield "key 'dtype' is 'int8', for 1 and 0; add '1' to 'true_values' and '0' to 'false_values'"


def range_problems(dtype: str | None, low: int, high: int) -> Iterator[str]:
    """Bounds of whole numbers that a type does not hold."""
    limit = INTEGERS.get(dtype or "", 0)
    if limit and (low < -limit or high >= limit):
        yield f"key 'dtype' is {dtype!r}, which does not hold {low} to {high}; give a wider one"
    if dtype == "float64" and max(-low, high) > EXACT:
        yield "key 'dtype' is 'float64', which cannot tell whole numbers above 2^53 apart; give 'int64'"


def decimal_problems(dtype: str | None, decimals: int | None, low: float, high: float) -> Iterator[str]:
    """Numbers that a type of decimal numbers does not hold."""
    digits = decimal_digits(dtype or "")
    if digits is None:
        return
    precision, scale = digits
    if not 1 <= precision <= 38 or scale > precision:
        yield f"key 'dtype' is {dtype!r}; give a precision from 1 to 38 and a scale that is not above it"
    elif decimals is None or decimals > scale:
        yield f"key 'dtype' is {dtype!r}; give 'decimals' as well, of at most {scale}"
    elif max(-low, high) >= 10 ** (precision - scale):
        yield f"key 'dtype' is {dtype!r}, which does not hold {low} to {high}; give a higher precision"


def moment_problems(dtype: str | None, low: date, high: date) -> Iterator[str]:
    """Bounds that 64 bits of nanoseconds do not hold."""
    if dtype == "timestamp[ns]" and (low.year < 1678 or high.year > 2261):
        yield "key 'dtype' is 'timestamp[ns]', which holds the years 1678 to 2261; give 'timestamp[us]'"
