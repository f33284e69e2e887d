"""What a member must not forget: one record for each round and attempt, written before it acts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

from sfumato.privacy.ledger import Entry


class State(Enum):
    """How far an attempt is. At a party, RESERVED counts as spent until it is ABORTED, and SENT is spent for good."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    RESERVED = "reserved"
    COMPUTED = "computed"
    SENT = "sent"
    REVEALED = "revealed"
    OPENED = "opened"
    ABORTED = "aborted"


FINAL = (State.SENT, State.REVEALED, State.OPENED)
"""States in which a vector has left, so its cost is spent whatever happens."""

COUNTED = (State.RESERVED, State.COMPUTED, *FINAL)
"""States whose events count against the budget of a party."""


class Head(NamedTuple):
    """The head of a member's audit log: how many lines it has, and the hash of the last one."""

    length: int
    digest: str

    def __str__(self) -> str:
        return f"{self.length}:{self.digest}"

    @classmethod
    def read(cls, text: str) -> Head:
        """A head from its text; anything else is a ValueError."""
        length, digest = text.split(":")
        if not re.fullmatch("[0-9]{1,9}", length) or not re.fullmatch("[0-9a-f]{64}", digest):
            raise ValueError
        return cls(int(length), digest)


NO_HEAD = Head(0, "0" * 64)
"""The head of a log without lines."""


@dataclass(frozen=True)
class Record:
    """One attempt at one round.

    `asked` names the questions (see `Ask.digest`), `entries` are the events that they cost, and `payload` is what the
    state needs: at a party, its keys and the questions in RESERVED, and the bytes to send from COMPUTED on; at the
    curator, the roster in COMPUTED, what parties have signed in SENT, who is in the sum in REVEALED, and the sum in
    OPENED.
    """

    round: int
    attempt: int
    state: State
    asked: str
    payload: bytes = b""
    entries: tuple[Entry, ...] = ()

    @property
    def place(self) -> tuple[int, int]:
        """Its round and attempt."""
        return self.round, self.attempt


class Store(Protocol):
    """The memory of one member in one study. What `save` was given is safe when it returns, or `save` does not."""

    def load(self, round_: int, attempt: int) -> Record | None:
        """The record of an attempt, if there is one."""
        ...

    def attempts(self, round_: int) -> tuple[Record, ...]:
        """All records of a round, in the order of their attempts."""
        ...

    @property
    def head(self) -> Head:
        """Stands for everything that this member has written down so far."""
        ...

    @property
    def heads(self) -> Mapping[str, Head]:
        """The last head of each party that this member has seen and signed, its own among them."""
        ...

    def save(self, record: Record, heads: Mapping[str, Head] | None = None) -> None:
        """Keep a record instead of an earlier one of the same round and attempt, and heads with it."""
        ...

    def spent(self, without: Sequence[Record] = ()) -> tuple[Entry, ...]:
        """The entries of all records in a state that counts (see COUNTED), in the order of rounds and attempts.

        Those of the attempts `without` are left out.
        """
        ...


class MemoryStore:
    """A store that lasts as long as its process; for runs in one process, and for tests."""

    def __init__(self) -> None:
        self._records: dict[tuple[int, int], Record] = {}
        self.head = NO_HEAD
        self.heads: dict[str, Head] = {}

    def load(self, round_: int, attempt: int) -> Record | None:
        """The record of an attempt, if there is one."""
        return self._records.get((round_, attempt))

    def attempts(self, round_: int) -> tuple[Record, ...]:
        """All records of a round, in the order of their attempts."""
        return tuple(record for record in self if record.round == round_)

    def save(self, record: Record, heads: Mapping[str, Head] | None = None) -> None:
        """Keep a record instead of an earlier one of the same round and attempt, and heads with it."""
        self._records[record.round, record.attempt] = record
        self.heads |= heads or {}
        line = f"{self.head.digest}{record.round}{record.attempt}{record.state}{record.asked}".encode()
        self.head = Head(self.head.length + 1, hashlib.sha256(line).hexdigest())

    def spent(self, without: Sequence[Record] = ()) -> tuple[Entry, ...]:
        """The entries of all records in a state that counts, but for some attempts."""
        left_out = {record.place for record in without}
        counted = (record for record in self if record.state in COUNTED and record.place not in left_out)
        return tuple(entry for record in counted for entry in record.entries)

    def __iter__(self) -> Iterator[Record]:
        return iter([self._records[place] for place in sorted(self._records)])
