"""From an Arrow column, text or typed, to plain numbers and missing marks.

No message quotes a value: Arrow's own errors do, so they are never passed on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.columns import Boolean, Categorical, Column, Date, Datetime, Integer, Number
from sfumato.data.fields import NUMBER, decimal_of
from sfumato.data.periods import DAY, seconds_of
from sfumato.errors import DataError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_BEYOND = 2**63 - 1
_UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_ZONE = r"[0-9]:[0-9]{2}.*(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"


@dataclass(frozen=True, eq=False)
class Values:
    """Numbers of a column, and which of them are missing; the number at a missing place has no meaning."""

    numbers: NDArray[Any]
    missing: Mask


def plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same values without dictionary encoding, text as one type, decimals as their exact text."""
    if pa.types.is_dictionary(values.type):
        kind = values.type.value_type
        # Arrow cannot cast every dictionary, but it can always look values up.
        chunks = [
            plain(pa.chunked_array([chunk.dictionary])).combine_chunks().take(chunk.indices) for chunk in values.chunks
        ]
        return pa.chunked_array(chunks) if chunks else plain(pa.chunked_array([], kind))
    if is_text(values.type) or pa.types.is_decimal(values.type):
        return values.cast(pa.large_string())
    return values


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds text."""
    return str(kind) in ("string", "large_string", "string_view")


def read_integers(values: pa.Array, column: Integer) -> Values:
    """Whole numbers; anything beyond 64 bits becomes a number outside all bounds."""
    if is_text(values.type):
        return _read_texts(values, column, _integers_of_text, np.int64)
    missing = _nulls(values)
    if pa.types.is_integer(values.type):
        numbers = _filled(values)
        if numbers.dtype == np.uint64:
            numbers = np.minimum(numbers, np.uint64(_BEYOND))
        return _without_tokens(numbers.astype(np.int64), missing, column)
    if pa.types.is_floating(values.type):
        floats, missing = _floats(values, missing, column)
        whole = np.where(missing, 0.0, floats)
        if (whole != np.floor(whole)).any():
            raise unreadable(column)
        numbers = np.clip(whole, -(2.0**62) * 1.5, 2.0**62 * 1.5).astype(np.int64)
        return _without_tokens(numbers, missing, column)
    raise wrong_type(column, values.type)


def read_numbers(values: pa.Array, column: Number) -> Values:
    """Real numbers as floats; a text too large for a float becomes infinite, which is outside all bounds."""
    if is_text(values.type):
        return _read_texts(values, column, _floats_of_text, np.float64)
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        floats, missing = _floats(values, _nulls(values), column)
        return _without_tokens(floats, missing, column)
    raise wrong_type(column, values.type)


def read_seconds(values: pa.Array, column: Date | Datetime) -> Values:
    """Moments as seconds since 1970-01-01, those with a time zone in UTC."""
    kind = values.type
    if is_text(kind):
        parse = _seconds_of_format if column.format else _seconds_of_iso
        return _read_texts(values, column, parse, np.int64)
    if pa.types.is_date(kind):
        seconds = _filled(values.cast(pa.date32()).cast(pa.int32())).astype(np.int64) * DAY
    elif pa.types.is_timestamp(kind):
        seconds = _filled(values.cast(pa.int64())) // _UNITS[kind.unit]
    else:
        raise wrong_type(column, kind)
    return _without_tokens(seconds, _nulls(values), column)


def read_texts(values: pa.Array, column: Categorical | Boolean, known: frozenset[str]) -> pa.Array:
    """Values as text, null where missing; a typed value takes the spelling that the column knows."""
    kind = values.type
    if pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        spelled = [_spelling(value, known) for value in values.to_pylist()]
        texts = pa.array(spelled, pa.large_string())
    elif is_text(kind) or pa.types.is_integer(kind) or pa.types.is_temporal(kind) or pa.types.is_null(kind):
        texts = values.cast(pa.large_string())
    else:
        raise wrong_type(column, kind)
    if not column.null_values:
        return texts
    tokens = pa.array(column.null_values, pa.large_string())
    return pc.if_else(pc.is_in(texts, value_set=tokens), pa.scalar(None, pa.large_string()), texts)


def unreadable(column: Column) -> DataError:
    """The refusal of a value that is not of the declared type."""
    kinds = {
        "integer": "a whole number",
        "number": "a finite number",
        "date": "a date",
        "datetime": "a moment",
    }
    wanted = kinds.get(column.type, "a declared value")
    if isinstance(column, Date | Datetime):
        wanted += f" in the format {column.format!r}" if column.format else " in ISO form"
    return DataError(
        f"column {column.name!r}: a value is not {wanted}; correct the table, "
        "or declare the text of a missing value in 'null_values'"
    )


def wrong_type(column: Column, kind: pa.DataType) -> DataError:
    """The refusal of an Arrow type that cannot be read as the declared type."""
    return DataError(
        f"column {column.name!r}: the table has Arrow type {kind}, the schema has type {column.type!r}; "
        "convert the column or change its declaration"
    )


def _spelling(value: float | bool | None, known: frozenset[str]) -> str | None:
    if value is None or value != value:
        return None
    if isinstance(value, bool):
        text = str(value).lower()
        return text if text in known else str(value)
    # A column of whole numbers with missing values is often kept as floats: 1.0 means 1.
    return str(int(value)) if repr(value) not in known and value.is_integer() else repr(value)


def _read_texts(
    texts: pa.Array, column: Any, parse: Callable[[pa.Array, Any], NDArray[Any]], kind: type[np.generic]
) -> Values:
    """Parse the texts that are not null tokens; a token counts with and without surrounding blanks."""
    trimmed = pc.utf8_trim_whitespace(texts)
    tokens = pa.array(column.null_values, texts.type)
    is_token = pc.or_(pc.is_in(texts, value_set=tokens), pc.is_in(trimmed, value_set=tokens))
    missing = _nulls(texts) | is_token.to_numpy(zero_copy_only=False)
    numbers: NDArray[Any] = np.zeros(len(texts), dtype=kind)
    numbers[~missing] = parse(trimmed.filter(pa.array(~missing)), column)
    return _without_tokens(numbers, missing, column)


def _integers_of_text(texts: pa.Array, column: Integer) -> Ints:
    simple = pc.match_substring_regex(texts, "^[+-]?[0-9]{1,18}$").to_numpy(zero_copy_only=False)
    numbers = np.zeros(len(texts), dtype=np.int64)
    unsigned = pc.utf8_ltrim(texts.filter(pa.array(simple)), "+")
    numbers[simple] = unsigned.cast(pa.int64()).to_numpy(zero_copy_only=False)
    for position in np.flatnonzero(~simple):
        number = decimal_of(texts[position].as_py())
        if number is None or number != number.to_integral_value():
            raise unreadable(column)
        # An exponent may make a number too large to write out: look at its size first.
        size = _BEYOND if number.adjusted() > 18 else min(_BEYOND, abs(int(number)))
        numbers[position] = -size if number < 0 else size
    return numbers


def _floats_of_text(texts: pa.Array, column: Number) -> Floats:
    if not pc.all(pc.match_substring_regex(texts, f"^({NUMBER})$"), min_count=0).as_py():
        raise unreadable(column)
    floats: Floats = pc.utf8_ltrim(texts, "+").cast(pa.float64()).to_numpy(zero_copy_only=False)
    return floats


def _seconds_of_iso(texts: pa.Array, column: Date | Datetime) -> Ints:
    # The finest granularity is a second: a fraction is cut off, which rounds down.
    texts = pc.replace_substring_regex(texts, r"(:[0-9]{2}:[0-9]{2})[.,][0-9]+", r"\1")
    zoned = pc.match_substring_regex(texts, _ZONE)
    seconds = np.zeros(len(texts), dtype=np.int64)
    for mask, zone in ((zoned, "UTC"), (pc.invert(zoned), None)):
        try:
            moments = texts.filter(mask).cast(pa.timestamp("s", zone))
        except pa.ArrowInvalid:
            raise unreadable(column) from None
        seconds[mask.to_numpy(zero_copy_only=False)] = moments.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return seconds


def _seconds_of_format(texts: pa.Array, column: Date | Datetime) -> Ints:
    try:
        return np.array([seconds_of(column.read(text)) for text in texts.to_pylist()], dtype=np.int64)
    except ValueError:
        raise unreadable(column) from None


def _floats(values: pa.Array, missing: Mask, column: Column) -> tuple[Floats, Mask]:
    """Typed numbers as floats; NaN counts as missing and an infinity is refused."""
    floats = _filled(values.cast(pa.float64(), safe=False))
    missing = missing | np.isnan(floats)
    if np.isinf(floats).any():
        raise unreadable(column)
    return floats, missing


def _nulls(values: pa.Array) -> Mask:
    mask: Mask = values.is_null().to_numpy(zero_copy_only=False)
    return mask


def _filled(values: pa.Array) -> NDArray[Any]:
    filled = values.fill_null(0) if values.null_count else values
    numbers: NDArray[Any] = filled.to_numpy(zero_copy_only=False)
    return numbers


def _without_tokens(numbers: NDArray[Any], missing: Mask, column: Integer | Number | Date | Datetime) -> Values:
    """Mark null tokens that are numbers, such as -1: they mean the same in text and typed columns."""
    tokens = [number for token in column.null_values if (number := _token_number(token, column)) is not None]
    return Values(numbers, missing | np.isin(numbers, tokens) if tokens else missing)


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
