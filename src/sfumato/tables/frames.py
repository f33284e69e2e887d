"""Synthetic tables in the types that the schema declares, and as the data frame of a library.

Types follow from the schema alone: from the kind of a column, its `dtype`, and whether it may be missing.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sfumato.schema.columns import Boolean, Categorical, Column
from sfumato.schema.dtypes import decimal_digits
from sfumato.schema.schema import Schema
from sfumato.tables.texts import as_text


def convert(table: pa.Table, kind: str, schema: Schema) -> Any:
    """A decoded table as a pandas, polars or Arrow table, in the order and the types of the schema."""
    table = typed(table, schema)
    if kind == "pandas":
        return _to_pandas(table, schema)
    return _to_polars(table, schema) if kind == "polars" else table


def typed(table: pa.Table, schema: Schema) -> pa.Table:
    """A decoded table in the types that the schema declares; missing values are nulls."""
    names = table.column_names
    return pa.table([_typed(table[name].combine_chunks(), schema[name]) for name in names], names=names)


def _typed(array: pa.Array, column: Column) -> pa.Array:
    dtype = column.dtype
    if dtype is None or dtype in ("bool", "date"):  # what decoding gives already
        return array
    if dtype == "category" and isinstance(column, Categorical):
        labels = pa.array(column.labels, pa.string())
        places = array.dictionary_encode()
        codes = pa.array([column.labels.index(label) for label in places.dictionary.to_pylist()], pa.int32())
        return pa.DictionaryArray.from_arrays(codes.take(places.indices), labels, ordered=column.ordered)
    if dtype == "string":
        return as_text(array, column).cast(pa.string())
    if digits := decimal_digits(dtype):
        return as_text(array, column).cast(pa.decimal128(*digits))
    return array.cast(pa.type_for_alias(dtype))


def _to_polars(table: pa.Table, schema: Schema) -> Any:
    import polars

    frame: Any = polars.from_arrow(table)
    for column in schema.columns:
        if column.dtype == "category" and isinstance(column, Categorical):
            frame = frame.with_columns(frame[column.name].cast(polars.Enum(column.labels)))
    return frame


def _to_pandas(table: pa.Table, schema: Schema) -> Any:
    import pandas

    return pandas.DataFrame({name: _series(table[name], schema[name]) for name in table.column_names})


def _series(values: pa.ChunkedArray, column: Column) -> Any:
    """A pandas column; where NumPy has no missing value, one of pandas' own types."""
    import pandas

    if column.nullable and pa.types.is_integer(values.type):
        own = {f"int{bits}": getattr(pandas, f"Int{bits}Dtype")() for bits in (8, 16, 32, 64)}[str(values.type)]
        return pandas.Series(own.__from_arrow__(values))
    if column.nullable and isinstance(column, Boolean) and pa.types.is_boolean(values.type):
        return pandas.Series(pandas.BooleanDtype().__from_arrow__(values))
    return values.to_pandas(date_as_object=False)
