"""A party's seat in a study: its rows, its key, its store and its operator, and what the operator is shown."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from sfumato.identity import Signer
from sfumato.parties.letters import ROUNDS, Members, numbered
from sfumato.parties.store import Record, Store
from sfumato.privacy.budget import Budget
from sfumato.privacy.ledger import Ledger, Statement
from sfumato.privacy.party_holder import PartyHolder


@dataclass(frozen=True)
class AskedTable:
    """One table that is asked for, in words: its columns, the codes they are in, and the noise it is to have."""

    columns: str
    codes: str
    noise: str


@dataclass(frozen=True)
class Summary:
    """What a party is about to agree to, for its operator.

    Args:
        round: the number of the round.
        attempt: which attempt at it.
        stage: the stage of the method that asks.
        tables: what is asked for, the tables with the least noise first.
        cells: of all tables.
        bytes: that will be sent.
        before: what is spent without this round, in terms of the budget.
        after: what is spent with it.
        observed: the columns in it whose domain was read from somebody's data, which no noise covers.
    """

    round: int
    attempt: int
    stage: str
    tables: tuple[AskedTable, ...]
    cells: int
    bytes: int
    before: dict[str, float]
    after: dict[str, float]
    observed: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What is agreed to, by its number."""
        return numbered(self.round).capitalize()

    @property
    def sends(self) -> str:
        """How much leaves, and how."""
        if self.round >= ROUNDS:
            return "which candidate was drawn, and nothing else"
        many = "1 table" if len(self.tables) == 1 else f"{len(self.tables):,} tables"
        return f"{many}, {self.cells:,} cells, {self.bytes:,} bytes, masked"

    @property
    def shows(self) -> str:
        """What others see of it."""
        if self.round >= ROUNDS:
            return "This party chooses alone, on its own rows, and pays for it alone. Nobody sees a count."
        return "Nobody sees your counts alone: only the sum over all parties is opened."


Approve = Callable[[Summary], bool]


@dataclass(frozen=True)
class Seat:
    """All that one party brings to a study.

    Args:
        name: its name among the members.
        members: who takes part.
        signer: its private key.
        holder: its rows.
        budget: what the study may cost the persons in its rows.
        store: what it must not forget.
        approve: asked before anything is promised.
        observed: the columns of the schema whose domain was read from somebody's data; shown to the operator.
    """

    name: str
    members: Members
    signer: Signer
    holder: PartyHolder
    budget: Budget
    store: Store
    approve: Approve = lambda summary: True
    observed: tuple[str, ...] = ()

    def statement(self) -> Statement:
        """What this party has spent."""
        return self.ledger().statement()

    def ledger(self, without: Sequence[Record] = ()) -> Ledger:
        """The journal of all that counts as spent, perhaps without some attempts."""
        ledger = Ledger(self.budget, str(self.holder.neighbours), self.observed)
        for stage, entries in groupby(self.store.spent(without), key=itemgetter(0)):
            ledger.stage = stage
            ledger.charge(*(event for _, event in entries))
        return ledger


def joined(*parts: bytes) -> bytes:
    """Several parts as one payload; what is joined to it later leaves these bytes as they are."""
    return b"".join(struct.pack(">I", len(part)) + part for part in parts)


def parts_of(payload: bytes) -> list[bytes]:
    """The parts of a payload that `joined` made."""
    parts, start = [], 0
    while start < len(payload):
        (length,) = struct.unpack_from(">I", payload, start)
        parts.append(payload[start + 4 : start + 4 + length])
        start += 4 + length
    return parts
