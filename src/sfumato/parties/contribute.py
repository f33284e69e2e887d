"""The later steps of a party in a round: ready, the vector, and the pieces that take masks off.

Nothing leaves before everybody is ready, and from *computed* on only stored bytes are sent.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ProtocolError
from sfumato.parties import masking, recovery
from sfumato.parties.agreement import Go, Key, Ready, Roster
from sfumato.parties.circle import neighbours, shown
from sfumato.parties.letters import CURATOR
from sfumato.parties.messages import Ask, Reveal, Share, Unmask
from sfumato.parties.questions import read_coding
from sfumato.parties.seat import Seat, joined, parts_of
from sfumato.parties.store import FINAL, Head, Record, State
from sfumato.privacy.entropy import SystemEntropy


def get_ready(seat: Seat, roster: Roster) -> Ready:
    """Compute the vector of this party, once for an attempt, for a roster that everybody on it has signed."""
    record = _promised(seat, roster)
    if record.state is State.RESERVED:
        record = _compute(seat, roster, record)
    _require_roster(record, roster)
    return Ready.from_body((roster.round, roster.attempt, seat.name, CURATOR), parts_of(record.payload)[2])


def send(seat: Seat, go: Go) -> Share:
    """The stored vector, once everybody has signed that it is ready."""
    record = _promised(seat, go)
    if record.state is State.RESERVED:
        raise ProtocolError(f"round {go.round}, attempt {go.attempt} is to go on, and this party is not ready")
    sealing, body, _, vector, *_ = parts_of(record.payload)
    if record.state is State.COMPUTED:
        roster = Roster.from_body((go.round, go.attempt, CURATOR, seat.name), body)
        _check_go(seat, roster, go, hashlib.sha256(vector).hexdigest())
        if seat.members.missing:
            recovery.check_pieces(sealing, seat.name, roster, go, seat.members)
        seat.store.save(replace(record, state=State.SENT, payload=record.payload + joined(go.body())))
    return Share.from_body((go.round, go.attempt, seat.name, CURATOR), vector)


def reveal(seat: Seat, unmask: Unmask) -> Reveal:
    """The pieces for one sum; for another sum of the same attempt, never."""
    record = _promised(seat, unmask)
    place = (unmask.round, unmask.attempt, seat.name, CURATOR)
    if record.state not in FINAL or not seat.members.missing:
        raise ProtocolError(f"round {unmask.round} has no sum to which this party has given anything")
    sealing, body, ready, vector, sent, *given = parts_of(record.payload)
    if given:
        earlier = Reveal.from_body(place, given[0])
        if earlier.names != unmask.names:
            raise ProtocolError(f"round {unmask.round} has two different sums; pieces were given for the first")
        return earlier
    if not sealing:
        raise ProtocolError(f"round {unmask.round} is over for this party")
    roster = Roster.from_body((unmask.round, unmask.attempt, CURATOR, seat.name), body)
    least = len(seat.members.names) - seat.members.missing
    if not set(unmask.names) <= set(roster.names(seat.members)) or len(set(unmask.names)) != len(unmask.names):
        raise ProtocolError(f"the sum of round {unmask.round} is over parties that are not on its roster")
    if len(unmask.names) < least or seat.name not in unmask.names:
        raise ProtocolError(
            f"the sum of round {unmask.round} is over {len(unmask.names)} parties; at least {least} are wanted, and "
            f"{seat.name} among them"
        )
    go = Go.from_body((unmask.round, unmask.attempt, CURATOR, seat.name), sent)
    pieces = recovery.reveal(sealing, seat.name, roster, go, seat.members, unmask.names)
    answer = Reveal(*place, unmask.names, pieces)
    # The key that opens pieces is forgotten: from here on the stored answer is all that can be given.
    payload = joined(b"", body, ready, vector, sent, answer.body())
    seat.store.save(replace(record, state=State.REVEALED, payload=payload))
    return answer


def close(seat: Seat, round_: int, attempt: int) -> None:
    """The round is over: forget what could still open something."""
    record = seat.store.load(round_, attempt)
    if record is not None and record.state in (State.SENT, State.REVEALED):
        _, *rest = parts_of(record.payload)
        seat.store.save(replace(record, state=State.OPENED, payload=joined(b"", *rest)))


def _promised(seat: Seat, message: Roster | Go | Unmask) -> Record:
    record = seat.store.load(message.round, message.attempt)
    if record is None or record.state in (State.PROPOSED, State.APPROVED, State.ABORTED):
        raise ProtocolError(f"round {message.round}, attempt {message.attempt} was not promised by this party")
    return record


def _compute(seat: Seat, roster: Roster, record: Record) -> Record:
    key_body, private, sealing, body = parts_of(record.payload)
    heads = _check(seat, roster, record, Key.from_body((record.round, record.attempt, seat.name, CURATOR), key_body))
    ask = Ask.from_body((record.round, record.attempt, CURATOR, seat.name), body)
    coding = read_coding(ask.coding, seat.holder.domain)
    cliques = [question.clique for question in ask.questions]
    size = sum(map(coding.domain.cells, cliques))
    near = neighbours(roster.names(seat.members), seat.name, seat.members)
    mask = masking.mask(private, seat.name, roster, seat.members.study, size, near)
    pieces: dict[str, str] = {}
    if seat.members.missing:
        seed = masking.new_private_key()
        mask += masking.own_mask(seed, seat.name, roster, seat.members.study, size)
        pieces = recovery.deal(private, seed, sealing, seat.name, roster, seat.members, SystemEntropy())
    ledger = seat.ledger(without=[record])
    ledger.stage = ask.stage
    noises = [question.noise for question in ask.questions]
    vector = _bytes(seat.holder.share(coding, cliques, noises, seat.members.honest, mask, ledger))
    digest = hashlib.sha256(vector).hexdigest()
    place = (record.round, record.attempt, seat.name, CURATOR)
    ready = Ready(*place, roster.digest, roster.seen, digest, pieces)
    ready = ready.signed(seat.members.study, seat.signer)
    # The secrets of the masks are forgotten: whoever reads the store later cannot take the masks off.
    payload = joined(sealing, roster.body(), ready.body(), vector)
    computed = replace(record, state=State.COMPUTED, payload=payload)
    seat.store.save(computed, heads)
    return computed


def _bytes(vector: NDArray[np.uint64]) -> bytes:
    return vector.astype("<u8").tobytes()


def _check(seat: Seat, roster: Roster, record: Record, own: Key) -> dict[str, Head]:
    """Refuse a roster in which somebody was asked something else, that has too few parties, wrong keys, or old logs.

    Gives the heads of the logs that it shows, which this party countersigns.
    """
    names = roster.names(seat.members)
    least = len(seat.members.names) - seat.members.missing
    if len(names) < least:
        raise ProtocolError(f"the roster of round {roster.round} has {len(names)} parties; at least {least} are wanted")
    if list(roster.left_out) != sorted(set(roster.left_out) & set(seat.members.names)):
        raise ProtocolError(
            f"the roster of round {roster.round} leaves out parties that are none, or one of them twice"
        )
    if any(key.asked != record.asked or not key.is_signed(seat.members) for key in roster.keys):
        raise ProtocolError(
            f"the roster of round {roster.round} has a key that its owner did not sign for these questions"
        )
    if own not in roster.keys:
        raise ProtocolError(f"the roster of round {roster.round} does not have the key of {seat.name}")
    if roster.owners != shown(names, seat.name, seat.members):
        raise ProtocolError(
            f"the roster of round {roster.round} does not show the keys of just those with whom {seat.name} has to do"
        )
    known, heads = seat.store.heads, {}
    for key in roster.keys:
        try:
            heads[key.sender], previous = Head.read(key.head), Head.read(key.previous)
        except ValueError:
            raise ProtocolError(f"the roster of round {roster.round} has a head that is none") from None
        last = known.get(key.sender)
        if key.sender != seat.name and last is not None and (previous.length < last.length or (
            previous.length == last.length and previous != last
        )):  # fmt: skip
            raise ProtocolError(
                f"the log of {key.sender} does not know its line {last.length}, which this party has signed: its "
                "journal was restored from a copy, and may have forgotten what it spent; nothing is sent"
            )
    return {name: head for name, head in heads.items() if name != seat.name}


def _check_go(seat: Seat, roster: Roster, go: Go, vector: str) -> None:
    """Refuse to send before all neighbours have signed that they are ready, and the curator that everybody is."""
    if any(mark.sender == seat.name and mark.vector != vector for mark in go.marks):
        raise ProtocolError(
            f"round {go.round} is to go on with another vector of {seat.name} than its journal has: the journal was "
            "restored from a copy; nothing is sent"
        )
    if go.roster != roster.digest:
        raise ProtocolError(f"round {go.round}, attempt {go.attempt} has two different rosters")
    signed = all(mark.is_signed(seat.members, go.round, go.attempt, go.roster) for mark in go.marks)
    if tuple(mark.sender for mark in go.marks) != roster.owners or not signed or not go.is_signed(seat.members):
        raise ProtocolError(f"round {go.round} is to go on, and not everybody on its roster has signed to be ready")
    pieces = {mark.sender: mark.pieces for mark in go.marks}
    if seat.members.missing and not all(pieces.values()):
        raise ProtocolError(f"round {go.round} is to go on, and somebody has sealed no pieces")


def _require_roster(record: Record, roster: Roster) -> None:
    if parts_of(record.payload)[1] != roster.body():
        raise ProtocolError(f"round {roster.round}, attempt {roster.attempt} has two different rosters")
