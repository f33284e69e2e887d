"""The first step of a party in a round: questions are checked, approved and paid for, and answered with a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

from sfumato.data.coding import Coding
from sfumato.errors import ProtocolError
from sfumato.parties import masking
from sfumato.parties.agreement import Key, Roster
from sfumato.parties.letters import CURATOR, LARGE, LATER, STAGES
from sfumato.parties.messages import Ask
from sfumato.parties.questions import read_coding
from sfumato.parties.seat import AskedTable, Seat, Summary, joined, parts_of
from sfumato.parties.store import FINAL, NO_HEAD, Record, State
from sfumato.privacy.events import Noisy
from sfumato.privacy.questions import table_events
from sfumato.text import one_line


def promise(seat: Seat, ask: Ask) -> Key:
    """Check questions, ask the operator, reserve their cost; then give keys for this attempt."""
    if ask.stage not in STAGES:
        raise ProtocolError(
            f"round {ask.round} is for a stage named '{one_line(ask.stage, 40)}'; parties answer {', '.join(STAGES)}"
        )
    record = seat.store.load(ask.round, ask.attempt)
    if record is not None and record.asked != ask.digest:
        raise ProtocolError(f"round {ask.round}, attempt {ask.attempt} was asked before, with other questions")
    if record is None or record.state in (State.PROPOSED, State.APPROVED):
        record = _reserve(seat, ask, approved=record is not None and record.state is State.APPROVED)
    if record.state is State.ABORTED:
        raise ProtocolError(f"round {ask.round}, attempt {ask.attempt} is over for this party; {LATER}")
    return _key(seat, record)


def _key(seat: Seat, record: Record) -> Key:
    """The key that was given; from *computed* on it is the one on the roster."""
    first, second, *_ = parts_of(record.payload)
    if record.state is State.RESERVED:
        return Key.from_body((record.round, record.attempt, seat.name, CURATOR), first)
    roster = Roster.from_body((record.round, record.attempt, CURATOR, seat.name), second)
    return next(key for key in roster.keys if key.sender == seat.name)


def _reserve(seat: Seat, ask: Ask, *, approved: bool) -> Record:
    """Write down that the cost of a question counts as spent, after the operator has approved it."""
    unsent = _unsent(seat, ask)
    summary, events = _propose(seat, ask, unsent)
    proposed = Record(ask.round, ask.attempt, State.PROPOSED, ask.digest)
    if not approved:
        seat.store.save(proposed)
        if not seat.approve(summary):
            seat.store.save(replace(proposed, state=State.ABORTED))
            raise ProtocolError(f"the operator of {seat.name} did not approve round {ask.round}")
        seat.store.save(replace(proposed, state=State.APPROVED))
    for record in unsent:
        # Nothing of it has left, and from now on nothing ever will.
        seat.store.save(replace(record, state=State.ABORTED, payload=b"", entries=()))
    private, sealing = masking.new_private_key(), masking.new_private_key() if seat.members.missing else b""
    head = seat.store.head
    key = Key(
        *(ask.round, ask.attempt, seat.name, CURATOR, ask.digest, masking.public_key(private)),
        sealing=masking.public_key(sealing) if sealing else "",
        head=str(head),
        previous=str(seat.store.heads.get(seat.name, NO_HEAD)),
    ).signed(seat.members.study, seat.signer)
    payload = joined(key.body(), private, sealing, ask.body())
    entries = tuple((ask.stage, event) for event in events)
    reserved = replace(proposed, state=State.RESERVED, payload=payload, entries=entries)
    seat.store.save(reserved, {seat.name: head})
    return reserved


def _unsent(seat: Seat, ask: Ask) -> list[Record]:
    """Earlier attempts at the round, of which nothing has left; refuses to answer a round twice."""
    earlier = [record for record in seat.store.attempts(ask.round) if record.attempt != ask.attempt]
    if any(record.attempt > ask.attempt for record in earlier):
        raise ProtocolError(f"round {ask.round} is at a later attempt than {ask.attempt}; {LATER}")
    for record in earlier:
        if record.state in FINAL:
            raise ProtocolError(
                f"round {ask.round} was answered in attempt {record.attempt}; another answer would cost as much again, "
                "and is never given"
            )
    return [record for record in earlier if record.state is not State.ABORTED]


def _propose(seat: Seat, ask: Ask, unsent: Sequence[Record]) -> tuple[Summary, tuple[Noisy, ...]]:
    """What questions would cost; refuses those that cannot be answered, and what is too much. Looks at no rows."""
    if ask.round and not seat.members.missing and not _has_sent(seat, ask.round - 1):
        raise ProtocolError(
            f"round {ask.round} was asked, but this party's journal says nothing of round {ask.round - 1}: the journal "
            "is an old copy, or the curator skips rounds; nothing is sent"
        )
    coding = read_coding(ask.coding, seat.holder.domain)
    cells = sum(coding.domain.project(question.clique).cells() for question in ask.questions)
    if not ask.questions or 8 * cells > LARGE:
        raise ProtocolError(f"round {ask.round} asks for {cells:,} cells; 1 to {LARGE // 8:,} can be sent")
    ledger = seat.ledger(without=unsent)
    before = seat.budget.spent(ledger.spent)
    cliques, noises = ([getattr(one, field) for one in ask.questions] for field in ("clique", "noise"))
    events = table_events(cliques, noises, seat.holder.neighbours)
    ledger.charge(*events)
    after = seat.budget.spent(ledger.spent)
    tables = _shown(ask, coding)
    return Summary(ask.round, ask.attempt, ask.stage, tables, cells, 8 * cells, before, after, seat.observed), events


def _has_sent(seat: Seat, round_: int) -> bool:
    return any(record.state in FINAL for record in seat.store.attempts(round_))


def _shown(ask: Ask, coding: Coding) -> tuple[AskedTable, ...]:
    """The questions in words, those with the least noise first."""

    def codes(name: str) -> str:
        source, lookup = coding.lookup(name)
        size, before = coding.domain[name], coding.base[source]
        if lookup is None:
            return str(size)
        return f"{size} of {before}, merged" if source == name else f"{size} made of the {before} of {source}"

    return tuple(
        AskedTable(
            " × ".join(question.clique) or "(number of rows)",
            " × ".join(map(codes, question.clique)) or "1",
            f"{question.noise.kind.capitalize()}, standard deviation {sqrt(question.noise.variance):.4g}",
        )
        for question in sorted(ask.questions, key=lambda question: question.noise.variance)
    )
