"""Values inside bins that obey the rules: what two columns draw from their bins must fit together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.records import Records
from sfumato.errors import MethodError
from sfumato.schema.axes import decimals_of
from sfumato.schema.columns import Boolean, Categorical, Column, Date, Integer, Number, size_of
from sfumato.schema.compiled import Tied
from sfumato.schema.periods import DAY
from sfumato.schema.schema import Schema

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


def settled(
    schema: Schema, records: Records, arrays: Mapping[str, pa.Array], rng: np.random.Generator
) -> tuple[dict[str, pa.Array], int]:
    """Drawn columns, drawn again inside their bins where a rule between their values is broken; and how many copies.

    In the few rows for which no values were found (sums that meet differences can have none in cells that each of them
    allows), a copy of another row stands.
    """
    found = dict(arrays)
    fine = np.ones(len(records), dtype=np.bool_)
    for tied in schema.compiled.tied:
        changed, obeys = _settled_group(schema, tied, records, found, rng)
        found |= changed
        fine &= obeys
    if fine.all():
        return found, 0
    good = np.flatnonzero(fine)
    if not len(good):
        raise MethodError("no values were found that obey all rules of the schema; no table is made. Relax a rule")
    places = np.arange(len(records))
    places[~fine] = rng.choice(good, np.count_nonzero(~fine))
    return {name: array.take(pa.array(places)) for name, array in found.items()}, int(np.count_nonzero(~fine))


def _settled_group(
    schema: Schema, tied: Tied, records: Records, arrays: Mapping[str, pa.Array], rng: np.random.Generator
) -> tuple[dict[str, pa.Array], Mask]:
    columns = {name: schema[name] for name in tied.names}
    missing = {name: records[name] == size_of(column) for name, column in columns.items()}
    codes = {name: np.where(missing[name], 0, records[name]).astype(np.int64) for name in columns}
    values = {name: _units(tied, columns[name], codes[name], arrays[name]) for name in columns}
    fine = tied.group.holds(values, missing)
    rows = np.flatnonzero(~fine)
    if len(rows):
        drawn, obeys = tied.group.draw(
            {name: one[rows] for name, one in codes.items()}, {name: one[rows] for name, one in missing.items()}, rng
        )
        for name, numbers in drawn.items():
            values[name][rows] = numbers
        fine[rows] = obeys
    changed = {
        name: _array(tied, column, values[name], missing[name])
        for name, column in columns.items()
        if not isinstance(column, Categorical | Boolean)
    }
    return changed, fine


def _units(tied: Tied, column: Column, codes: Ints, array: pa.Array) -> Ints:
    """Drawn values in the unit of a group; a real number as the nearest one of its bin with this many decimals."""
    axis = tied.group.axes[column.name]
    if isinstance(column, Categorical | Boolean):
        return codes
    if isinstance(column, Integer):
        values = array.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64) * tied.scale
        return np.asarray(values)
    if isinstance(column, Number):
        own = tied.scale // 10 ** decimals_of(column)
        floats = array.fill_null(0).to_numpy(zero_copy_only=False) * float(10 ** decimals_of(column))
        nearest = np.rint(floats).astype(np.int64) * own
        return np.asarray(np.clip(nearest, axis.first[codes], np.maximum(axis.first, axis.last)[codes]))
    seconds = array.cast(pa.timestamp("s")).cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return np.array(seconds, dtype=np.int64)


def _array(tied: Tied, column: Column, values: Ints, missing: Mask) -> pa.Array:
    if isinstance(column, Integer):
        return pa.array(values // tied.scale, mask=missing)
    if isinstance(column, Number):
        decimals = decimals_of(column)
        return pa.array(values // (tied.scale // 10**decimals) / float(10**decimals), mask=missing)
    if isinstance(column, Date):
        return pa.array((values // DAY).astype("datetime64[D]"), pa.date32(), mask=missing)
    return pa.array(values.astype("datetime64[s]"), pa.timestamp("s"), mask=missing)
