"""Where rows come in: read, coded and counted by an engine that only a holder has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sfumato import tables
from sfumato.engines import Engine
from sfumato.engines.memory import Memory
from sfumato.engines.persons import kept_blocks
from sfumato.errors import SfumatoError
from sfumato.intake.intake import Intake, Rows
from sfumato.intake.refusals import check_lists
from sfumato.privacy.entropy import Entropy, SystemEntropy
from sfumato.privacy.holder import LocalHolder
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.party_holder import PartyHolder
from sfumato.schema.schema import Schema


def open_local(data: Any, schema: Schema, ledger: Ledger, entropy: Entropy | None = None) -> LocalHolder:
    """A holder of a table, in the attributes of its schema. Refuses a table that does not fit; nothing is charged."""
    entropy = entropy or SystemEntropy()
    return LocalHolder(open_engine(data, schema, entropy), Neighbours.of(schema), ledger, entropy)


def open_party(data: Any, schema: Schema, entropy: Entropy | None = None) -> PartyHolder:
    """The holder of one party of many. Refuses a table that does not fit."""
    entropy = entropy or SystemEntropy()
    return PartyHolder(open_engine(data, schema, entropy), Neighbours.of(schema), entropy)


def open_engine(data: Any, schema: Schema, entropy: Entropy) -> Engine:
    """An engine for the rows of a table, of which each person keeps at most as many as the schema says."""
    intake = Intake(schema)
    try:
        rows = list(kept_blocks(_coded(data, schema, intake), schema.unit, entropy.words))
        check_lists(schema, sum(map(len, rows)))
        return Memory(intake.domain, rows)
    except SfumatoError as problem:
        refusal = type(problem)(*problem.args)
    # A new exception, raised here: the frames and the context of the first one hold rows.
    raise refusal


def _coded(data: Any, schema: Schema, intake: Intake) -> Iterator[Rows]:
    for batch in tables.batches(data, schema):
        yield intake.encode(batch)
