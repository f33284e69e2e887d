"""Codes with marks: what the schema alone makes of each value, before it is decided what becomes of bad ones.

A code is not negative. A mark is: it says why a value has no code. Both depend on the value and its column alone.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.intake.parse import Values, read_integers, read_numbers, read_seconds, spelled, strangers
from sfumato.schema.columns import Boolean, Categorical, Column, Date, Datetime, Integer, Number
from sfumato.schema.periods import period_of
from sfumato.tables.raw import MIXED, is_number, is_text

Ints = NDArray[np.int64]

MISSING, UNREADABLE, UNDECLARED, OUTSIDE = -1, -2, -3, -4


def marked_codes(column: Column, values: pa.ChunkedArray, clip: bool) -> Ints:
    """The code or mark of each value of a column; with `clip`, what lies outside the bounds has the code of a bound."""
    if values.type == MIXED:
        return _mixed_codes(column, values.combine_chunks(), clip)
    if not len(values) or pa.types.is_null(values.type):
        return np.full(len(values), MISSING)
    array = values.combine_chunks()
    # Text and labels repeat: each distinct value is read once. Typed numbers are read as they are.
    if is_text(values.type) or isinstance(column, Categorical | Boolean):
        encoded = _dictionary(array)
        if encoded is not None:
            places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            codes: Ints = np.append(_codes(column, encoded.dictionary, clip), MISSING)[places]
            return codes
    return _codes(column, array, clip)


def _mixed_codes(column: Column, values: pa.StructArray, clip: bool) -> Ints:
    """Each value by the field that it stands in."""
    codes = np.full(len(values), MISSING)
    for field in MIXED:
        inside = values.field(field.name)
        present = inside.is_valid()
        if pc.any(present).as_py():
            chosen = pa.chunked_array([inside.filter(present)])
            codes[present.to_numpy(zero_copy_only=False)] = (
                UNREADABLE if field.name == "stranger" else marked_codes(column, chosen, clip)
            )
    return codes


def _dictionary(array: pa.Array) -> pa.DictionaryArray | None:
    """The distinct values of a column and where they stand; None for types that cannot be labels."""
    kind = array.type
    if is_text(kind) or is_number(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind):
        return (array.cast(pa.float32()) if pa.types.is_float16(kind) else array).dictionary_encode()
    return None


def _codes(column: Column, values: pa.Array, clip: bool) -> Ints:
    match column:
        case Categorical() | Boolean():
            return _label_codes(column, values)
        case Integer():
            return _bin_codes(column, read_integers(values, column), column.min, column.max, clip)
        case Number():
            return _bin_codes(column, read_numbers(values, column), column.min, column.max, clip)
    moments = read_seconds(values, column)
    periods = Values(period_of(moments.numbers, column.granularity), moments.missing, moments.unreadable)
    return _bin_codes(column, periods, column.period(column.min), column.period(column.max), clip)


def _label_codes(column: Categorical | Boolean, values: pa.Array) -> Ints:
    kind = values.type
    if isinstance(column, Boolean) and pa.types.is_boolean(kind):
        codes: Ints = values.cast(pa.int64()).fill_null(MISSING).to_numpy(zero_copy_only=False)
        return codes
    if pa.types.is_boolean(kind):
        values = pa.array([_truth_label(value, column) for value in values.to_pylist()], pa.large_string())
    elif is_number(kind) or pa.types.is_decimal(kind):
        values = pa.array(spelled(values), pa.large_string())
    elif not is_text(kind):
        return _marks(strangers(values))
    words = words_of(column)
    found = pc.index_in(values, value_set=pa.array(list(words), values.type), skip_nulls=True)
    places = found.fill_null(-1).to_numpy(zero_copy_only=False)
    codes = np.append(np.array(list(words.values()), dtype=np.int64), UNDECLARED)[places]
    codes[values.is_null().to_numpy(zero_copy_only=False)] = MISSING
    return codes


def words_of(column: Categorical | Boolean) -> dict[str, int]:
    """Each text that stands for a value of a column, or for a missing one, with its code or mark."""
    if isinstance(column, Categorical):
        words = {label: code for code, label in enumerate(column.labels)}
    else:
        words = dict.fromkeys(column.false_values, 0) | dict.fromkeys(column.true_values, 1)
    return words | dict.fromkeys(column.null_values, MISSING)


def _truth_label(value: bool | None, column: Categorical | Boolean) -> str | None:
    """The label that spells a truth value; readers of text make truth values of true, True and TRUE alike."""
    if value is None:
        return None
    spellings = [word for word in words_of(column) if word.lower() == str(value).lower()]
    return spellings[0] if spellings else str(value)


def _bin_codes(column: Integer | Number | Date | Datetime, values: Values, low: float, high: float, clip: bool) -> Ints:
    codes = _marks(values)
    present = codes == 0
    numbers = values.numbers[present]
    bins = column.binning()
    special = column.special if isinstance(column, Integer | Number) else ()
    kept = numbers
    if clip:
        numbers = np.clip(numbers, low, high)
    inside = (numbers >= low) & (numbers <= high)
    found = np.full(len(numbers), OUTSIDE)
    found[inside] = bins.code(numbers[inside])
    found[inside & (found < 0)] = UNDECLARED  # between the numbers of a short list
    for place, one in enumerate(special):
        found[kept == one] = len(bins) + place
    codes[present] = found
    return codes


def _marks(values: Values) -> Ints:
    """The marks of values that are missing or unreadable, and 0 for the others."""
    return np.where(values.missing, MISSING, np.where(values.unreadable, UNREADABLE, 0)).astype(np.int64)
