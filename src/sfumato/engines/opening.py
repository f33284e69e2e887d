"""Which engine counts a table: in memory while its codes are few, and on disk from a size on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from sfumato.data.domain import Domain
from sfumato.engines import Engine
from sfumato.engines.memory import Memory
from sfumato.engines.person_buckets import spooled
from sfumato.engines.persons import Words, kept
from sfumato.engines.spool import row_bytes
from sfumato.errors import MethodError
from sfumato.intake.intake import Rows
from sfumato.schema.column_base import Unit

ENGINES = ("auto", "memory", "spool", "sql")
"""How rows may be kept: `auto` is memory up to `SPOOL_ABOVE` bytes of codes, and the spool beyond. With `sql` they stay
in their database, which counts them."""

SPOOL_ABOVE = 1 << 28
"""Bytes of codes that `auto` keeps in memory: 18 million rows of 15 small columns."""


def open_rows(engine: str, domain: Domain, rows: Iterable[Rows], unit: Unit, words: Words) -> Engine:
    """An engine over the rows that the unit keeps of each person. Every row is read and coded here, once."""
    if engine not in ENGINES:
        raise MethodError(f"engine {engine!r} is unknown; known ones are {', '.join(ENGINES)}")
    if engine == "memory":
        return _in_memory(domain, rows, unit, words)
    coded = iter(rows)
    first = list(_first(coded, domain)) if engine == "auto" else []
    if engine == "auto" and sum(len(block.records) for block in first) * row_bytes(domain) <= SPOOL_ABOVE:
        return _in_memory(domain, first, unit, words)
    return spooled(domain, chain(_handed_over(first), coded), unit, words)


def _in_memory(domain: Domain, rows: Iterable[Rows], unit: Unit, words: Words) -> Memory:
    counted = kept(rows, unit, words)
    return Memory(domain, counted.blocks, counted.weights, counted.sizes)


def _first(rows: Iterator[Rows], domain: Domain) -> Iterator[Rows]:
    """Rows until they are too many for memory, or to the end."""
    taken = 0
    for block in rows:
        yield block
        taken += len(block.records) * row_bytes(domain)
        if taken > SPOOL_ABOVE:
            return


def _handed_over(blocks: list[Rows]) -> Iterator[Rows]:
    """Blocks from the front; each is forgotten as it leaves."""
    blocks.reverse()
    while blocks:
        yield blocks.pop()
