"""The codec: raw tables to integer codes by the public schema alone, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.columns import Boolean, Categorical, Column, Date, Integer, Number, size_of
from sfumato.data.domain import Domain
from sfumato.data.periods import DAY, period_of, seconds_of, start_of
from sfumato.data.records import Records
from sfumato.data.schema import Schema
from sfumato.encode.parse import (
    Values,
    is_text,
    plain,
    read_integers,
    read_numbers,
    read_seconds,
    read_texts,
    wrong_type,
)
from sfumato.errors import DataError

Ints = NDArray[np.int64]
_MISSING = -1


@dataclass(frozen=True)
class SchemaCodec:
    """Codes as the schema declares them: categories or bins in order, then one code for missing if nullable.

    Encoding a decoded table gives back the same codes. What lies inside a bin is drawn uniformly.
    """

    schema: Schema

    @cached_property
    def domain(self) -> Domain:
        """The number of codes of each column."""
        return Domain([(column.name, size_of(column) + column.nullable) for column in self.schema.columns])

    def encode(self, table: pa.Table) -> Records:
        """The codes of a table; a value that the schema refuses is a DataError that names its column."""
        _check_names(table.column_names, self.schema)
        columns = [_encode(column, table.column(column.name)) for column in self.schema.columns]
        return Records(self.domain, columns)

    def decode(self, records: Records, rng: np.random.Generator) -> pa.Table:
        """A table of typed columns in the order of the schema."""
        if records.domain != self.domain:
            raise DataError(f"the codes are over {records.domain!r}; the schema has {self.domain!r}")
        arrays = {column.name: _decode(column, records[column.name], rng) for column in self.schema.columns}
        for group in self.schema.together:
            arrays |= _same_values(records, {name: arrays[name] for name in group.columns})
        return pa.table(arrays)


def _same_values(records: Records, arrays: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Columns that move together: where codes are equal, so are the values that are drawn inside their bins."""
    (first, values), *others = arrays.items()
    codes = records[first].astype(np.int64)
    shared = {first: values}
    for name, own in others:
        missing = values.is_null().to_numpy(zero_copy_only=False)
        shared[name] = pc.if_else(pa.array((records[name] == codes) & ~missing), values, own)
        # The first value of a row leads, whichever column has it.
        codes = np.where(missing, records[name], codes)
        values = pc.coalesce(values, shared[name])
    return shared


def _check_names(names: Sequence[str], schema: Schema) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    lacking = [name for name in schema.names if name not in names]
    extra = [name for name in names if name not in schema.names and name != schema.unit.column]
    if twice:
        raise DataError(f"the table has several columns named {', '.join(twice)}; each name may occur once")
    if lacking:
        raise DataError(f"the table lacks the columns {', '.join(lacking)}; add them, or remove them from the schema")
    if extra:
        raise DataError(
            f"the table has the columns {', '.join(extra)}, which the schema does not declare; "
            "remove them, or add them to the schema"
        )


def _encode(column: Column, values: pa.ChunkedArray) -> Ints:
    values = plain(values)
    # Text and labels repeat: each distinct value is read once. Typed numbers are read as they are.
    if is_text(values.type) or isinstance(column, Categorical | Boolean):
        distinct, places = _distinct(column, values)
        codes = np.append(_codes(column, distinct), _MISSING)[places]
    else:
        codes = _codes(column, values.combine_chunks())
    missing = codes == _MISSING
    if missing.any():
        if not column.nullable:
            raise DataError(f"column {column.name!r}: a value is missing; correct the table, or set nullable to true")
        codes[missing] = size_of(column)
    return codes


def _distinct(column: Column, values: pa.ChunkedArray) -> tuple[pa.Array, Ints]:
    """The distinct values, and for every row its place among them; a null has the place -1."""
    if not len(values) or pa.types.is_null(values.type):
        return pa.array([], values.type), np.full(len(values), _MISSING)
    try:
        encoded = values.combine_chunks().dictionary_encode()
    except pa.ArrowNotImplementedError:
        raise wrong_type(column, values.type) from None
    return encoded.dictionary, encoded.indices.fill_null(_MISSING).to_numpy(zero_copy_only=False)


def _codes(column: Column, values: pa.Array) -> Ints:
    """The code of each value; -1 if it is missing."""
    if pa.types.is_null(values.type):
        return np.full(len(values), _MISSING)
    if isinstance(column, Categorical | Boolean):
        return _label_codes(column, values)
    if isinstance(column, Integer):
        return _bin_codes(column, read_integers(values, column), column.min, column.max)
    if isinstance(column, Number):
        return _bin_codes(column, read_numbers(values, column), column.min, column.max)
    moments = read_seconds(values, column)
    periods = Values(period_of(moments.numbers, column.granularity), moments.missing)
    return _bin_codes(column, periods, column.period(column.min), column.period(column.max))


def _label_codes(column: Categorical | Boolean, values: pa.Array) -> Ints:
    if isinstance(column, Categorical):
        labels, other = column.labels, column.other
        codes = np.arange(len(labels))
        remedy = "add it to 'categories', or set 'other' to collect what is not declared"
    else:
        labels, other = (*column.false_values, *column.true_values), None
        codes = np.repeat([0, 1], [len(column.false_values), len(column.true_values)])
        remedy = "add it to 'true_values' or 'false_values'"
        if pa.types.is_boolean(values.type):
            truths = [_MISSING if value is None else int(value) for value in values.to_pylist()]
            return np.array(truths, dtype=np.int64)
    texts = read_texts(values, column, frozenset(labels))
    found = pc.index_in(texts, value_set=pa.array(labels, texts.type))
    unknown = pc.and_(found.is_null(), texts.is_valid()).to_numpy(zero_copy_only=False)
    if unknown.any() and other is None:
        raise DataError(f"column {column.name!r}: a value is not among those declared; {remedy}")
    places = found.fill_null(_MISSING).to_numpy(zero_copy_only=False)
    if other is not None:
        places = np.where(unknown, labels.index(other), places)
    looked_up: Ints = np.append(codes, _MISSING)[places]
    return looked_up


def _bin_codes(column: Any, values: Values, low: float, high: float) -> Ints:
    present = ~values.missing
    numbers = values.numbers[present]
    if column.outside == "clip":
        numbers = np.clip(numbers, low, high)
    elif len(numbers) and (numbers.min() < low or numbers.max() > high):
        raise DataError(
            f"column {column.name!r}: a value lies outside min {column.min} and max {column.max}; "
            "widen the bounds, or set outside to 'clip'"
        )
    codes = np.full(len(present), _MISSING)
    codes[present] = column.binning().code(numbers)
    return codes


def _decode(column: Column, codes: NDArray[Any], rng: np.random.Generator) -> pa.Array:
    missing = codes == size_of(column)
    codes = np.where(missing, 0, codes)
    if isinstance(column, Categorical):
        places = pa.array(codes, pa.int32(), mask=missing)
        return pa.array(column.labels, pa.string()).take(places)
    if isinstance(column, Boolean):
        return pa.array(codes == 1, mask=missing)
    drawn: NDArray[Any] = column.binning().draw(codes, rng)
    if isinstance(column, Integer | Number):
        return pa.array(drawn, mask=missing)
    seconds = start_of(drawn, column.granularity).clip(seconds_of(column.min), seconds_of(column.max))
    if isinstance(column, Date):
        return pa.array((seconds // DAY).astype("datetime64[D]"), pa.date32(), mask=missing)
    return pa.array(seconds.astype("datetime64[s]"), pa.timestamp("s"), mask=missing)
