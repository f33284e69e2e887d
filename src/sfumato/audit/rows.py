"""Made-up tables, and pairs of neighbours that have broken other systems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.data.records import Records
from sfumato.intake.attributes import Attributes
from sfumato.intake.codec import SchemaCodec
from sfumato.intake.ruled import Ruled
from sfumato.schema.schema import Schema
from sfumato.synthesize.repair import repaired_by

ROWS = 40
"""Rows of a made-up table: few, so one person weighs as much as possible."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbouring tables, and what is special about them."""

    name: str
    first: pa.Table
    second: pa.Table


def made_up(schema: Schema, rows: int, seed: int, first_person: int = 0) -> pa.Table:
    """Rows drawn uniformly from the declared domains; each is of a person of its own, where persons are told apart."""
    rng = np.random.default_rng(seed)
    codec = SchemaCodec(schema)
    codes = Records(codec.domain, (rng.integers(0, size, rows) for size in codec.domain.shape))
    return _with_persons(codec.decode(_obeying(codes, schema, rng), rng), schema, np.arange(rows) + first_person)


def equal_rows(schema: Schema, last: bool, rows: int, person: int) -> pa.Table:
    """Rows in one and the same cell, that of the first or of the last codes, all of one person."""
    codec, rng = SchemaCodec(schema), np.random.default_rng(1)
    codes = Records(codec.domain, (np.full(1, size - 1 if last else 0) for size in codec.domain.shape))
    codes = _obeying(codes, schema, rng).take(np.zeros(rows, dtype=np.int64))
    return _with_persons(codec.decode(codes, rng), schema, np.full(rows, person))


def _obeying(codes: Records, schema: Schema, rng: np.random.Generator) -> Records:
    """Rows that rules let in: others would count as ones that do, or be refused, and say nothing of a run."""
    if not schema.rules:
        return codes
    attributes = Attributes(schema)
    return attributes.decode(repaired_by(Ruled(schema), attributes.encode(codes), rng).records)


def pairs(schema: Schema, few: bool = False) -> Iterator[Pair]:
    """Neighbours under the relation that the schema declares; a few where runs take long."""
    seed = 0
    unit, replace = schema.unit, schema.neighbours == "replace-one"
    table, empty = made_up(schema, ROWS, seed), made_up(schema, 0, seed)
    one_cell = pa.concat_tables([equal_rows(schema, False, 1, person) for person in range(ROWS)])
    own = unit.rows
    typical = made_up(schema, 1, seed + 1, first_person=10**6)
    extreme = equal_rows(schema, True, own, 10**6)
    usual = equal_rows(schema, False, own, 10**6)
    newcomers = {"a typical row": typical, "extreme values in an empty cell": extreme, "a full cell": usual}
    if unit.column is not None:
        newcomers["a person with more rows than are counted"] = equal_rows(schema, True, 3 * own + 1, 10**6)
        scattered = made_up(schema, own, seed + 2)
        newcomers["a person with different rows"] = _with_persons(scattered, schema, np.full(own, 10**6))
    for name, rows in newcomers.items():
        if few:
            before = pa.concat_tables([table, usual]) if replace else table
            yield Pair(name, before, pa.concat_tables([table, rows]))
            continue
        for where, others in (
            ("", table),
            (", beside nobody", empty),
            (", beside rows that are all the same", one_cell),
        ):
            before = pa.concat_tables([others, usual]) if replace else others
            yield Pair(name + where, before, pa.concat_tables([others, rows]))
    if not replace:
        yield Pair("a row is removed", table, table.slice(1))


def _with_persons(table: pa.Table, schema: Schema, persons: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Table:
    if schema.unit.column is None:
        return table
    named = pa.array([f"p{number}" for number in persons.tolist()], pa.string())
    if schema.unit.column in table.column_names:
        return table.set_column(table.column_names.index(schema.unit.column), schema.unit.column, named)
    return table.append_column(schema.unit.column, named)
