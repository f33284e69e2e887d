"""What a member must not forget: one record for each round and attempt, written before it acts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from sfumato.privacy.ledger import Entry


class State(Enum):
    """How far an attempt is. At a party, RESERVED counts as spent until it is ABORTED, and SENT is spent for good."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    RESERVED = "reserved"
    COMPUTED = "computed"
    SENT = "sent"
    OPENED = "opened"
    ABORTED = "aborted"


COUNTED = (State.RESERVED, State.COMPUTED, State.SENT, State.OPENED)
"""States whose events count against the budget of a party."""


@dataclass(frozen=True)
class Record:
    """One attempt at one round.

    `asked` names the questions (see `Ask.digest`), `entries` are the events that they cost, and `payload` is what the
    state needs: at a party, its key and the questions in RESERVED, and the bytes to send from COMPUTED on; at the
    curator, the roster in COMPUTED, and the sum in OPENED.
    """

    round: int
    attempt: int
    state: State
    asked: str
    payload: bytes = b""
    entries: tuple[Entry, ...] = ()


class Store(Protocol):
    """The memory of one member in one study. What `save` was given is safe when it returns, or `save` does not."""

    def load(self, round_: int, attempt: int) -> Record | None:
        """The record of an attempt, if there is one."""
        ...

    def attempts(self, round_: int) -> tuple[Record, ...]:
        """All records of a round, in the order of their attempts."""
        ...

    def save(self, record: Record) -> None:
        """Keep a record in the place of an earlier one of the same round and attempt."""
        ...

    def spent(self) -> tuple[Entry, ...]:
        """The entries of all records in a state that counts (see COUNTED), in the order of rounds and attempts."""
        ...


class MemoryStore:
    """A store that lasts as long as its process; for runs in one process, and for tests."""

    def __init__(self) -> None:
        self._records: dict[tuple[int, int], Record] = {}

    def load(self, round_: int, attempt: int) -> Record | None:
        """The record of an attempt, if there is one."""
        return self._records.get((round_, attempt))

    def attempts(self, round_: int) -> tuple[Record, ...]:
        """All records of a round, in the order of their attempts."""
        return tuple(record for record in self if record.round == round_)

    def save(self, record: Record) -> None:
        """Keep a record in the place of an earlier one of the same round and attempt."""
        self._records[record.round, record.attempt] = record

    def spent(self) -> tuple[Entry, ...]:
        """The entries of all records in a state that counts."""
        return tuple(entry for record in self if record.state in COUNTED for entry in record.entries)

    def __iter__(self) -> Iterator[Record]:
        return iter([self._records[place] for place in sorted(self._records)])
