"""The messages with which parties agree before anything leaves them: keys, the roster, and that all are ready.

What a party signs in them is passed on to all others, so each can show to a third person what everybody has promised,
what everybody was about to send, and how far everybody's log had come (`parties.receipts`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from sfumato.identity import Signer
from sfumato.parties.letters import CURATOR, MIDDLE, SMALL, Letter, Members, Place, json_bytes, signed_by, text_of
from sfumato.parties.store import NO_HEAD


@dataclass(frozen=True)
class Key(Letter):
    """A party's keys for one attempt: it has agreed to answer exactly the questions that `asked` names.

    Args:
        asked: the digest of the questions.
        public: its X25519 key for the masks, in hexadecimal digits.
        sealing: its X25519 key for pieces of others' secrets; empty where nobody may stay away.
        head: the head of its audit log, which the others countersign.
        previous: the last head that it has given out. A log that was put back to an earlier state does not know it.
        signature: its owner's, over `content`, because keys are passed on to the other parties.
    """

    kind: ClassVar[str] = "key"
    limit: ClassVar[int] = SMALL
    asked: str
    public: str
    sealing: str = ""
    head: str = str(NO_HEAD)
    previous: str = str(NO_HEAD)
    signature: str = ""

    @property
    def fields(self) -> list[str]:
        """What the key says beside the questions, without the signature."""
        return [self.public, self.sealing, self.head, self.previous]

    def content(self, study: str) -> bytes:
        """What its owner signs."""
        return json_bytes(["sfumato key 2", study, self.round, self.attempt, self.sender, self.asked, *self.fields])

    def signed(self, study: str, signer: Signer) -> Key:
        """This key with its owner's signature."""
        return replace(self, signature=signer.sign(self.content(study)).hex())

    def is_signed(self, members: Members) -> bool:
        """Whether the party that it names signed it."""
        return self.sender in members.names and signed_by(
            members, self.sender, self.signature, self.content(members.study)
        )

    def body(self) -> bytes:
        """The keys."""
        return json_bytes([self.asked, *self.fields, self.signature])

    @classmethod
    def from_body(cls, place: Place, body: bytes) -> Key:
        """The key in a body that `body` made."""
        asked, public, sealing, head, previous, signature = map(text_of, json.loads(body))
        return cls(*place, asked, public, sealing, head, previous, signature)


@dataclass(frozen=True)
class Roster(Letter):
    """Who answers this attempt, with their keys for the same questions, curator to party."""

    kind: ClassVar[str] = "roster"
    limit: ClassVar[int] = MIDDLE
    asked: str
    keys: tuple[Key, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Who is on it."""
        return tuple(key.sender for key in self.keys)

    def body(self) -> bytes:
        """The keys, by the names of their owners."""
        return json_bytes(
            {"asked": self.asked, "keys": {key.sender: [*key.fields, key.signature] for key in self.keys}}
        )

    @classmethod
    def from_body(cls, place: Place, body: bytes) -> Roster:
        """The roster in a body that `body` made."""
        record = json.loads(body)
        asked, keys = text_of(record["asked"]), []
        for name, (public, sealing, head, previous, signature) in record["keys"].items():
            texts = map(text_of, (asked, public, sealing, head, previous, signature))
            keys.append(Key(place[0], place[1], name, CURATOR, *texts))
        return cls(*place, asked, tuple(keys))

    @cached_property
    def digest(self) -> str:
        """Names exactly these parties, keys and questions: masks are bound to it."""
        return hashlib.sha256(json_bytes([self.round, self.attempt]) + self.body()).hexdigest()


@dataclass(frozen=True)
class Ready(Letter):
    """A party has computed its vector and stored it; nothing of it has left.

    Args:
        roster: the digest of the roster. With it a party countersigns the heads of everybody's logs.
        vector: SHA-256 of the vector that it will send.
        pieces: for each party, sealed for it, its piece of the secrets that take this party's masks off.
        signature: its owner's, over `content`, because it is passed on.
    """

    kind: ClassVar[str] = "ready"
    limit: ClassVar[int] = MIDDLE
    roster: str
    vector: str
    pieces: Mapping[str, str]
    signature: str = ""

    @property
    def mark(self) -> Mark:
        """What of it goes to the other parties."""
        pieces = hashlib.sha256(json_bytes(dict(self.pieces))).hexdigest() if self.pieces else ""
        return Mark(self.sender, self.vector, pieces, self.signature)

    def signed(self, study: str, signer: Signer) -> Ready:
        """This message with its owner's signature inside."""
        content = self.mark.content(study, self.round, self.attempt, self.roster)
        return replace(self, signature=signer.sign(content).hex())

    def body(self) -> bytes:
        """All of it."""
        return json_bytes([self.roster, self.vector, dict(self.pieces), self.signature])

    @classmethod
    def from_body(cls, place: Place, body: bytes) -> Ready:
        """The message in a body that `body` made."""
        roster, vector, pieces, signature = json.loads(body)
        read = {text_of(name): text_of(piece) for name, piece in pieces.items()}
        return cls(*place, text_of(roster), text_of(vector), read, text_of(signature))


@dataclass(frozen=True)
class Mark:
    """A party's signature that it is ready: under a roster, for a vector, with sealed pieces."""

    sender: str
    vector: str
    pieces: str
    signature: str

    def content(self, study: str, round_: int, attempt: int, roster: str) -> bytes:
        """What its owner signs."""
        return json_bytes(["sfumato ready 1", study, round_, attempt, self.sender, roster, self.vector, self.pieces])

    def is_signed(self, members: Members, round_: int, attempt: int, roster: str) -> bool:
        """Whether the party that it names signed it, under this roster."""
        content = self.content(members.study, round_, attempt, roster)
        return self.sender in members.names and signed_by(members, self.sender, self.signature, content)


@dataclass(frozen=True)
class Go(Letter):
    """Everybody on the roster is ready, curator to party; from here on vectors are sent, and are spent.

    Args:
        roster: the digest of the roster.
        marks: everybody's signature.
        signature: the curator's, over the same.
        pieces: the pieces that others have sealed for the recipient.
    """

    kind: ClassVar[str] = "go"
    limit: ClassVar[int] = MIDDLE
    roster: str
    marks: tuple[Mark, ...]
    signature: str
    pieces: Mapping[str, str]

    def content(self, study: str) -> bytes:
        """What the curator signs, the same for all."""
        return json_bytes(["sfumato go 1", study, self.round, self.attempt, self.roster, self._marks()])

    def signed(self, study: str, signer: Signer) -> Go:
        """This message with the curator's signature inside."""
        return replace(self, signature=signer.sign(self.content(study)).hex())

    def is_signed(self, members: Members) -> bool:
        """Whether the curator signed it."""
        return signed_by(members, CURATOR, self.signature, self.content(members.study))

    def body(self) -> bytes:
        """All of it."""
        return json_bytes([self.roster, self._marks(), self.signature, dict(self.pieces)])

    @classmethod
    def from_body(cls, place: Place, body: bytes) -> Go:
        """The message in a body that `body` made."""
        roster, marks, signature, pieces = json.loads(body)
        read = tuple(Mark(text_of(name), *map(text_of, fields)) for name, fields in marks.items())
        given = {text_of(name): text_of(piece) for name, piece in pieces.items()}
        return cls(*place, text_of(roster), read, text_of(signature), given)

    def _marks(self) -> dict[str, list[str]]:
        return {mark.sender: [mark.vector, mark.pieces, mark.signature] for mark in self.marks}
