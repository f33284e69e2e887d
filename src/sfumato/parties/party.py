"""A party's side of a study: a generator over messages, without clocks, files or sockets.

What it answers follows from the message and its store alone, and the store is written before anything is sent. So it
may be stopped at any time, see messages twice or late, and still pays once and sends one vector for an attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from sfumato.data.coding import Coding
from sfumato.data.domain import Clique
from sfumato.errors import ProtocolError, SfumatoError
from sfumato.parties import masking
from sfumato.parties.identity import Signer
from sfumato.parties.messages import (
    CURATOR,
    LARGE,
    REASON,
    STAGES,
    Ask,
    Done,
    End,
    Key,
    Members,
    Message,
    Refusal,
    Roster,
    Share,
)
from sfumato.parties.questions import read_coding
from sfumato.parties.store import Record, State, Store
from sfumato.privacy.budget import Budget
from sfumato.privacy.events import Noisy
from sfumato.privacy.holder import table_events
from sfumato.privacy.ledger import Ledger, Statement
from sfumato.privacy.mechanisms import Noise
from sfumato.privacy.party_holder import PartyHolder
from sfumato.text import one_line

_KEY = 32  # bytes of one half of an X25519 key


@dataclass(frozen=True)
class AskedTable:
    """One table that is asked for, in words: its columns, the codes they are in, and the noise it is to have."""

    columns: str
    codes: str
    noise: str


@dataclass(frozen=True)
class Summary:
    """What a party is about to agree to, for its operator.

    Args:
        round: the number of the round.
        attempt: which attempt at it.
        stage: the stage of the method that asks.
        tables: what is asked for, the tables with the least noise first.
        cells: of all tables.
        bytes: that will be sent.
        before: what is spent without this round, in terms of the budget.
        after: what is spent with it.
        observed: the columns in it whose domain was read from somebody's data, which no noise covers.
    """

    round: int
    attempt: int
    stage: str
    tables: tuple[AskedTable, ...]
    cells: int
    bytes: int
    before: dict[str, float]
    after: dict[str, float]
    observed: tuple[str, ...] = ()


Approve = Callable[[Summary], bool]


@dataclass(frozen=True)
class Seat:
    """All that one party brings to a study.

    Args:
        name: its name among the members.
        members: who takes part.
        signer: its private key.
        holder: its rows.
        budget: what the study may cost the persons in its rows.
        store: what it must not forget.
        approve: asked before anything is promised.
        observed: the columns of the schema whose domain was read from somebody's data; shown to the operator.
    """

    name: str
    members: Members
    signer: Signer
    holder: PartyHolder
    budget: Budget
    store: Store
    approve: Approve = lambda summary: True
    observed: tuple[str, ...] = ()

    def statement(self) -> Statement:
        """What this party has spent."""
        return self.ledger().statement()

    def ledger(self, without: Record | None = None) -> Ledger:
        """The book of all that counts as spent, perhaps without one attempt."""
        ledger = Ledger(self.budget, str(self.holder.neighbours), self.observed)
        entries = list(self.store.spent())
        for entry in without.entries if without else ():
            entries.remove(entry)
        for stage, event in entries:
            ledger.stage = stage
            ledger.charge(event)
        return ledger


def take_part(seat: Seat) -> Generator[tuple[Message, ...], tuple[Message, ...], str]:
    """Answer messages until the curator ends the study; returns its reason, which is empty if all went well."""
    answers: tuple[Message, ...] = ()
    while True:
        incoming = yield answers
        answers = ()
        for message in incoming:
            if isinstance(message, End):
                return message.text
            answers += answer(seat, message)


def answer(seat: Seat, message: Message) -> tuple[Message, ...]:
    """What a party has to say to one message, after it has written down what it must not forget."""
    try:
        match message:
            case Ask():
                return (_promise(seat, message),)
            case Roster():
                return (_contribute(seat, message),)
            case Done():
                _close(seat, message)
                return ()
            case _:
                return ()
    except SfumatoError as problem:
        return (Refusal(message.round, message.attempt, seat.name, CURATOR, one_line(problem, REASON)),)


def _promise(seat: Seat, ask: Ask) -> Key:
    """Check questions, ask the operator, reserve their cost; then give a key for this attempt."""
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
        raise ProtocolError(f"round {ask.round}, attempt {ask.attempt} is over for this party; begin a new attempt")
    key = Key(ask.round, ask.attempt, seat.name, CURATOR, ask.digest, record.payload[_KEY : 2 * _KEY].hex())
    return key.signed(seat.members.study, seat.signer)


def _reserve(seat: Seat, ask: Ask, *, approved: bool) -> Record:
    """Write down that the cost of a question counts as spent, after the operator has approved it."""
    summary, events = _propose(seat, ask)
    proposed = Record(ask.round, ask.attempt, State.PROPOSED, ask.digest)
    if not approved:
        seat.store.save(proposed)
        if not seat.approve(summary):
            seat.store.save(replace(proposed, state=State.ABORTED))
            raise ProtocolError(f"the operator of {seat.name} did not approve round {ask.round}")
        seat.store.save(replace(proposed, state=State.APPROVED))
    private = masking.new_private_key()
    payload = private + bytes.fromhex(masking.public_key(private)) + ask.body()
    entries = tuple((ask.stage, event) for event in events)
    reserved = replace(proposed, state=State.RESERVED, payload=payload, entries=entries)
    seat.store.save(reserved)
    return reserved


def _propose(seat: Seat, ask: Ask) -> tuple[Summary, tuple[Noisy, ...]]:
    """What questions would cost; refuses those that cannot be answered, and what is too much. Looks at no rows."""
    earlier = [record for record in seat.store.attempts(ask.round) if record.attempt != ask.attempt]
    if any(record.attempt > ask.attempt for record in earlier):
        raise ProtocolError(f"round {ask.round} is at a later attempt than {ask.attempt}")
    if ask.round and not seat.members.missing and not _has_sent(seat, ask.round - 1):
        raise ProtocolError(
            f"round {ask.round} was asked, but this party's book says nothing of round {ask.round - 1}: the book is an "
            "old copy, or the curator skips rounds; nothing is sent"
        )
    coding = read_coding(ask.coding, seat.holder.domain)
    cells = sum(coding.domain.project(question.clique).cells() for question in ask.questions)
    if not ask.questions or 8 * cells > LARGE:
        raise ProtocolError(f"round {ask.round} asks for {cells:,} cells; 1 to {LARGE // 8:,} can be sent")
    for record in earlier:
        if record.state not in (State.SENT, State.OPENED, State.ABORTED):
            # Nothing of it has left, and from now on nothing ever will.
            seat.store.save(replace(record, state=State.ABORTED, payload=b"", entries=()))
    ledger = seat.ledger()
    before = seat.budget.spent(ledger.statement().spent)
    events = table_events(*_asked(ask), seat.holder.neighbours)
    ledger.charge(*events)
    after = seat.budget.spent(ledger.statement().spent)
    tables = _shown(ask, coding)
    return Summary(ask.round, ask.attempt, ask.stage, tables, cells, 8 * cells, before, after, seat.observed), events


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


def _contribute(seat: Seat, roster: Roster) -> Share:
    """The vector of this party: computed once for an attempt, and only for a roster that everybody in it has signed."""
    record = seat.store.load(roster.round, roster.attempt)
    if record is None or record.state in (State.PROPOSED, State.APPROVED, State.ABORTED):
        raise ProtocolError(f"round {roster.round}, attempt {roster.attempt} was not promised by this party")
    if record.state is State.RESERVED:
        record = _compute(seat, roster, record)
    if record.payload[2 * _KEY : 3 * _KEY].hex() != roster.digest:
        raise ProtocolError(f"round {roster.round}, attempt {roster.attempt} has two different rosters")
    if record.state is State.COMPUTED:
        seat.store.save(replace(record, state=State.SENT))
    vector = np.frombuffer(record.payload, dtype="<u8", offset=3 * _KEY).astype(np.uint64)
    return Share(roster.round, roster.attempt, seat.name, CURATOR, vector)


def _compute(seat: Seat, roster: Roster, record: Record) -> Record:
    private, public, body = record.payload[:_KEY], record.payload[_KEY : 2 * _KEY], record.payload[2 * _KEY :]
    _check(seat, roster, record, public.hex())
    ask = Ask.from_body(record.round, record.attempt, seat.name, body)
    coding = read_coding(ask.coding, seat.holder.domain)
    cliques, noises = _asked(ask)
    size = sum(map(coding.domain.cells, cliques))
    mask = masking.mask(private, seat.name, roster, seat.members.study, size)
    ledger = seat.ledger(without=record)
    ledger.stage = ask.stage
    vector = seat.holder.share(coding, cliques, noises, seat.members.honest, mask, ledger)
    # The private half of the key is forgotten: whoever reads the store later cannot take the mask off.
    payload = bytes(_KEY) + public + bytes.fromhex(roster.digest) + vector.astype("<u8").tobytes()
    computed = replace(record, state=State.COMPUTED, payload=payload)
    seat.store.save(computed)
    return computed


def _check(seat: Seat, roster: Roster, record: Record, public: str) -> None:
    """Refuse a roster in which anybody was asked something else, or that has too few parties, or not this key."""
    names = [key.sender for key in roster.keys]
    least = len(seat.members.names) - seat.members.missing
    if len(set(names)) != len(names) or len(names) < least:
        raise ProtocolError(
            f"the roster of round {roster.round} has {len(set(names))} parties; at least {least} are wanted"
        )
    if any(key.asked != record.asked or not key.is_signed(seat.members) for key in roster.keys):
        raise ProtocolError(
            f"the roster of round {roster.round} has a key that its owner did not sign for these questions"
        )
    if (seat.name, public) not in {(key.sender, key.public) for key in roster.keys}:
        raise ProtocolError(f"the roster of round {roster.round} does not have the key of {seat.name}")


def _close(seat: Seat, done: Done) -> None:
    record = seat.store.load(done.round, done.attempt)
    if record is not None and record.state is State.SENT:
        seat.store.save(replace(record, state=State.OPENED))


def _has_sent(seat: Seat, round_: int) -> bool:
    return any(record.state in (State.SENT, State.OPENED) for record in seat.store.attempts(round_))


def _asked(ask: Ask) -> tuple[list[Clique], list[Noise]]:
    return [question.clique for question in ask.questions], [question.noise for question in ask.questions]
