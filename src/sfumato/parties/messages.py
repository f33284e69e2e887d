"""Messages between a curator and its parties, and the one form in which they travel: canonical, signed, bounded.

An envelope is `header length | header | body | signature`. The header is JSON with sorted keys; the body is the bytes
of a vector, or JSON. The signature covers all of it, so that nothing can be moved to another study, round or recipient.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ProtocolError, SfumatoError
from sfumato.parties.identity import Signer, verified
from sfumato.parties.questions import UNREADABLE, Question, pack, unpack

CURATOR = "curator"
"""The name of the one who asks and adds up; no party may have it."""

SMALL = 1 << 16
"""Most bytes of a body that says little: a key, a refusal, the end of a round."""

LARGE = 1 << 26
"""Most bytes of a list of questions or of a vector of counts, whatever was asked."""

REASON = 2000
"""Most characters of a reason, so that no reason is too long for its message."""

STAGES = ("encode", "learn")
"""The stages of a method that ask for tables; a party answers no other, because its operator is shown the name."""

ROUNDS = ATTEMPTS = 64
"""Rounds of a study and attempts at one, at most. With LARGE they bound the cells of all vectors that a party sends."""

_SIGNED_AS = b"sfumato envelope 1\n"  # a signature of an envelope is a signature of nothing else
_SIGNATURE = 64
_HEADER = 1 << 12


class Members(Protocol):
    """Who takes part in a study; `parties.manifest.Manifest` is one."""

    @property
    def study(self) -> str:
        """The name of the study in messages."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """The parties, in order."""
        ...

    @property
    def keys(self) -> Mapping[str, str]:
        """The public key of every member, the curator's too, in hexadecimal digits."""
        ...

    @property
    def honest(self) -> int:
        """How many shares of noise (h = K - t - q) add up to the noise that is charged."""
        ...

    @property
    def missing(self) -> int:
        """How many parties (q) may stay away."""
        ...


@dataclass(frozen=True, eq=False)
class Letter:
    """What every message has: its round, which attempt at it, from whom, to whom."""

    round: int
    attempt: int
    sender: str
    recipient: str


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
        return _json({"stage": self.stage, "coding": self.coding, **pack(self.questions)})

    @classmethod
    def from_body(cls, round_: int, attempt: int, recipient: str, body: bytes) -> Ask:
        """The question in a body that `body` made."""
        record = json.loads(body)
        return cls(round_, attempt, CURATOR, recipient, _text(record["stage"]), _text(record["coding"]), unpack(record))

    @property
    def digest(self) -> str:
        """Names exactly these questions in this round and attempt: all parties must have been asked the same."""
        return hashlib.sha256(_json([self.round, self.attempt]) + self.body()).hexdigest()


@dataclass(frozen=True)
class Key(Letter):
    """A party's X25519 public key for one attempt: it has agreed to answer exactly the questions that `asked` names.

    `signature` is its owner's, over `content`, because keys are passed on to the other parties.
    """

    kind: ClassVar[str] = "key"
    limit: ClassVar[int] = SMALL
    asked: str
    public: str
    signature: str = ""

    def content(self, study: str) -> bytes:
        """What its owner signs."""
        return _json(["sfumato key 1", study, self.round, self.attempt, self.sender, self.asked, self.public])

    def signed(self, study: str, signer: Signer) -> Key:
        """This key with its owner's signature."""
        return replace(self, signature=signer.sign(self.content(study)).hex())

    def is_signed(self, members: Members) -> bool:
        """Whether the party that it names signed it."""
        try:
            signature = bytes.fromhex(self.signature)
        except ValueError:
            return False
        return self.sender in members.names and verified(
            members.keys[self.sender], signature, self.content(members.study)
        )

    def body(self) -> bytes:
        """The key."""
        return _json({"asked": self.asked, "public": self.public, "signature": self.signature})


@dataclass(frozen=True)
class Roster(Letter):
    """Who answers this attempt, with their keys, curator to party."""

    kind: ClassVar[str] = "roster"
    limit: ClassVar[int] = SMALL
    keys: tuple[Key, ...]

    def body(self) -> bytes:
        """The keys, by the names of their owners."""
        return _json({key.sender: [key.asked, key.public, key.signature] for key in self.keys})

    @classmethod
    def from_body(cls, round_: int, attempt: int, recipient: str, body: bytes) -> Roster:
        """The roster in a body that `body` made."""
        keys = ((name, *map(_text, fields)) for name, fields in json.loads(body).items())
        return cls(
            round_,
            attempt,
            CURATOR,
            recipient,
            tuple(Key(round_, attempt, name, CURATOR, *rest) for name, *rest in keys),
        )

    @property
    def digest(self) -> str:
        """Names exactly these parties and keys: masks are bound to it."""
        return hashlib.sha256(_json([self.round, self.attempt]) + self.body()).hexdigest()


