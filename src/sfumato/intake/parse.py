"""From an Arrow column, text or typed, to plain numbers with marks for missing and unreadable ones.

What is found for a value depends on that value and on the schema alone: never on other values, and not on the type
either, where the same value may come in several. Nothing here refuses, and nothing quotes a value: Arrow's own errors
do, so they are never passed on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.schema.columns import Date, Datetime, Integer, Number
from sfumato.schema.fields import NUMBER, decimal_of
from sfumato.schema.periods import DAY, seconds_of
from sfumato.schema.spelling import spelled_decimal, spelled_float
from sfumato.tables.raw import is_number, is_text

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_BEYOND = 2**63 - 1
_FAR = 10**12
"""Seconds that lie outside all bounds, yet near enough to count months."""
_UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_ZONE = r"[0-9]:[0-9]{2}.*(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"
_INFINITE = r"[+-]?(?i:inf|infinity)"


@dataclass(frozen=True, eq=False)
class Values:
    """Numbers of a column, and which of them are missing or unreadable; the number at such a place has no meaning."""

    numbers: NDArray[Any]
    missing: Mask
    unreadable: Mask


Parsed = tuple[NDArray[Any], Mask]
"""Numbers, and which of them could be read."""


def read_integers(values: pa.Array, column: Integer) -> Values:
    """Whole numbers; anything beyond 64 bits becomes a number outside all bounds."""
    kind = values.type
    if is_text(kind) or pa.types.is_decimal(kind):
        return _read_texts(values.cast(pa.large_string()), column, _integers_of_text, np.int64)
    if pa.types.is_integer(kind):
        numbers = _filled(values)
        if numbers.dtype == np.uint64:
            numbers = np.minimum(numbers, np.uint64(_BEYOND))
        return _without_tokens(numbers.astype(np.int64), _nulls(values), None, column)
    if pa.types.is_floating(kind):
        floats, missing = _floats(values)
        whole = floats == np.floor(floats)
        numbers = np.clip(np.where(whole, floats, 0), -(2.0**62) * 1.5, 2.0**62 * 1.5).astype(np.int64)
        return _without_tokens(numbers, missing, ~whole, column)
    return strangers(values)


def read_numbers(values: pa.Array, column: Number) -> Values:
    """Real numbers as floats; what is too large for a float becomes infinite, which is outside all bounds."""
    kind = values.type
    if is_text(kind) or pa.types.is_decimal(kind):
        return _read_texts(values.cast(pa.large_string()), column, _floats_of_text, np.float64)
    if is_number(kind):
        return _without_tokens(*_floats(values), None, column)
    return strangers(values)


def read_seconds(values: pa.Array, column: Date | Datetime) -> Values:
    """Moments as seconds since 1970-01-01, those with a time zone in UTC; a number is read as its text."""
    kind = values.type
    if pa.types.is_date32(kind):
        seconds = _filled(values.cast(pa.int32())).astype(np.int64) * DAY
    elif pa.types.is_date64(kind):
        seconds = _filled(values.cast(pa.int64())) // _UNITS["ms"]
    elif pa.types.is_timestamp(kind):
        seconds = _filled(values.cast(pa.int64())) // _UNITS[kind.unit]
    elif is_text(kind) or is_number(kind) or pa.types.is_decimal(kind):
        parse = _seconds_of_format if column.formats else _seconds_of_iso
        texts = values if is_text(kind) else pa.array(spelled(values), pa.large_string())
        return _read_texts(texts, column, parse, np.int64)
    elif pa.types.is_time(kind) and column.formats:
        # A time of day is the moment of 1900-01-01 that its format reads: strptime puts it on that day.
        midnight = seconds_of(date(1900, 1, 1))
        seconds = midnight + _filled(values.cast(pa.time64("us")).cast(pa.int64())) // _UNITS["us"]
    else:
        return strangers(values)
    return _without_tokens(np.clip(seconds, -_FAR, _FAR), _nulls(values), None, column)


def spelled(values: pa.Array) -> list[str | None]:
    """Numbers as `spelling` writes them, and None where they are missing."""
    if pa.types.is_decimal(values.type):
        return [None if value is None else spelled_decimal(value) for value in values.to_pylist()]
    if pa.types.is_floating(values.type):
        return [None if value is None or value != value else spelled_float(value) for value in values.to_pylist()]
    texts: list[str | None] = values.cast(pa.large_string()).to_pylist()
    return texts


def strangers(values: pa.Array) -> Values:
    """Values of a type that cannot be read as the declared one: each is missing or unreadable."""
    missing = _nulls(values)
    return Values(np.zeros(len(values), dtype=np.int64), missing, ~missing)


def _read_texts(
    texts: pa.Array, column: Any, parse: Callable[[pa.Array, Any], Parsed], kind: type[np.generic]
) -> Values:
    """Parse the texts that are not null tokens; a token counts with and without surrounding blanks."""
    trimmed = pc.utf8_trim_whitespace(texts)
    tokens = pa.array(column.null_values, texts.type)
    is_token = pc.or_(pc.is_in(texts, value_set=tokens), pc.is_in(trimmed, value_set=tokens))
    missing = _nulls(texts) | is_token.to_numpy(zero_copy_only=False)
    numbers: NDArray[Any] = np.zeros(len(texts), dtype=kind)
    readable = np.ones(len(texts), dtype=np.bool_)
    numbers[~missing], readable[~missing] = parse(trimmed.filter(pa.array(~missing)), column)
    return _without_tokens(numbers, missing, ~readable, column)


def _integers_of_text(texts: pa.Array, column: Integer) -> Parsed:
    simple = _matches(texts, "[+-]?[0-9]{1,18}")
    readable = simple.copy()
    numbers = np.zeros(len(texts), dtype=np.int64)
    unsigned = pc.utf8_ltrim(texts.filter(pa.array(simple)), "+")
    numbers[simple] = unsigned.cast(pa.int64()).to_numpy(zero_copy_only=False)
    infinite = _matches(texts, _INFINITE)
    for position in np.flatnonzero(~simple):
        text = texts[position].as_py()
        number = decimal_of("1e99" if infinite[position] else text)
        if number is None or number != number.to_integral_value():
            continue
        # An exponent may make a number too large to write out: look at its size first. That of zero says nothing.
        size = 0 if not number else _BEYOND if number.adjusted() > 18 else min(_BEYOND, abs(int(number)))
        numbers[position] = -size if text.startswith("-") else size
        readable[position] = True
    return numbers, readable


def _floats_of_text(texts: pa.Array, column: Number) -> Parsed:
    readable = _matches(texts, f"{NUMBER}|{_INFINITE}")
    floats: Floats = np.zeros(len(texts))
    read = pc.utf8_ltrim(texts.filter(pa.array(readable)), "+").cast(pa.float64())
    floats[readable] = read.to_numpy(zero_copy_only=False)
    return floats, readable


def _seconds_of_iso(texts: pa.Array, column: Date | Datetime) -> Parsed:
    # The finest granularity is a second: a fraction is cut off, which rounds down.
    texts = pc.replace_substring_regex(texts, r"(:[0-9]{2}:[0-9]{2})[.,][0-9]+", r"\1")
    zoned = pc.match_substring_regex(texts, _ZONE)
    dated = pc.match_substring_regex(texts, "^[0-9]{4}-[0-9]{2}-[0-9]{2}")
    seconds, readable = np.zeros(len(texts), dtype=np.int64), np.zeros(len(texts), dtype=np.bool_)
    for mask, zone in ((pc.and_(dated, zoned), "UTC"), (pc.and_not(dated, zoned), None)):
        moments = _cast_each(texts.filter(mask), pa.timestamp("s", zone))
        places = mask.to_numpy(zero_copy_only=False)
        readable[places] = ~_nulls(moments)
        seconds[places] = _filled(moments.cast(pa.int64()))
    return np.clip(seconds, -_FAR, _FAR), readable


def _cast_each(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """A cast of each text by itself: those that cannot be cast become null. Halving finds them."""
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        pass
    if len(texts) == 1:
        return pa.nulls(1, kind)
    half = len(texts) // 2
    return pa.concat_arrays([_cast_each(texts[:half], kind), _cast_each(texts[half:], kind)])


def _seconds_of_format(texts: pa.Array, column: Date | Datetime) -> Parsed:
    seconds, readable = np.zeros(len(texts), dtype=np.int64), np.ones(len(texts), dtype=np.bool_)
    for position, text in enumerate(texts.to_pylist()):
        try:
            seconds[position] = seconds_of(column.read(text))
        except ValueError:
            readable[position] = False
    return seconds, readable


def _matches(texts: pa.Array, pattern: str) -> Mask:
    mask: Mask = pc.match_substring_regex(texts, f"^({pattern})$").to_numpy(zero_copy_only=False)
    return mask


def _floats(values: pa.Array) -> tuple[Floats, Mask]:
    """Typed numbers as floats; NaN counts as missing."""
    missing = _nulls(values)
    floats: Floats = _filled(values.cast(pa.float64(), safe=False))
    missing = missing | np.isnan(floats)
    return np.where(missing, 0.0, floats), missing


def _nulls(values: pa.Array) -> Mask:
    mask: Mask = values.is_null().to_numpy(zero_copy_only=False)
    return mask


def _filled(values: pa.Array) -> NDArray[Any]:
    filled = values.fill_null(0) if values.null_count else values
    numbers: NDArray[Any] = filled.to_numpy(zero_copy_only=False)
    return numbers


def _without_tokens(
    numbers: NDArray[Any], missing: Mask, unreadable: Mask | None, column: Integer | Number | Date | Datetime
) -> Values:
    """Mark null tokens that are numbers, such as -1: they mean the same in text and typed columns."""
    unreadable = np.zeros(len(numbers), dtype=np.bool_) if unreadable is None else unreadable
    tokens = token_numbers(column)
    if tokens:
        missing = missing | (np.isin(numbers, tokens) & ~unreadable)
    return Values(numbers, missing, unreadable & ~missing)


def token_numbers(column: Integer | Number | Date | Datetime) -> list[float]:
    """The numbers that a column's null tokens stand for."""
    return [number for token in column.null_values if (number := _token_number(token, column)) is not None]


def _token_number(token: str, column: Integer | Number | Date | Datetime) -> float | None:
    if isinstance(column, Date | Datetime):
        try:
            return seconds_of(column.read(token))
        except ValueError:
            return None
    number = decimal_of(token)
    if number is None or isinstance(column, Number):
        return None if number is None else float(number)
    return int(number) if abs(number) < _BEYOND and number == number.to_integral_value() else None
