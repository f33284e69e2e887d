"""Answers in natural types: whole numbers as numbers and not as texts, and ranges in their order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.schema.bins import PointBins
from sfumato.schema.columns import Boolean, Column, Integer, Number, ordered_size, size_of
from sfumato.schema.labels import labels
from sfumato.schema.schema import Schema


def natural(table: pa.Table, schema: Schema) -> pa.Table:
    """A table of cells whose labels have the types of their columns.

    Where each code of a column is one value, cells have it, and null for missing. Ranges stay texts, as a dictionary in
    their order; so do words.
    """
    for place, name in enumerate(table.column_names):
        if name in schema.names and pa.types.is_dictionary(table.schema.field(place).type):
            table = table.set_column(place, name, _natural(table.column(place).combine_chunks(), schema[name]))
    return table


def _natural(cells: pa.DictionaryArray, column: Column) -> pa.Array:
    values = _values(column)
    if values is not None:
        codes = np.asarray(cells.indices)
        return values.take(pa.array(codes, mask=codes >= len(values)))
    ordered = ordered_size(column) > 0
    return pa.DictionaryArray.from_arrays(cells.indices, pa.array(labels(column), pa.string()), ordered=ordered)


def _values(column: Column) -> pa.Array | None:
    """The value that each code of a column stands for, but for missing; None if some stand for several."""
    match column:
        case Boolean():
            return pa.array([False, True])
        case Integer() if np.array_equal((bins := column.binning()).firsts, bins.lasts):
            values = pa.array([*bins.firsts.tolist(), *column.special], pa.int64())
        case Number() if isinstance(points := column.binning(), PointBins):
            values = pa.array([*points.points.tolist(), *column.special], pa.float64())
        case _:
            return None
    return values if len(values) == size_of(column) else None
