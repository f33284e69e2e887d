"""Values as text, the way the schema writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.schema.columns import Boolean, Column, Date, Datetime, Number


def either(condition: Any, chosen: Any, other: Any) -> Any:
    """`pc.if_else` for text: `chosen` where the condition holds, else `other`; each may be a scalar.

    Before PyArrow 24, `if_else` of a scalar and a slice of a text array has offsets that point out of its buffers.
    Two arrays are right in every version, so a scalar is repeated.
    """
    arms = (
        pa.repeat(values, len(condition)) if isinstance(values, pa.Scalar) else values for values in (chosen, other)
    )
    return pc.if_else(condition, *arms)


def as_text(array: pa.Array, column: Column) -> pa.Array:
    """A decoded column as text: fixed decimals, the declared words for true and false, dates in their format.

    Missing values stay null.
    """
    if isinstance(column, Boolean):
        words = (column.true_values[0], column.false_values[0])
        return pc.if_else(array, *(pa.scalar(word, pa.large_string()) for word in words))
    if isinstance(column, Number) and column.decimals is not None:
        return _fixed_point(array, column.decimals)
    if isinstance(column, Date | Datetime) and column.formats:
        return _formatted(array, column.formats[0])
    return array.cast(pa.large_string())


def _fixed_point(array: pa.Array, decimals: int) -> pa.Array:
    """Numbers with exactly `decimals` digits after the point; they are multiples of 10^-decimals already."""
    numbers = array.fill_null(0.0).to_numpy(zero_copy_only=False)
    ticks = np.rint(numbers * 10.0**decimals).astype(np.int64)
    whole, part = np.divmod(np.abs(ticks), 10**decimals)
    text = _strings(whole)
    if decimals:
        digits = pc.ascii_lpad(_strings(part), decimals, "0")
        text = pc.binary_join_element_wise(text, digits, pa.scalar(".", pa.large_string()))
    sign = pc.if_else(pa.array(ticks < 0), *(pa.scalar(one, pa.large_string()) for one in ("-", "")))
    text = pc.binary_join_element_wise(sign, text, pa.scalar("", pa.large_string()))
    return either(array.is_valid(), text, pa.scalar(None, pa.large_string()))


def _strings(integers: NDArray[np.int64]) -> pa.Array:
    return pa.array(integers).cast(pa.large_string())


def _formatted(array: pa.Array, form: str) -> pa.Array:
    # Few moments differ from each other: each is written once.
    encoded = array.dictionary_encode()
    written = [moment.strftime(form) for moment in encoded.dictionary.to_pylist()]
    return pa.array(written, pa.large_string()).take(encoded.indices)
