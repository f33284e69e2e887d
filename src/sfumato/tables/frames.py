"""Giving a synthetic table the form that the private one had: its library, column order and column types.

The types are published with a release, so they must not depend on single values. pandas lets a missing value
turn integers into floats, and truth values into objects: for a nullable column these types count as one. A
fraction turns integers into floats: a declared number is never published as an integer. The categories of an
enumeration are those of the schema, never those of the table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from sfumato.data.columns import Boolean, Categorical, Column, Date, Integer, Number
from sfumato.data.schema import Schema
from sfumato.tables.reading import ending_of, kind_of
from sfumato.tables.texts import as_text


def types_of(source: Any, schema: Schema) -> dict[str, str]:
    """The type of each declared column of a typed table, in the order of the table; empty for a CSV file.

    A type is the text of an Arrow type, or of a pandas type, or `categorical` or `enum` of polars.
    """
    kind = kind_of(source)
    if kind == "pandas":
        names = [name for name in source.columns if name in schema.names]
        return {name: _pandas_type(source[name], schema[name]) for name in names}
    if kind == "file" and ending_of(Path(source)) != ".parquet":
        return {}
    arrow = _arrow_schema(source, kind)
    types = {name: _arrow_type(arrow.field(name).type, schema[name]) for name in arrow.names if name in schema.names}
    if kind == "polars":
        types |= {name: word for name in types if (word := _polars_word(source.schema[name]))}
    return types


def _arrow_schema(source: Any, kind: str) -> pa.Schema:
    """The Arrow schema of a table, without reading its rows."""
    if kind == "file":
        return parquet.read_schema(source)
    if kind == "polars":
        return source.head(0).to_arrow().schema
    if isinstance(getattr(source, "schema", None), pa.Schema):
        return source.schema
    return pa.schema(source) if hasattr(source, "__arrow_c_schema__") else pa.table(source).schema


def convert(table: pa.Table, kind: str, types: Mapping[str, str], schema: Schema) -> Any:
    """Give a decoded table the library, column order and types of the table that `types` was taken from.

    A column keeps its natural type where the wanted one cannot hold it. Missing values are nulls.
    """
    order = [name for name in types if name in table.column_names]
    table = table.select([*order, *(name for name in table.column_names if name not in types)])
    if kind == "pandas":
        return _to_pandas(table, types, schema)
    arrays = [
        _cast(table[name].combine_chunks(), schema[name], _type_named(types.get(name, "")))
        for name in table.column_names
    ]
    converted = pa.table(arrays, names=table.column_names)
    return _to_polars(converted, types, schema) if kind == "polars" else converted


def _arrow_type(kind: pa.DataType, column: Column) -> str:
    if pa.types.is_null(kind):  # nothing but missing values: the type must not say so
        return str(_natural(column))
    return "double" if isinstance(column, Number) and pa.types.is_integer(kind) else str(kind)


def _natural(column: Column) -> pa.DataType:
    """The type that decoding gives a column."""
    match column:
        case Categorical():
            return pa.string()
        case Boolean():
            return pa.bool_()
        case Integer():
            return pa.int64()
        case Number():
            return pa.float64()
        case Date():
            return pa.date32()
    return pa.timestamp("s")


def _type_named(text: str) -> pa.DataType | None:
    """The Arrow type that writes itself as `text`; None for a type that no column can be given."""
    if match := re.fullmatch(r"timestamp\[(\w+), tz=(.+)\]", text):
        return pa.timestamp(match[1], match[2])
    if match := re.fullmatch(r"decimal(128|256)\((\d+), (\d+)\)", text):
        make = pa.decimal128 if match[1] == "128" else pa.decimal256
        return make(int(match[2]), int(match[3]))
    if match := re.fullmatch(r"dictionary<values=(.+), indices=(\w+), ordered=[01]>", text):
        values, indices = _type_named(match[1]), _type_named(match[2])
        return pa.dictionary(indices, values) if values and indices else None
    try:
        return pa.type_for_alias(text)
    except ValueError:
        return None


def _cast(array: pa.Array, column: Column, wanted: pa.DataType | None) -> pa.Array:
    """The column in the wanted type, or as it is if that type cannot hold it."""
    if wanted is None or array.type == wanted:
        return array
    try:
        if pa.types.is_dictionary(wanted):
            return _cast(array, column, wanted.value_type).dictionary_encode().cast(wanted)
        if pa.types.is_timestamp(wanted) and wanted.tz is not None:
            return array.cast(pa.timestamp(wanted.unit)).cast(pa.int64()).cast(wanted)
        texts = str(wanted) in ("string", "large_string", "string_view")
        # An integer becomes a decimal by way of its text: Arrow wants room for all of 64 bits otherwise.
        exact = isinstance(column, Integer) and pa.types.is_decimal(wanted)
        if texts or exact or isinstance(column, Categorical | Boolean):
            return as_text(array, column).cast(wanted)
        return array.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return array


def _polars_word(dtype: Any) -> str | None:
    """How the two types of polars that Arrow cannot tell apart are published."""
    name = type(dtype).__name__
    return name.lower() if name in ("Categorical", "Enum") else None


def _to_polars(table: pa.Table, types: Mapping[str, str], schema: Schema) -> Any:
    import polars

    frame: Any = polars.from_arrow(table)
    for name, word in types.items():
        column = schema[name]
        if word == "enum" and isinstance(column, Categorical):
            frame = frame.with_columns(frame[name].cast(polars.Enum(column.labels)))
        elif word in ("enum", "categorical"):
            texts = as_text(table[name].combine_chunks(), column)
            series: Any = polars.from_arrow(texts)
            frame = frame.with_columns(series.cast(polars.Categorical).alias(name))
    return frame


def _holds_text(values: Any) -> bool:
    """Whether pandas values of type object are text; a column of missing values alone counts as text."""
    from pandas.api.types import infer_dtype

    return values.dtype == object and infer_dtype(values, skipna=True) in ("string", "empty")


def _pandas_type(series: Any, column: Column) -> str:
    dtype = series.dtype
    if dtype == "category":
        inner = dtype.categories
        return f"category[{'object[text]' if _holds_text(inner) else str(inner.dtype)}]"
    if str(dtype) == "string":
        return f"string[{dtype.storage}]"
    kind = getattr(dtype, "kind", "") if type(dtype).__module__.startswith("numpy") else ""
    if kind == "O":
        return "object[text]" if _holds_text(series) else "object"
    if kind in ("i", "u") and (column.nullable or isinstance(column, Number)):
        return "float64"
    return "object" if kind == "b" and column.nullable else str(dtype)


def _to_pandas(table: pa.Table, types: Mapping[str, str], schema: Schema) -> Any:
    import pandas

    return pandas.DataFrame(
        {name: _series(table[name].combine_chunks(), schema[name], types.get(name, "")) for name in table.column_names}
    )


def _series(array: pa.Array, column: Column, wanted: str) -> Any:
    import pandas

    if wanted.startswith("category["):
        values = _series(array, column, wanted[9:-1])
        if not isinstance(column, Categorical):
            return values.astype("category")
        labels = _series(pa.array(column.labels), column, wanted[9:-1])
        return pandas.Series(pandas.Categorical(values, categories=labels, ordered=column.ordered))
    if wanted == "object[text]":
        return pandas.Series(as_text(array, column).to_numpy(zero_copy_only=False), dtype=object)
    if wanted == "object":
        return pandas.Series(array.to_pylist(), dtype=object)
    if not wanted:
        return array.to_pandas()
    dtype = pandas.api.types.pandas_dtype(wanted)
    kept = _cast(array, column, _arrow_of_pandas(dtype))
    if hasattr(dtype, "__from_arrow__"):
        return pandas.Series(dtype.__from_arrow__(kept))
    return kept.to_pandas()


def _arrow_of_pandas(dtype: Any) -> pa.DataType | None:
    """The Arrow type that becomes a given pandas type."""
    if hasattr(dtype, "pyarrow_dtype"):
        return dtype.pyarrow_dtype
    if hasattr(dtype, "storage"):
        return pa.large_string()
    if hasattr(dtype, "tz"):
        return pa.timestamp(dtype.unit, str(dtype.tz))
    try:
        return pa.from_numpy_dtype(getattr(dtype, "numpy_dtype", dtype))
    except (pa.ArrowNotImplementedError, TypeError):
        return None
