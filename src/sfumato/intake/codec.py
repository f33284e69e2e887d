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

from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.errors import DataError
from sfumato.intake.inside_bins import settled
from sfumato.intake.marks import MISSING, UNDECLARED, UNREADABLE, Ints, marked_codes
from sfumato.intake.refusals import check_type, refusal
from sfumato.intake.steps import Steps, limits_of
from sfumato.schema.columns import Boolean, Categorical, Column, Date, Integer, Number, size_of
from sfumato.schema.fields import BadValue
from sfumato.schema.periods import DAY, seconds_of, start_of
from sfumato.schema.schema import Schema
from sfumato.tables.raw import plain

Signed = NDArray[np.signedinteger]


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
        """The codes of a table; a value that the schema refuses is a DataError that names its column.

        What becomes of a row depends on that row and the schema alone.
        """
        check_names(table.column_names, self.schema)
        return Records(
            self.domain, (self._encoded(column, table.column(column.name)) for column in self.schema.columns)
        )

    @cached_property
    def _steps(self) -> dict[str, Steps | None]:
        """For columns of whole numbers, their codes as tables, made when the first such column comes."""
        return {}

    def _encoded(self, column: Column, values: pa.ChunkedArray) -> NDArray[np.integer]:
        """The codes of a column: those of the schema, and for bad values what the policy says."""
        policy = self.schema.policy(column)
        if isinstance(column, Integer) and pa.types.is_signed_integer(values.type) and not values.null_count:
            if column.name not in self._steps:
                self._steps[column.name] = _steps_of(column, policy)
            steps = self._steps[column.name]
            if steps is not None:
                found = [steps(chunk.to_numpy()) for chunk in values.chunks] or [np.zeros(0, dtype=np.int16)]
                return _accepted(column, found[0] if len(found) == 1 else np.concatenate(found), values.type)
        return _encode(column, values, policy)

    def decode(self, records: Records, rng: np.random.Generator) -> pa.Table:
        """A table of typed columns in the order of the schema; values inside bins obey the rules, if the codes can."""
        return self.decode_counting(records, rng)[0]

    def decode_counting(self, records: Records, rng: np.random.Generator) -> tuple[pa.Table, int]:
        """The same table, and how many of its rows are copies of others, since their bins hold no values that obey."""
        if records.domain != self.domain:
            raise DataError(f"the codes are over {records.domain!r}; the schema has {self.domain!r}")
        arrays = {column.name: _decode(column, records[column.name], rng) for column in self.schema.columns}
        for group in self.schema.together:
            arrays |= _same_values(records, {name: arrays[name] for name in group.columns})
        found, copies = settled(self.schema, records, arrays, rng)
        return pa.table(found), copies


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


def check_names(names: Sequence[str], schema: Schema) -> None:
    """Refuse a table that has other columns than its schema; the names of columns are public."""
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
            "declare them in 'columns', or leave them out with 'ignore'"
        )


def _encode(column: Column, values: pa.ChunkedArray, policy: BadValue) -> NDArray[np.integer]:
    """The codes of a column: those of the schema, and for bad values what the policy says."""
    if pa.types.is_dictionary(values.type) and all(len(one.dictionary) <= len(one) for one in values.chunks):
        return _encode_dictionaries(column, values, policy)
    return _accepted(column, codes_or_marks(column, plain(values), policy), plain(values).type)


def _steps_of(column: Integer, policy: BadValue) -> Steps | None:
    def code(numbers: Ints) -> Ints:
        return codes_or_marks(column, pa.chunked_array([pa.array(numbers)]), policy)

    return Steps.of(limits_of(column), code)


def _encode_dictionaries(column: Column, values: pa.ChunkedArray, policy: BadValue) -> Signed:
    """The codes of a column with dictionaries: each distinct value is read once, and rows are looked up."""
    kind = plain(pa.chunked_array([], values.type)).type
    found: list[Signed] = [] if values.chunks else [np.zeros(0, dtype=np.int32)]
    for chunk in values.chunks:
        distinct = codes_or_marks(column, plain(pa.chunked_array([chunk.dictionary])), policy)
        places = chunk.indices
        if places.null_count:
            missing = codes_or_marks(column, pa.chunked_array([pa.nulls(1, kind)]), policy)
            distinct, places = np.concatenate([distinct, missing]), places.fill_null(len(distinct))
        # A dictionary may hold values that no row has: only what rows have is accepted or refused.
        found.append(distinct.astype(np.int32).take(places.to_numpy()))
    return _accepted(column, found[0] if len(found) == 1 else np.concatenate(found), kind)


def codes_or_marks(column: Column, values: pa.ChunkedArray, policy: BadValue) -> Ints:
    """The code of each value, and a mark (intake/marks.py) for those that are refused."""
    check_type(column, values.type)
    clip = not isinstance(column, Categorical | Boolean) and "clip" in (policy, column.outside)
    codes = marked_codes(column, values, clip)
    if column.nullable:
        codes[codes == MISSING] = size_of(column)
    if isinstance(column, Categorical) and column.other is not None:
        bad = codes < 0 if policy == "other" else (codes == UNDECLARED) | (codes == UNREADABLE)
        codes[bad] = column.labels.index(column.other)
    if policy != "refuse":  # `missing` and `clip`: the schema has made sure that the column is nullable
        codes[codes < 0] = size_of(column)
    return codes


def _accepted(column: Column, codes: Signed, kind: pa.DataType) -> Signed:
    """The codes of rows, if none of them is a mark."""
    if len(codes) and int(codes.min()) < 0:
        raise refusal(column, int(codes[codes < 0].max()), kind)
    return codes


def _decode(column: Column, codes: NDArray[Any], rng: np.random.Generator) -> pa.Array:
    missing = codes == size_of(column)
    codes = np.where(missing, 0, codes)
    if isinstance(column, Categorical):
        places = pa.array(codes, pa.int32(), mask=missing)
        return pa.array(column.labels, pa.string()).take(places)
    if isinstance(column, Boolean):
        return pa.array(codes == 1, mask=missing)
    if isinstance(column, Integer | Number):
        return pa.array(_numbers(column, codes, rng), mask=missing)
    drawn: NDArray[Any] = column.binning().draw(codes, rng)
    seconds = start_of(drawn, column.granularity).clip(seconds_of(column.min), seconds_of(column.max))
    if isinstance(column, Date):
        return pa.array((seconds // DAY).astype("datetime64[D]"), pa.date32(), mask=missing)
    return pa.array(seconds.astype("datetime64[s]"), pa.timestamp("s"), mask=missing)


def _numbers(column: Integer | Number, codes: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """A number for each code: the special value that it stands for, or one of its bin that is not special."""
    bins = column.binning()
    special = codes >= len(bins)
    drawn: NDArray[Any] = bins.draw(np.where(special, 0, codes), rng)
    if not column.special:
        return drawn
    again = np.flatnonzero(np.isin(drawn, column.special) & ~special)
    while len(again):  # the schema has made sure that each bin holds other numbers
        drawn[again] = bins.draw(codes[again], rng)
        again = again[np.isin(drawn[again], column.special)]
    drawn[special] = np.array(column.special, dtype=drawn.dtype)[codes[special] - len(bins)]
    return drawn
