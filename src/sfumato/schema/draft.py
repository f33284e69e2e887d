"""Drafting a schema by looking at the data: a start for a person, marked column by column as observed.

Whatever a draft says about a column may reveal persons. So each column says `domain_from: observed` and notes
what was taken from the data; a person replaces it by what is publicly known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any

from sfumato.schema.fields import LARGEST, NUMBER
from sfumato.schema.schema import Schema

if TYPE_CHECKING:  # a draft asks an Arrow table for its distinct values and needs nothing else of Arrow
    import pyarrow as pa

_BLANKS = ("", "?")
_WORDS_FOR_MISSING = ("NA", "N/A", "NaN", "nan", "null", "NULL", "None", "none", "-")
_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_FIXED_POINT = re.compile(r"-?(0|[1-9][0-9]{0,11})(\.[0-9]{1,6})?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(_DAY.pattern + r"[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2})?")
_TRUTH = {"true", "false"}, {"True", "False"}, {"TRUE", "FALSE"}

Keys = dict[str, Any]


def draft(table: pa.Table, name: str) -> Schema:
    """Guess the kind and the domain of every column from the data; equal tables give equal drafts."""
    columns = [_column(column_name, table.column(column_name)) for column_name in table.column_names]
    return Schema.parse({"name": name, "columns": columns})


def _column(name: str, values: pa.ChunkedArray) -> Keys:
    kind = str(values.type)
    if kind.startswith("dictionary"):
        values = values.cast(values.type.value_type)
        kind = str(values.type)
    nullable = values.null_count > 0
    if kind.startswith("timestamp"):
        # Python has no nanoseconds, and moments with a time zone count in UTC.
        values = values.cast(kind.split(",")[0].rstrip("]") + "]").cast("timestamp[us]", safe=False)
    distinct = [value for value in values.unique().to_pylist() if value is not None]
    if any(value != value for value in distinct):
        nullable, distinct = True, [value for value in distinct if value == value]
    if distinct and isinstance(distinct[0], str):
        keys, tokens = _of_texts(distinct)
    else:
        keys, tokens = _of_values(distinct), []
    return _declaration(name, keys, nullable, tokens)


def _declaration(name: str, keys: Keys, nullable: bool, tokens: Sequence[str]) -> Keys:
    """All keys of a column, with a note of what was taken from the data."""
    taken = [word for key, word in _TAKEN.items() if key in keys]
    declared: Keys = {"name": name, **keys}
    if nullable or tokens:
        declared |= {"nullable": True, "null_values": list(tokens) or [""]}
    taken.append("whether values are missing")
    if len(tokens) > 0:
        taken.append("the texts of missing values")
    note = f"taken from the data: {', '.join(taken)}"
    return declared | {"domain_from": "observed", "note": keys.get("note", note)}


_TAKEN = {
    "categories": "categories",
    "min": "min and max",
    "decimals": "decimals",
    "granularity": "granularity",
    "true_values": "the words for true and false",
}


def _of_texts(texts: list[str]) -> tuple[Keys, list[str]]:
    """The keys of a text column, and the texts in it that stand for a missing value."""
    blanks = sorted({text for text in texts if text.strip() in _BLANKS})
    texts = [text for text in texts if text.strip() not in _BLANKS]
    # NA may be a region or a name: among numbers and dates it means missing, among words it is one of them.
    words = sorted(text for text in texts if text.strip() in _WORDS_FOR_MISSING)
    present = [text for text in texts if text.strip() not in _WORDS_FOR_MISSING]
    keys = _of_plain_texts([text.strip() for text in present]) if present else None
    if keys is not None:
        return keys, [*blanks, *words]
    for spelling in _TRUTH:
        if texts and set(texts) <= spelling:
            true, false = sorted(spelling, key=str.lower, reverse=True)
            return {"type": "boolean", "true_values": [true], "false_values": [false]}, blanks
    return _categorical(texts), blanks


def _of_plain_texts(texts: list[str]) -> Keys | None:
    """The keys of texts that are all numbers or all dates; None if they are neither."""
    if all(_PLAIN_INTEGER.fullmatch(text) for text in texts):
        return _integer([int(text) for text in texts])
    if all(_FIXED_POINT.fullmatch(text) for text in texts):
        decimals = max(len(text.partition(".")[2]) for text in texts)
        return _number([float(text) for text in texts], decimals)
    # 00123 is an identifier, not a number.
    if all(re.fullmatch(NUMBER, text) and not re.match(r"[+-]?0[0-9]", text) for text in texts):
        numbers = [float(text) for text in texts]
        return _number(numbers, None) if all(map(isfinite, numbers)) else None
    try:
        if all(_DAY.fullmatch(text) for text in texts):
            return _moments([date.fromisoformat(text) for text in texts])
        if all(_MOMENT.fullmatch(text) for text in texts):
            return _moments([datetime.fromisoformat(text) for text in texts])
    except ValueError:
        return None
    return None


def _of_values(values: list[Any]) -> Keys:
    """The keys of a typed column."""
    if not values:
        return _categorical([])
    first = values[0]
    if isinstance(first, float):
        values = [value for value in values if isfinite(value)]
        if not values:
            return _categorical([])
    if isinstance(first, bool):
        return {"type": "boolean"}
    if isinstance(first, int):
        return _integer(values)
    if isinstance(first, float) and all(value.is_integer() and abs(value) < 2**53 for value in values):
        return _integer([int(value) for value in values])
    if isinstance(first, float | Decimal):
        return _number([float(value) for value in values], _decimals(values))
    if isinstance(first, date):
        return _moments(values)
    return _categorical([str(value) for value in values])


def _decimals(values: list[Any]) -> int | None:
    """The number of decimals that all values have at most, if that is few."""
    texts = [format(value, "f") if isinstance(value, Decimal) else repr(value) for value in values]
    if not all(_FIXED_POINT.fullmatch(text) for text in texts):
        return None
    return max(len(text.partition(".")[2].rstrip("0")) for text in texts)


def _integer(values: list[int]) -> Keys:
    low, high = min(values), max(values)
    if low >= -LARGEST and high <= LARGEST:
        return {"type": "integer", "min": low, "max": high}
    return _categorical([str(value) for value in values])


def _number(values: list[float], decimals: int | None) -> Keys:
    keys: Keys = {"type": "number", "min": min(values), "max": max(values)}
    if decimals is None or max(map(abs, values)) * 10**decimals > 2**53:
        return keys
    return keys | {"decimals": decimals}


def _moments(values: list[Any]) -> Keys:
    if not isinstance(values[0], datetime):
        return {"type": "date", "min": min(values).isoformat(), "max": max(values).isoformat()}
    values = [value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value for value in values]
    finest = "day"
    for unit in ("hour", "minute", "second"):
        finest = unit if any(getattr(value, unit) for value in values) else finest
    low, high = (bound.replace(microsecond=0).isoformat() for bound in (min(values), max(values)))
    return {"type": "datetime", "min": low, "max": high, "granularity": finest}


def _categorical(texts: list[str]) -> Keys:
    if texts:
        return {"type": "categorical", "categories": sorted(texts)}
    note = "taken from the data: that no value is present; declare the type and the domain"
    return {"type": "categorical", "categories": ["unknown"], "note": note}
