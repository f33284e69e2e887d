"""The columns of a pandas frame: by their type where that is sure, and value by value where they are objects."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.schema.periods import seconds_of
from sfumato.schema.spelling import spelled_decimal, spelled_float, spelled_integer
from sfumato.tables.raw import MIXED

Cell = tuple[str, Any] | None
"""The field of `MIXED` that a value stands in, and what stands there; None if it is missing."""

_STRANGE: Cell = ("stranger", True)
_NOTHING = ("NAType", "NaTType")
"""The types of what pandas has for missing values, beside None and NaN."""


def pandas_column(series: Any) -> pa.Array:
    """A pandas column in Arrow; what becomes of a value does not depend on the others.

    Integers of NumPy come as floats, since that is what pandas makes of them as soon as one value is missing. Objects
    come as text if all of them are, else each by itself.
    """
    dtype = series.dtype
    if dtype == "category":
        codes = series.cat.codes.to_numpy()
        return pandas_column(dtype.categories.to_series()).take(pa.array(codes, mask=codes < 0))
    if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        return pa.array(series.to_numpy().astype(np.float64), from_pandas=True)
    objects = isinstance(dtype, np.dtype) and dtype.kind == "O"
    if not objects or _all_text(series):
        try:
            return pa.array(series, pa.large_string() if objects else None, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            pass  # a type that Arrow does not know, or text that is not Unicode: value by value
    return mixed(series)


def _all_text(series: Any) -> bool:
    from pandas.api.types import infer_dtype

    return bool(infer_dtype(series, skipna=True) == "string")


def mixed(values: Iterable[Any]) -> pa.Array:
    """Python objects as an Arrow column: text if all of them are, else one of type `MIXED`."""
    cells = [cell(value) for value in values]
    fields = [pa.array([one[1] if one and one[0] == f.name else None for one in cells], f.type) for f in MIXED]
    if all(one is None or one[0] == "text" for one in cells):
        return fields[0]
    return pa.StructArray.from_arrays(fields, fields=list(MIXED))


def cell(value: Any) -> Cell:
    """Where a value stands; it depends on the value alone."""
    if isinstance(value, np.generic):
        seconds = value.astype("datetime64[s]") if isinstance(value, np.datetime64) else value
        value = seconds.item()
    match value:
        case str():
            return ("text", str(value)) if _is_unicode(value) else _STRANGE
        case bool():
            return "truth", value
        case int():
            return "number", spelled_integer(value)
        case float():
            return ("number", spelled_float(value)) if value == value else None
        case complex() if value.imag == 0:  # what pandas makes of all numbers of a column beside a complex one
            return cell(value.real)
        case Decimal():
            return ("number", spelled_decimal(value)) if not value.is_nan() else None
        case _ if value is None or type(value).__name__ in _NOTHING:
            return None
        case date():
            return "moment", _seconds(value)
    return _STRANGE


def _seconds(moment: date) -> int:
    """A date or a datetime in seconds since 1970, one with a time zone in UTC."""
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        return seconds_of(moment)
    offset = moment.utcoffset() or timedelta(0)
    return (seconds_of(moment.replace(tzinfo=None)) * 10**6 - offset // timedelta(microseconds=1)) // 10**6


def _is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8; half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
