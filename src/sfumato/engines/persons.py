"""At most k rows of each person, whoever else is in the table. The argument: docs/proofs/sensitivity.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.records import Records
from sfumato.intake.intake import Rows
from sfumato.schema.column_base import Unit

Ints = NDArray[np.int64]
Words = Callable[[int], NDArray[np.uint64]]
"""Draws this many random words."""


@dataclass(frozen=True, eq=False)
class Kept:
    """The rows that are counted, in blocks; a row of block i counts `weights[i]`.

    `sizes` has the number of rows of each person before any was cut; None, where the schema names no identifier.
    """

    blocks: tuple[Records, ...]
    weights: tuple[int, ...]
    sizes: Ints | None


def kept(rows: Iterable[Rows], unit: Unit, words: Words) -> Kept:
    """The rows that are counted, and how much each of them counts: 1, or its share of its person's parts.

    Of each person `unit.rows` rows are kept: a uniformly random choice, or the first or the latest by the code of the
    column that the schema names, ties broken at random. Every row gets a random number of its own, so what is kept of
    one person does not depend on anybody else.
    """
    blocks = list(rows)
    if unit.column is None:
        return Kept(tuple(block.records for block in blocks), (1,) * len(blocks), None)
    keys = [words(len(block.records)) for block in blocks]
    person = identities([block.persons for block in blocks if block.persons is not None])
    shares = shared_by(person, priorities(blocks, unit.keep), np.concatenate([np.zeros(0, np.uint64), *keys]), unit)
    found: list[tuple[Records, int]] = []
    start = 0
    for block in blocks:
        found += weighted(block.records, shares[start : start + len(block.records)], unit.parts)
        start += len(block.records)
    return Kept(tuple(part for part, _ in found), tuple(weight for _, weight in found), np.bincount(person))


def shared_by(person: Ints, priority: Ints, key: NDArray[np.uint64], unit: Unit) -> Ints:
    """For each row by how many rows its person is shared: 1 where rows are counted, and 0 for a row that is cut."""
    chosen = first_of_each(person, priority, key, unit.rows)
    if unit.parts == 1:
        return chosen.astype(np.int64)
    # Of m rows, min(m, most) are kept, whichever they are.
    return np.where(chosen, np.minimum(np.bincount(person), unit.rows)[person], 0)


def weighted(block: Records, shares: NDArray[np.integer], parts: int) -> list[tuple[Records, int]]:
    """The rows of a block by their share of their person's parts, each group with what a row of it counts."""
    return [
        (block if (shares == count).all() else block.take(np.flatnonzero(shares == count)), parts // count)
        for count in np.unique(shares).tolist()
        if count
    ]


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
    return precedence(order, keep)


def precedence(order: NDArray[np.int64], keep: str) -> NDArray[np.int64]:
    """The same for places in an order, of which negative ones are none."""
    last = np.int64(np.iinfo(np.int64).max)
    return np.where(order < 0, last, -order if keep == "latest" else order)
