"""Receipts: what was signed in a round, so a party can show a third person what was promised and what was sent.

A receipt is what the party was shown of the roster, and the curator's word to go on. With the manifest anybody can
check of every party on it: which questions it promised to answer, how far its log had come, and the hash of the vector
that it was about to send; that whoever has the receipt saw the heads of these logs; and that the curator signed the
hash of everybody's signatures, of which it keeps the list.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sfumato.errors import ProtocolError
from sfumato.parties.agreement import Go, Mark, Roster
from sfumato.parties.letters import CURATOR, ROUNDS, Members
from sfumato.parties.questions import UNREADABLE
from sfumato.parties.seat import parts_of
from sfumato.parties.store import FINAL, Record, State


def receipt(record: Record) -> dict[str, Any] | None:
    """The receipt of a round that a party has answered."""
    if record.state not in FINAL or record.round >= ROUNDS:
        return None  # a choice is one party's own, and nobody else signs it
    _, roster, _, _, go, *_ = parts_of(record.payload)
    signed = json.loads(go)
    return {
        "round": record.round,
        "attempt": record.attempt,
        "roster": json.loads(roster),
        "go": [*signed[:4], {}],  # the sealed pieces are nobody's business
    }


def everybody(record: Record) -> dict[str, Any] | None:
    """What the curator keeps of a round: the keys and signatures of all parties, not only of one party's neighbours."""
    if record.state not in (State.SENT, State.REVEALED, State.OPENED) or record.round >= ROUNDS:
        return None
    roster, go, *_ = parts_of(record.payload)
    return {"round": record.round, "attempt": record.attempt, "roster": json.loads(roster), "go": json.loads(go)}


def check_everybody(content: Mapping[str, Any], members: Members) -> dict[str, dict[str, str]]:
    """What each party has signed in a round; refuses a list in which a signature is wrong, or of which one is missing.

    The curator has signed the hash of all signatures, so none can be left out later.
    """
    roster, go = _read(content)
    marks = {mark.sender: mark for mark in go.marks}
    sound = (
        go.roster == roster.digest
        and go.is_signed(members)
        and go.everybody == go.hashed
        and set(marks) <= set(roster.owners) == set(roster.names(members))
        and all(key.is_signed(members) for key in roster.keys)
        and all(mark.is_signed(members, go.round, go.attempt, go.roster) for mark in go.marks)
        and all(mark.seen == roster.to(name, members).seen for name, mark in marks.items())
    )
    if not sound:
        raise ProtocolError(f"the signatures of round {go.round} are not all there, or not all right")
    return _signed(roster, marks)


def check_receipt(content: Mapping[str, Any], members: Members) -> dict[str, dict[str, str]]:
    """What each party on a receipt has signed; refuses one in which a signature is wrong or missing."""
    roster, go = _read(content)
    marks = {mark.sender: mark for mark in go.marks}
    sound = (
        go.roster == roster.digest
        and go.is_signed(members)
        and set(marks) == set(roster.owners)
        and any(mark.seen == roster.seen for mark in go.marks)
        and all(key.is_signed(members) for key in roster.keys)
        and all(mark.is_signed(members, go.round, go.attempt, go.roster) for mark in go.marks)
    )
    if not sound:
        raise ProtocolError(f"the receipt of round {go.round} has a signature that is wrong or missing")
    return _signed(roster, marks)


def _read(content: Mapping[str, Any]) -> tuple[Roster, Go]:
    try:
        place = (content["round"], content["attempt"], CURATOR, "")
        roster = Roster.from_body(place, json.dumps(content["roster"]).encode())
        return roster, Go.from_body(place, json.dumps(content["go"]).encode())
    except (*UNREADABLE, SyntaxError):
        raise ProtocolError("a receipt cannot be read; give one that sfumato party ledger wrote") from None


def _signed(roster: Roster, marks: Mapping[str, Mark]) -> dict[str, dict[str, str]]:
    return {
        key.sender: {"asked": key.asked, "head": key.head, "vector_sha256": marks[key.sender].vector}
        for key in roster.keys
        if key.sender in marks
    }
