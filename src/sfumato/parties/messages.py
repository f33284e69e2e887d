"""Messages between a curator and its parties. How they travel: `parties.envelopes`.

ask     curator → party    the questions of a round
key     party → curator    it will answer exactly these; its keys for this attempt, and the head of its log
roster  curator → party    who answers, and the keys of its neighbours
ready   party → curator    its vector is computed and stored; the hash of it, signed with the roster
go      curator → party    everybody is ready, with its neighbours' signatures and the hash of all
share   party → curator    the vector
unmask  curator → keeper   whose vectors are in the sum; only where parties may stay away
reveal  keeper → curator   pieces of the secrets that take the masks off that sum, and no other
done    curator → party    the round is over

choose  curator → party    candidates, of which this party alone is to choose one on its own rows
chosen  party → curator    which one
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.parties.agreement import Go, Key, Ready, Roster
from sfumato.parties.choices import ChoiceQuestion
from sfumato.parties.letters import LARGE, MIDDLE, SMALL, Letter, Place, json_bytes, text_of
from sfumato.parties.questions import Question, pack, unpack


@dataclass(frozen=True)
class Ask(Letter):
    """The questions of a round, curator to party. `coding` says in which codes; both are data, never code."""

    kind: ClassVar[str] = "ask"
    limit: ClassVar[int] = LARGE
    stage: str
    coding: str
    questions: tuple[Question, ...]

    def body(self) -> bytes:
        """The questions, without anything that differs between recipients."""
        return json_bytes({"stage": self.stage, "coding": self.coding, **pack(self.questions)})

    @classmethod
    def from_body(cls, place: Place, body: bytes) -> Ask:
        """The question in a body that `body` made."""
        record = json.loads(body)
        return cls(*place, text_of(record["stage"]), text_of(record["coding"]), unpack(record))

    @property
    def digest(self) -> str:
        """Names exactly these questions in this round and attempt: all parties must have been asked the same."""
        return hashlib.sha256(json_bytes([self.round, self.attempt]) + self.body()).hexdigest()


@dataclass(frozen=True, eq=False)
class Share(Letter):
    """Counts, noise share and masks of one party, modulo 2^64: all tables of the round, cell after cell."""

    kind: ClassVar[str] = "share"
    limit: ClassVar[int] = LARGE
    vector: NDArray[np.uint64]

    def body(self) -> bytes:
        """The vector, 8 bytes for each cell."""
        return self.vector.astype("<u8").tobytes()

    @classmethod
    def from_body(cls, place: Place, body: bytes) -> Share:
        """The vector in a body that `body` made."""
        return cls(*place, np.frombuffer(body, dtype="<u8").astype(np.uint64, copy=False))

    @property
    def digest(self) -> str:
        """SHA-256 of the vector."""
        return hashlib.sha256(self.body()).hexdigest()


@dataclass(frozen=True)
class Unmask(Letter):
    """Whose vectors are in the sum, curator to party."""

    kind: ClassVar[str] = "unmask"
    limit: ClassVar[int] = MIDDLE
    names: tuple[str, ...]

    def body(self) -> bytes:
        """The names."""
        return json_bytes(list(self.names))

    @classmethod
    def from_body(cls, place: Place, body: bytes) -> Unmask:
        """The message in a body that `body` made."""
        return cls(*place, tuple(map(text_of, json.loads(body))))


@dataclass(frozen=True)
class Reveal(Letter):
    """Pieces of secrets: of the own mask of each party in the sum, and of the key of each that is not."""

    kind: ClassVar[str] = "reveal"
    limit: ClassVar[int] = MIDDLE
    names: tuple[str, ...]
    pieces: Mapping[str, str]

    def body(self) -> bytes:
        """Whose vectors are in the sum, and the pieces."""
        return json_bytes([list(self.names), dict(self.pieces)])

    @classmethod
    def from_body(cls, place: Place, body: bytes) -> Reveal:
        """The message in a body that `body` made."""
        names, pieces = json.loads(body)
        return cls(*place, tuple(map(text_of, names)), {text_of(one): text_of(piece) for one, piece in pieces.items()})


@dataclass(frozen=True)
class Choose(Letter):
    """Candidates of which one party is to choose one, curator to party.

    `answered` has the round and attempt of every choice that this party has made in the study.
    """

    kind: ClassVar[str] = "choose"
    limit: ClassVar[int] = LARGE
    stage: str
    coding: str
    question: ChoiceQuestion
    answered: tuple[tuple[int, int], ...]

    def body(self) -> bytes:
        """The candidates, in which codes, and what was chosen before."""
        earlier = [list(one) for one in self.answered]
        return json_bytes({"stage": self.stage, "coding": self.coding, "answered": earlier, **self.question.pack()})

    @classmethod
    def from_body(cls, place: Place, body: bytes) -> Choose:
        """The question in a body that `body` made."""
        record = json.loads(body)
        answered = tuple((int(round_), int(attempt)) for round_, attempt in record["answered"])
        return cls(*place, text_of(record["stage"]), text_of(record["coding"]), ChoiceQuestion.unpack(record), answered)

    @property
    def digest(self) -> str:
        """Names exactly this choice in this round and attempt."""
        return hashlib.sha256(json_bytes([self.round, self.attempt]) + self.body()).hexdigest()


@dataclass(frozen=True)
class Chosen(Letter):
    """The place of the candidate that a party has chosen, and the digest of what it was asked."""

    kind: ClassVar[str] = "chosen"
    limit: ClassVar[int] = SMALL
    asked: str
    place: int

    def body(self) -> bytes:
        """The digest and the place."""
        return json_bytes([self.asked, self.place])

    @classmethod
    def from_body(cls, place: Place, body: bytes) -> Chosen:
        """The answer in a body that `body` made."""
        asked, chosen = json.loads(body)
        if type(chosen) is not int:
            raise ValueError
        return cls(*place, text_of(asked), chosen)


@dataclass(frozen=True)
class Notice(Letter):
    """A message of one short text."""

    limit: ClassVar[int] = SMALL
    text: str

    def body(self) -> bytes:
        """The text."""
        return json_bytes(self.text)

    @classmethod
    def from_body(cls, place: Place, body: bytes) -> Self:
        """The notice in a body that `body` made."""
        return cls(*place, text_of(json.loads(body)))


@dataclass(frozen=True)
class Refusal(Notice):
    """A party will not answer, and says why; the reason never depends on its rows."""

    kind: ClassVar[str] = "refusal"


@dataclass(frozen=True)
class Done(Notice):
    """The round is over, curator to party; the text is the hash of the noisy tables of the union."""

    kind: ClassVar[str] = "done"


@dataclass(frozen=True)
class End(Notice):
    """The study is over, curator to party; the text says why, and is empty if all went well."""

    kind: ClassVar[str] = "end"


Message = Ask | Key | Roster | Ready | Go | Share | Unmask | Reveal | Choose | Chosen | Refusal | Done | End
