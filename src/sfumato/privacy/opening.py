"""Where rows come in: read, coded and counted by an engine that only a holder has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sfumato.data.records import Records
from sfumato.engines import Engine, sources, spark, sql
from sfumato.engines.database import Database
from sfumato.engines.memory import Memory
from sfumato.engines.opening import open_rows
from sfumato.engines.spool import row_bytes
from sfumato.errors import DataError, Fault, MethodError, SfumatoError
from sfumato.intake.intake import Intake, Rows
from sfumato.intake.refusals import check_lists
from sfumato.privacy.entropy import Entropy, SystemEntropy
from sfumato.privacy.holder import LocalHolder
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.party_holder import PartyHolder
from sfumato.schema.schema import Schema


def open_local(
    data: Any, schema: Schema, ledger: Ledger, entropy: Entropy | None = None, engine: str = "auto"
) -> LocalHolder:
    """A holder of a table, in the attributes of its schema. Refuses a table that does not fit; nothing is charged."""
    entropy = entropy or SystemEntropy()
    opened = open_engine(data, schema, entropy, engine)
    return LocalHolder(opened, Neighbours.of(schema), ledger, entropy, persons=opened.sizes)


def open_party(
    data: Any,
    schema: Schema,
    entropy: Entropy | None = None,
    parties: int = 1,
    seen: Callable[[Rows], None] = lambda rows: None,
) -> PartyHolder:
    """The holder of one party of many. Refuses a table that does not fit.

    Args:
        data: its table.
        schema: the public schema.
        entropy: for tests.
        parties: at how many parties a person may be.
        seen: called with each batch of coded rows, before any are left out.
    """
    entropy = entropy or SystemEntropy()
    return PartyHolder(open_engine(data, schema, entropy, seen=seen), Neighbours.of(schema, parties), entropy)


def open_simulated(schema: Schema, rows: int, parties: int = 1) -> PartyHolder:
    """The holder of a party that only rehearses: its rows are drawn uniformly from the schema, and are nobody's."""
    entropy, domain = SystemEntropy(), Intake(schema).domain
    columns = ((entropy.words(rows) % np.uint64(size)).astype(np.int64) for size in domain.shape)
    return PartyHolder(Memory(domain, [Records(domain, columns)]), Neighbours.of(schema, parties), entropy)


def open_engine(
    data: Any,
    schema: Schema,
    entropy: Entropy,
    engine: str = "auto",
    seen: Callable[[Rows], None] = lambda rows: None,
) -> Engine:
    """An engine for the rows of a table, of which each person keeps at most as many as the schema says."""
    intake = Intake(schema)
    try:
        if spark.is_named(data):
            data = spark.table_of(data)
        if spark.is_frame(data):
            return _checked(spark.Spark(data, schema, entropy.words), schema)
        if engine == "sql":
            if not sql.is_source(data):
                raise MethodError(
                    f"engine 'sql' counts inside a database; name a table in one: {sql.FORMS}, or give an Ibis table"
                )
            return _checked(Database(data, schema, entropy.words), schema)
        coded = _Counted(_coded(data, schema, intake, seen))
        opened = open_rows(engine, intake.domain, coded, schema.unit, entropy.words)
        check_lists(schema, coded.rows)
        return opened
    except SfumatoError as problem:
        refusal: SfumatoError = type(problem)(*problem.args)
    except MemoryError:
        refusal = DataError(
            f"memory ended while the table was read; in memory it needs {row_bytes(intake.domain)} bytes a row and the "
            "room to read a part of it: give engine 'spool', which keeps rows on disk"
        )
    except Exception as problem:
        refusal = Fault.at(problem)
    # A new exception, raised here: the frames and the context of the first one hold rows.
    raise refusal


def _checked(opened: spark.Spark | Database, schema: Schema) -> Engine:
    """The engine, unless a list of the schema is a copy of its column; then it is closed."""
    try:
        check_lists(schema, opened.rows)
    except DataError:
        opened.close()
        raise
    return opened


def _coded(data: Any, schema: Schema, intake: Intake, seen: Callable[[Rows], None]) -> Iterator[Rows]:
    for batch in sources.batches(data, schema):
        rows = intake.encode(batch)
        seen(rows)
        yield rows


class _Counted:
    """Coded rows that are counted as they pass."""

    def __init__(self, blocks: Iterator[Rows]):
        self.rows = 0
        self._blocks = blocks

    def __iter__(self) -> Iterator[Rows]:
        for block in self._blocks:
            self.rows += len(block.records)
            yield block


def kind_of(data: Any) -> str:
    """What kind of table samples come as, if this is what they were learned from."""
    return sources.kind_of(data)
