"""The types of the keys of a schema, and checks that several declarations share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, Strict, WithJsonSchema
from pydantic_core import PydanticCustomError

NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
"""The text of a finite number, as a regular expression."""

LARGEST = 2**62
"""Integer bounds lie between -LARGEST and LARGEST, so no arithmetic on 64 bits can overflow."""


def complaint(problem: str) -> PydanticCustomError:
    """An error that carries our own words through pydantic unchanged."""
    return PydanticCustomError("problem", "{problem}", {"problem": problem})


def _iso_date(value: object) -> date:
    try:
        if isinstance(value, str):
            return date.fromisoformat(value)
        if isinstance(value, date) and not isinstance(value, datetime):
            return value
    except ValueError:
        pass
    raise complaint("give an ISO date such as 2024-12-31")


def _iso_datetime(value: object) -> datetime:
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
    except ValueError:
        pass
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime) or value.microsecond:
        raise complaint("give an ISO date and time in whole seconds such as 2024-12-31T23:59:59")
    return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value


Text = Annotated[str, Strict()]
Name = Annotated[str, Strict(), Field(min_length=1)]
Flag = Annotated[bool, Strict()]
Whole = Annotated[int, Strict(), Field(ge=-LARGEST, le=LARGEST)]
Real = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Day = Annotated[date, BeforeValidator(_iso_date)]
# JSON Schema's date-time insists on a time zone; ours has none.
Moment = Annotated[datetime, BeforeValidator(_iso_datetime), WithJsonSchema({"type": "string"})]
Bins = Annotated[int, Strict(), Field(ge=1, le=1_000_000)]
Outside = Literal["refuse", "clip"]


class DomainSource(StrEnum):
    """Where a column's domain comes from. All but `observed` were known before anybody looked at the rows."""

    DECLARED = "declared"
    CODEBOOK = "codebook"
    KNOWN = "known"
    OBSERVED = "observed"


def _source(value: Any) -> Any:
    """The first word decides, however it is written: a remark may follow it, as in "observed, rounded outward"."""
    return re.split(r"[^a-z]", value.strip().lower(), maxsplit=1)[0] if isinstance(value, str) else value


DomainFrom = Annotated[DomainSource, BeforeValidator(_source)]
BadValue = Literal["missing", "other", "clip", "refuse"]
"""What becomes of a value that the schema does not allow: see `bad_values`."""


def decimal_of(text: str) -> Decimal | None:
    """The finite number that `text` stands for, exactly; None if it stands for none."""
    text = text.strip()
    try:
        return Decimal(text) if re.fullmatch(NUMBER, text) else None
    except InvalidOperation:  # an exponent of more than eighteen digits
        return None


def repetition(key: str, texts: Sequence[str]) -> Iterator[str]:
    """A problem if a list of texts holds one of them twice."""
    if len(set(texts)) < len(texts):
        twice, _ = Counter(texts).most_common(1)[0]
        yield f"key {key!r} holds {twice!r} twice; each value may occur once"


def bound_problems(
    low: Any, high: Any, bins: int | None, edges: Sequence[Any] | None, cuts: Sequence[Any]
) -> Iterator[str]:
    """Problems of min, max, bins, edges and cuts that all ordered kinds share."""
    if high < low:
        yield f"key 'max' is {high}, below 'min' {low}; give max >= min"
    for cut in cuts:
        if not low <= cut <= high:
            yield f"key 'cuts' holds {cut}, outside 'min' {low} and 'max' {high}; give places between them"
    if edges is None:
        return
    if bins is not None:
        yield "keys 'bins' and 'edges' are both given; give one of them"
    for left, right in pairwise(edges):
        if right <= left:
            yield f"key 'edges' goes from {left} to {right}; give edges that grow"
    if edges[0] != low:
        yield f"key 'edges' starts at {edges[0]}, but 'min' is {low}; the first edge must be min"
    if edges[-1] != high:
        yield f"key 'edges' ends at {edges[-1]}, but 'max' is {high}; the last edge must be max"
