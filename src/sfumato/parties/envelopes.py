"""The one form in which messages travel: canonical, signed, bounded.

An envelope is `header length | header | body | signature`. The header is JSON with sorted keys; the body is the bytes
of a vector, or JSON. The signature covers all of it, so nothing can be moved to another study, round or recipient.
"""

from __future__ import annotations

import json
import struct
from typing import Any, get_args

from sfumato.errors import ProtocolError, SfumatoError
from sfumato.identity import Signer, verified
from sfumato.parties.agreement import Go, Roster
from sfumato.parties.letters import ATTEMPTS, CHOICES, CURATOR, LARGE, ROUNDS, Members, Place, json_bytes
from sfumato.parties.messages import Ask, Choose, Chosen, Done, End, Message, Refusal, Share, Unmask
from sfumato.parties.questions import UNREADABLE

_SIGNED_AS = b"sfumato envelope 1\n"  # a signature of an envelope is a signature of nothing else
_SIGNATURE = 64
_HEADER = 1 << 12

_KINDS: dict[str, type[Message]] = {one.kind: one for one in get_args(Message)}
_FROM_CURATOR = (Ask, Roster, Go, Unmask, Choose, Done, End)
_OF_CHOICES = (Choose, Chosen)


def seal(message: Message, study: str, signer: Signer) -> bytes:
    """The envelope of a message; the same message has the same bytes every time."""
    fields = ("round", "attempt", "sender", "recipient", "kind")
    header = json_bytes({"study": study, **{field: getattr(message, field) for field in fields}})
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
    if kind is not Refusal and issubclass(kind, _OF_CHOICES) != (header["round"] >= ROUNDS):
        raise ProtocolError(
            f"a message of kind {kind.kind} has the number {header['round']}, which is none of its kind"
        )
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
        if not (0 <= header["round"] < ROUNDS + CHOICES and 0 <= header["attempt"] < ATTEMPTS):
            raise ValueError
    except (*UNREADABLE, struct.error):
        raise ProtocolError("a message is not in the form of this protocol; it is not read") from None
    return header, envelope[4 + length : -_SIGNATURE], envelope[-_SIGNATURE:]


def _read(kind: type[Message], place: Place, body: bytes) -> Message:
    message = kind.from_body(place, body)
    if kind is not Share and message.body() != body:
        raise ValueError("not canonical")
    return message
