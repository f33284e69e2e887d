"""At most k rows of each person, whoever else is in the table. The argument: docs/proofs/sensitivity.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.records import Records
from sfumato.intake.intake import Rows
from sfumato.schema.column_base import Unit

Words = Callable[[int], NDArray[np.uint64]]
"""Draws this many random words."""


def kept_blocks(rows: Iterable[Rows], unit: Unit, words: Words) -> Iterator[Records]:
    """The rows that are counted, block by block.

    Of each person `unit.rows` rows are kept: a uniformly random choice, or the first or the latest by the code of the
    column that the schema names, ties broken at random. Every row gets a random number of its own, so what is kept of
    one person does not depend on anybody else.
    """
    if unit.column is None:
        yield from (block.records for block in rows)
        return
    blocks = list(rows)
    keys = [words(len(block.records)) for block in blocks]
    kept = first_of_each(
        identities([block.persons for block in blocks if block.persons is not None]),
        priorities(blocks, unit.keep),
        np.concatenate([np.zeros(0, np.uint64), *keys]),
        unit.rows,
    )
    start = 0
    for block in blocks:
        inside = kept[start : start + len(block.records)]
        start += len(block.records)
        yield block.records if inside.all() else block.records.take(np.flatnonzero(inside))


def first_of_each(
    person: NDArray[np.int64], priority: NDArray[np.int64], key: NDArray[np.uint64], most: int
) -> NDArray[np.bool_]:
    """Which rows are among the first `most` of their person, by priority and then by key."""
    order = np.lexsort((key, priority, person))
    sizes = np.bincount(person)
    rank = np.empty(len(person), dtype=np.int64)
    rank[order] = np.arange(len(person)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray(rank < most)


def identities(persons: Sequence[pa.Array]) -> NDArray[np.int64]:
    """A number for each row, the same for rows of one person."""
    if not persons:
        return np.zeros(0, dtype=np.int64)
    encoded = pa.chunked_array(persons).combine_chunks().dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)


def priorities(blocks: Sequence[Rows], keep: str) -> NDArray[np.int64]:
    """Which rows of a person come first; rows without an order are last, and all are equal for a random choice."""
    if keep == "random":
        return np.zeros(sum(len(block.records) for block in blocks), dtype=np.int64)
    order = np.concatenate([np.zeros(0, np.int64), *(block.order for block in blocks if block.order is not None)])
    last = np.int64(np.iinfo(np.int64).max)
    return np.where(order < 0, last, -order if keep == "latest" else order)
