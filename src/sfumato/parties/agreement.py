"""The messages with which parties agree before anything leaves them: keys, the roster, and that all are ready.

What a party signs in them is passed on to its neighbours (`parties.circle`), so each can show to a third person what
these have promised, what they were about to send, and how far their logs had come (`parties.receipts`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from sfumato.identity import Signer
from sfumato.parties.circle import shown
from sfumato.parties.letters import CURATOR, MIDDLE, SMALL, Letter, Members, Place, json_bytes, signed_by, text_of
from sfumato.parties.store import NO_HEAD


@dataclass(frozen=True)
class Key(Letter):
    """A party's keys for one attempt: it has agreed to answer exactly the questions that `asked` names.

    Args:
        asked: the digest of the questions.
        public: its X25519 key for the masks, in hexadecimal digits.
        sealing: its X25519 key for pieces of others' secrets; empty where nobody may stay away.
        head: the head of its audit log, which its neighbours countersign.
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
    """Who answers this attempt, and some of their keys for the same questions, curator to party.

    Args:
        asked: the digest of the questions.
        keys: those that the recipient is to be shown; all of them in the curator's own copy.
        left_out: the parties of the study that do not answer this attempt. All others do.
    """

    kind: ClassVar[str] = "roster"
    limit: ClassVar[int] = MIDDLE
    asked: str
    keys: tuple[Key, ...]
    left_out: tuple[str, ...] = ()

    def names(self, members: Members) -> tuple[str, ...]:
        """Who is on it."""
        return tuple(sorted(set(members.names) - set(self.left_out)))

    @property
    def owners(self) -> tuple[str, ...]:
        """Whose keys are shown."""
        return tuple(key.sender for key in self.keys)

    def to(self, recipient: str, members: Members) -> Roster:
        """What of it one party is shown."""
        owners = shown(self.names(members), recipient, members)
        return replace(self, recipient=recipient, keys=tuple(key for key in self.keys if key.sender in owners))

    def body(self) -> bytes:
        """The keys, by the names of their owners, and who is left out."""
        keys = {key.sender: [*key.fields, key.signature] for key in self.keys}
        return json_bytes({"asked": self.asked, "keys": keys, "left_out": list(self.left_out)})

    @classmethod
    def from_body(cls, place: Place, body: bytes) -> Roster:
        """The roster in a body that `body` made."""
        record = json.loads(body)
        asked, keys = text_of(record["asked"]), []
        for name, (public, sealing, head, previous, signature) in record["keys"].items():
            texts = map(text_of, (asked, public, sealing, head, previous, signature))
            keys.append(Key(place[0], place[1], name, CURATOR, *texts))
        return cls(*place, asked, tuple(keys), tuple(map(text_of, record["left_out"])))

    @cached_property
    def digest(self) -> str:
        """Names exactly these parties and questions, whichever keys are shown: masks are bound to it."""
        return hashlib.sha256(json_bytes([self.round, self.attempt, self.asked, list(self.left_out)])).hexdigest()

    @property
    def seen(self) -> str:
        """The hash of all that is shown, with the heads of the owners' logs."""
        return hashlib.sha256(self.body()).hexdigest()


@dataclass(frozen=True)
class Ready(Letter):
    """A party has computed its vector and stored it; nothing of it has left.

    Args:
        roster: the digest of the roster.
        seen: the hash of what it was shown of it. With it a party countersigns the heads of its neighbours' logs.
        vector: SHA-256 of the vector that it will send.
        pieces: for each keeper, sealed for it, its piece of the secrets that take this party's masks off.
        signature: its owner's, over `content`, because it is passed on.
    """

    kind: ClassVar[str] = "ready"
    limit: ClassVar[int] = MIDDLE
    roster: str
    seen: str
    vector: str
    pieces: Mapping[str, str]
    signature: str = ""

    @property
    def mark(self) -> Mark:
        """What of it goes to other parties."""
        pieces = hashlib.sha256(json_bytes(dict(self.pieces))).hexdigest() if self.pieces else ""
        return Mark(self.sender, self.seen, self.vector, pieces, self.signature)

    def signed(self, study: str, signer: Signer) -> Ready:
        """This message with its owner's signature inside."""
        content = self.mark.content(study, self.round, self.attempt, self.roster)
        return replace(self, signature=signer.sign(content).hex())

    def body(self) -> bytes:
        """All of it."""
        return json_bytes([self.roster, self.seen, self.vector, dict(self.pieces), self.signature])

    @classmethod
    def from_body(cls, place: Place, body: bytes) -> Ready:
        """The message in a body that `body` made."""
        roster, seen, vector, pieces, signature = json.loads(body)
        read = {text_of(name): text_of(piece) for name, piece in pieces.items()}
        return cls(*place, text_of(roster), text_of(seen), text_of(vector), read, text_of(signature))


@dataclass(frozen=True)
class Mark:
    """A party's signature that it is ready: under a roster, for a vector, with sealed pieces."""

    sender: str
    seen: str
    vector: str
    pieces: str
    signature: str

    @property
    def fields(self) -> list[str]:
        """What it says, without the signature."""
        return [self.seen, self.vector, self.pieces]

    def content(self, study: str, round_: int, attempt: int, roster: str) -> bytes:
        """What its owner signs."""
        return json_bytes(["sfumato ready 2", study, round_, attempt, self.sender, roster, *self.fields])

    def is_signed(self, members: Members, round_: int, attempt: int, roster: str) -> bool:
        """Whether the party that it names signed it, under this roster."""
        content = self.content(members.study, round_, attempt, roster)
        return self.sender in members.names and signed_by(members, self.sender, self.signature, content)


@dataclass(frozen=True)
class Go(Letter):
    """Everybody on the roster is ready, curator to party; from here on vectors are sent, and are spent.

    Args:
        roster: the digest of the roster.
        marks: the signatures of those whose keys the recipient was shown; everybody's in the curator's own copy.
        everybody: the hash of everybody's signatures.
        signature: the curator's, over this hash.
        pieces: the pieces that others have sealed for the recipient.
    """

    kind: ClassVar[str] = "go"
    limit: ClassVar[int] = MIDDLE
    roster: str
    marks: tuple[Mark, ...]
    everybody: str
    signature: str
    pieces: Mapping[str, str]

    def content(self, study: str) -> bytes:
        """What the curator signs, the same for all."""
        return json_bytes(["sfumato go 2", study, self.round, self.attempt, self.roster, self.everybody])

    @property
    def hashed(self) -> str:
        """The hash of the signatures that are shown."""
        return hashlib.sha256(json_bytes(self._marks())).hexdigest()

    def signed(self, study: str, signer: Signer) -> Go:
        """This message with the curator's signature inside."""
        return replace(self, signature=signer.sign(self.content(study)).hex())

    def is_signed(self, members: Members) -> bool:
        """Whether the curator signed it."""
        return signed_by(members, CURATOR, self.signature, self.content(members.study))

    def body(self) -> bytes:
        """All of it."""
        return json_bytes([self.roster, self._marks(), self.everybody, self.signature, dict(self.pieces)])

    @classmethod
    def from_body(cls, place: Place, body: bytes) -> Go:
        """The message in a body that `body` made."""
        roster, marks, everybody, signature, pieces = json.loads(body)
        read = tuple(Mark(text_of(name), *map(text_of, fields)) for name, fields in marks.items())
        given = {text_of(name): text_of(piece) for name, piece in pieces.items()}
        return cls(*place, text_of(roster), read, text_of(everybody), text_of(signature), given)

    def _marks(self) -> dict[str, list[str]]:
        return {mark.sender: [*mark.fields, mark.signature] for mark in self.marks}