@dataclass(frozen=True, eq=False)
class Share(Letter):
    """Counts, noise share and masks of one party, modulo 2^64: all tables of the round, cell after cell."""

    kind: ClassVar[str] = "share"
    limit: ClassVar[int] = LARGE
    vector: NDArray[np.uint64]

    def body(self) -> bytes:
        """The vector, 8 bytes for each cell."""
        return self.vector.astype("<u8").tobytes()


@dataclass(frozen=True)
class Notice(Letter):
    """A message of one short text."""

    limit: ClassVar[int] = SMALL
    text: str

    def body(self) -> bytes:
        """The text."""
        return _json(self.text)


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


Message = Ask | Key | Roster | Share | Refusal | Done | End

_KINDS: dict[str, type[Message]] = {one.kind: one for one in (Ask, Key, Roster, Share, Refusal, Done, End)}
_FROM_CURATOR = (Ask, Roster, Done, End)


def seal(message: Message, study: str, signer: Signer) -> bytes:
    """The envelope of a message; the same message has the same bytes every time."""
    fields = ("round", "attempt", "sender", "recipient", "kind")
    header = _json({"study": study, **{field: getattr(message, field) for field in fields}})
    content = struct.pack(">I", len(header)) + header + message.body()
    return content + signer.sign(_SIGNED_AS + content)


def open_(envelope: bytes, members: Members, limit: int = LARGE) -> Message:
    """The message in an envelope. Refuses one that is too long, malformed, of another study, or not signed by a member.

    Args:
        envelope: what `seal` made, or what somebody made of it.
        members: who may send.
        limit: most bytes of the body of a vector; other kinds have limits of their own.
    """
    header, body, signature = _split(envelope)
    kind, sender = _KINDS.get(header["kind"]), header["sender"]
    if kind is None or header["study"] != members.study or sender not in members.keys:
        raise ProtocolError("a message is of an unknown kind, study or sender; only members of this study may write")
    if len(body) > (min(limit, kind.limit) if kind is Share else kind.limit):
        raise ProtocolError(f"a message of kind {kind.kind} is longer than was asked for; it is not read")
    if not verified(members.keys[sender], signature, _SIGNED_AS + envelope[:-_SIGNATURE]):
        raise ProtocolError(f"a message in the name of {sender!r} does not have its signature; it is not read")
    down = sender == CURATOR
    if down != issubclass(kind, _FROM_CURATOR) or down == (header["recipient"] == CURATOR):
        raise ProtocolError(f"{sender!r} may not send a message of kind {kind.kind}; it is not read")
    try:
        return _read(kind, (header["round"], header["attempt"], sender, header["recipient"]), body)
    except (SfumatoError, *UNREADABLE):
        raise ProtocolError(f"a message of kind {kind.kind} from {sender!r} cannot be read") from None


def address(envelope: bytes) -> tuple[str, str, int, int, str]:
    """Recipient, sender, round, attempt and kind as the header says; nothing is verified."""
    header, _, _ = _split(envelope)
    return header["recipient"], header["sender"], header["round"], header["attempt"], header["kind"]


def _split(envelope: bytes) -> tuple[dict[str, Any], bytes, bytes]:
    """Header, body and signature; the header has its keys, with values of the right types."""
    try:
        (length,) = struct.unpack_from(">I", envelope)
        if length > _HEADER or 4 + length + _SIGNATURE > len(envelope):
            raise ValueError
        header = json.loads(envelope[4 : 4 + length])
        types = {"study": str, "round": int, "attempt": int, "sender": str, "recipient": str, "kind": str}
        if {key: type(value) for key, value in header.items()} != types:
            raise ValueError
        if not (0 <= header["round"] < ROUNDS and 0 <= header["attempt"] < ATTEMPTS):
            raise ValueError
    except (*UNREADABLE, struct.error):
        raise ProtocolError("a message is not in the form of this protocol; it is not read") from None
    return header, envelope[4 + length : -_SIGNATURE], envelope[-_SIGNATURE:]


def _read(kind: type[Message], place: tuple[int, int, str, str], body: bytes) -> Message:
    if kind is Share:
        vector = np.frombuffer(body, dtype="<u8").astype(np.uint64, copy=False)
        return Share(*place, vector)
    message: Message
    if kind is Ask:
        message = Ask.from_body(place[0], place[1], place[3], body)
    elif kind is Roster:
        message = Roster.from_body(place[0], place[1], place[3], body)
    elif kind is Key:
        record = json.loads(body)
        message = Key(*place, *(_text(record[field]) for field in ("asked", "public", "signature")))
    else:
        message = cast(type[Refusal] | type[Done] | type[End], kind)(*place, _text(json.loads(body)))
    if message.body() != body:
        raise ValueError("not canonical")
    return message


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    value.encode()  # a lone surrogate is no text, and could be written into no file
    return value
