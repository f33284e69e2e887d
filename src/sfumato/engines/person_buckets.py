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
from sfumato.engines.persons import Words, first_of_each, identities, priorities
from sfumato.engines.spool import Spool, private_file, row_bytes, write_whole
from sfumato.intake.intake import Rows
from sfumato.schema.column_base import Unit

BUCKETS = 64
"""All rows of a person go to one bucket; a 64th of all identifiers must fit in memory."""

_FIELDS = ("row", "priority", "key")


def kept_blocks_on_disk(domain: Domain, rows: Iterable[Rows], unit: Unit, words: Words) -> Iterator[Records]:
    """What `persons.kept_blocks` gives, with memory for one block, one bucket and a bit for each row."""
    if unit.column is None:
        yield from (block.records for block in rows)
        return
    with ExitStack() as files:
        buckets = [files.enter_context(private_file()) for _ in range(BUCKETS)]
        spool = Spool(domain, _dealt(rows, unit, words, buckets, row_bytes(domain)))
        files.callback(spool.close)
        sizes = [len(block) for block in spool.blocks()]
        kept = np.zeros(sum(sizes) // 8 + 1, dtype=np.uint8)
        for bucket in buckets:
            _keep(bucket, unit.rows, kept)
        start = 0
        for block in spool.blocks():
            inside = np.unpackbits(kept[start // 8 : (start + len(block)) // 8 + 1], bitorder="little")
            chosen = np.flatnonzero(inside[start % 8 : start % 8 + len(block)])
            yield block.records().take(chosen)
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


def _keep(file: IO[bytes], most: int, kept: NDArray[np.uint8]) -> None:
    """Mark the rows of one bucket that are kept."""
    file.seek(0)
    parts = []
    while size := file.read(8):
        parts.append(pa.ipc.open_stream(file.read(int.from_bytes(size, "little"))).read_all())
    if not parts:
        return
    table = pa.concat_tables(parts)
    row, priority, key = (table[name].to_numpy() for name in _FIELDS)
    chosen = row[first_of_each(identities(table["person"].chunks), priority, key, most)]
    np.bitwise_or.at(kept, chosen // 8, np.uint8(1) << (chosen % 8).astype(np.uint8))
