"""At most k rows of each person where rows do not fit in memory: persons are dealt to buckets, read one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import IO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.engines.persons import Words, identities, priorities, shared_by, weighted
from sfumato.engines.spool import Spool, private_file, row_bytes, write_whole
from sfumato.intake.intake import Rows
from sfumato.schema.column_base import Unit

BUCKETS = 64
"""All rows of a person go to one bucket; a 64th of all identifiers must fit in memory."""

_FIELDS = ("row", "priority", "key")


def spooled(domain: Domain, rows: Iterable[Rows], unit: Unit, words: Words) -> Spool:
    """A spool of the rows that `persons.kept` keeps.

    It takes memory for one block, one bucket, a byte for each row and four for each person.
    """
    if unit.column is None:
        return Spool(domain, ((block.records, 1) for block in rows))
    sizes: list[NDArray[np.int32]] = [np.zeros(0, dtype=np.int32)]
    spool = Spool(domain, _kept(domain, rows, unit, words, sizes))
    spool.sizes = np.concatenate(sizes)
    return spool


def _kept(
    domain: Domain, rows: Iterable[Rows], unit: Unit, words: Words, sizes: list[NDArray[np.int32]]
) -> Iterator[tuple[Records, int]]:
    """The rows that are kept, in blocks, and what each counts; the rows of each person are added to `sizes`."""
    with ExitStack() as files:
        buckets = [files.enter_context(private_file()) for _ in range(BUCKETS)]
        everyone = Spool(domain, ((block, 1) for block in _dealt(rows, unit, words, buckets, row_bytes(domain))))
        files.callback(everyone.close)
        lengths = [len(block) for block in everyone.blocks()]
        shares = np.zeros(sum(lengths), dtype=np.uint8)
        for bucket in buckets:
            sizes.append(_share(bucket, unit, shares))
        start = 0
        for block in everyone.blocks():
            yield from weighted(block.records(), shares[start : start + len(block)], unit.parts)
            start += len(block)


def _dealt(
    rows: Iterable[Rows], unit: Unit, words: Words, buckets: list[IO[bytes]], bytes_a_row: int
) -> Iterator[Records]:
    """The blocks as they come, after what decides about their rows was written to the buckets."""
    start = 0
    for block in rows:
        size = len(block.records)
        persons = pa.array([], pa.large_string()) if block.persons is None else block.persons
        place = _buckets(persons)
        table = pa.table(
            {
                "person": persons,
                "row": np.arange(start, start + size),
                "priority": priorities([block], unit.keep),
                "key": words(size),
            }
        )
        for number, file in enumerate(buckets):
            members = table.take(pa.array(np.flatnonzero(place == number)))
            if len(members):
                sink = pa.BufferOutputStream()
                with pa.ipc.new_stream(sink, table.schema) as stream:
                    stream.write_table(members)
                content = sink.getvalue().to_pybytes()
                write_whole(file, len(content).to_bytes(8, "little") + content, bytes_a_row + 64)
        start += size
        yield block.records


def _buckets(persons: pa.Array) -> NDArray[np.int64]:
    """The bucket of each row, the same for rows of one person. Python's hash of text is keyed: nobody can fill one."""
    encoded = persons.dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    place = np.array([hash(one) % BUCKETS for one in encoded.dictionary.to_pylist()], dtype=np.int64)
    return place[encoded.indices.to_numpy(zero_copy_only=False)] if len(place) else np.zeros(0, dtype=np.int64)


def _share(file: IO[bytes], unit: Unit, shares: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Tell for each row of one bucket by how many its person is shared, 0 if it is cut; the rows of each person."""
    file.seek(0)
    parts = []
    while size := file.read(8):
        parts.append(pa.ipc.open_stream(file.read(int.from_bytes(size, "little"))).read_all())
    if not parts:
        return np.zeros(0, dtype=np.int32)
    table = pa.concat_tables(parts)
    row, priority, key = (table[name].to_numpy() for name in _FIELDS)
    person = identities(table["person"].chunks)
    shares[row] = shared_by(person, priority, key, unit)
    return np.minimum(np.bincount(person), np.iinfo(np.int32).max).astype(np.int32)
