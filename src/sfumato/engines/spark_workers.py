"""What runs in the workers of Spark: rows of a partition to codes, and codes to counts.

Whatever happens to a row here stays here: a refusal is told in a row of its own, in our words, for the driver to raise.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.coding import Coding
from sfumato.data.domain import Clique, Domain
from sfumato.data.records import Records
from sfumato.engines.counting import count_blocks
from sfumato.engines.persons import priorities
from sfumato.errors import Fault, SfumatoError
from sfumato.intake.intake import Intake
from sfumato.schema.schema import Schema

Batches = Iterable[pa.RecordBatch]
Work = Callable[[Batches], Iterator[pa.RecordBatch]]

COUNTS = "counts binary"
EXTRA = 2
"""Numbers that follow the counts of a partition: the rows that are refusals, and a sum that tells its rows apart."""

_MIXER = np.uint64(0x9E3779B97F4A7C15)


def types_of(schema: Schema, domain: Domain) -> str:
    """The columns of coded rows as Spark declares them: places instead of names, which may have any letters."""
    codes = [f"c{place} int" for place in range(len(domain))]
    person = ["person string", "priority bigint"] if schema.unit.column is not None else []
    return ", ".join([*codes, *person, "refusal string"])


def coder(schema: dict[str, Any], names: Sequence[str]) -> Work:
    """What codes the rows of a partition, whose columns come in the order of `names`."""

    def code(batches: Batches) -> Iterator[pa.RecordBatch]:
        from sfumato import tables

        known = Schema.parse(schema)
        intake = Intake(known)
        for batch in batches:
            table = pa.Table.from_batches([batch]).rename_columns(list(names))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the driver has warned of types
                    coded = [intake.encode(part) for part in tables.batches(table, known)]
            except SfumatoError as problem:
                yield _refusal(len(intake.domain), known, str(problem))
                return
            except Exception as problem:
                yield _refusal(len(intake.domain), known, str(Fault.at(problem)))
                return
            for rows in coded:
                arrays = [pa.array(column.astype(np.int32)) for column in rows.records.columns]
                if rows.persons is not None:
                    arrays += [rows.persons.cast(pa.string()), pa.array(priorities([rows], known.unit.keep))]
                arrays.append(pa.nulls(len(rows.records), pa.string()))
                yield pa.RecordBatch.from_arrays(arrays, names=_names(len(intake.domain), known))

    return code


def counter(coding: Coding, joints: tuple[Clique, ...]) -> Work:
    """What gives one row for a partition: the counts of all joints, one after the other, and then the extra numbers."""

    def count(batches: Batches) -> Iterator[pa.RecordBatch]:
        extra = np.zeros(EXTRA, dtype=np.int64)

        def blocks() -> Iterator[tuple[Records, int]]:
            for batch in batches:
                extra[0] += len(batch) - batch.column("refusal").null_count
                for records, weight in _weighted(coding.base, batch):
                    extra[1] += np.int64(weight) * fingerprint(records)
                    yield records, weight

        with np.errstate(over="ignore"):
            tables = [table.counts.ravel().astype(np.int64) for table in count_blocks(blocks(), coding, joints)]
        yield _bytes(np.concatenate([*tables, extra]).tobytes())

    return count


def fingerprint(records: Records) -> np.int64:
    """A number that tells rows from others, in whatever order they come: a sum of hashes of the codes of each."""
    row: NDArray[np.uint64] = np.zeros(len(records), dtype=np.uint64)
    for column in records.columns:
        row = (row ^ column.astype(np.uint64)) * _MIXER
        row ^= row >> np.uint64(29)
    return np.int64(row.sum(dtype=np.uint64).astype(np.int64))


def added(batches: Batches) -> Iterator[pa.RecordBatch]:
    """The sum of rows of counts."""
    total = None
    for batch in batches:
        for value in batch.column("counts"):
            counts = np.frombuffer(value.as_py(), dtype=np.int64)
            total = counts.copy() if total is None else total + counts
    if total is not None:
        yield _bytes(total.tobytes())


def _names(attributes: int, schema: Schema) -> list[str]:
    person = ["person", "priority"] if schema.unit.column is not None else []
    return [*(f"c{place}" for place in range(attributes)), *person, "refusal"]


def _refusal(attributes: int, schema: Schema, message: str) -> pa.RecordBatch:
    arrays = [pa.array([0], pa.int32())] * attributes
    if schema.unit.column is not None:
        arrays += [pa.array([""], pa.string()), pa.array([0], pa.int64())]
    return pa.RecordBatch.from_arrays([*arrays, pa.array([message], pa.string())], names=_names(attributes, schema))


def _weighted(domain: Domain, batch: pa.RecordBatch) -> Iterator[tuple[Records, int]]:
    """The rows of a batch by what they count."""
    columns = [batch.column(f"c{place}").to_numpy(zero_copy_only=False) for place in range(len(domain))]
    records = Records(domain, columns)
    if "weight" not in batch.schema.names:
        yield records, 1
        return
    weights = batch.column("weight").to_numpy(zero_copy_only=False)
    for weight in np.unique(weights).tolist():
        yield records.take(np.flatnonzero(weights == weight)), weight


def _bytes(content: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([content], pa.binary())], names=["counts"])
