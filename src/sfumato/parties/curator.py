"""The curator's side of one round: a generator over messages, without clocks, files or sockets.

It asks everybody, waits for their keys, sends the roster, waits for their vectors, and adds up. It yields what is to be
sent, and the attempt whose answers it waits for. It is sent those that have come: no messages at all, and it repeats
what has not been answered; None, and it waits no longer. It writes down what it must not forget, and starts again where
it was.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ProtocolError
from sfumato.parties.messages import ATTEMPTS, CURATOR, Ask, Key, Members, Message, Refusal, Roster, Share
from sfumato.parties.questions import Question
from sfumato.parties.store import Record, State, Store
from sfumato.text import one_line

Incoming = tuple[Message, ...] | None

_Answer = TypeVar("_Answer", Key, Share)


@dataclass(frozen=True)
class Turn:
    """What the curator sends, and which attempt it waits for: messages of any other are no reason to go on waiting."""

    outgoing: tuple[Message, ...]
    round: int
    attempt: int

    def awaits(self, message: Message) -> bool:
        """Whether a message belongs to that attempt."""
        return (message.round, message.attempt) == (self.round, self.attempt)


@dataclass(frozen=True, eq=False)
class Opened:
    """The end of a round: the sum over all who answered, how many they were, and its hash."""

    total: NDArray[np.int64]
    answered: int
    digest: str
    attempt: int


@dataclass(frozen=True)
class Plan:
    """One round: its number, the stage that asks, and the questions with the codes they are in."""

    round: int
    stage: str
    coding: str
    questions: tuple[Question, ...]
    cells: int

    def ask(self, attempt: int, recipient: str) -> Ask:
        """The message to one party."""
        return Ask(self.round, attempt, CURATOR, recipient, self.stage, self.coding, self.questions)


def run_round(
    members: Members, store: Store, plan: Plan, pay_again: Callable[[], None]
) -> Generator[Turn, Incoming, Opened]:
    """Play one round to its end, or raise a ProtocolError that says who is missing or will not answer.

    An attempt may be lost after its roster was sent: parties may have answered, and each answer has noise of its own.
    So `pay_again` is called for every lost attempt, also for those from before a restart. It may refuse to go on.
    """
    attempts = store.attempts(plan.round)
    attempt = attempts[-1].attempt if attempts else 0
    if attempts and attempts[-1].state is State.ABORTED:
        attempt += 1  # somebody had refused, and may think better of it
    for earlier in attempts:
        if earlier.attempt < attempt and earlier.payload:  # its roster
            pay_again()
    names = members.names
    while True:
        if attempt >= ATTEMPTS:
            raise ProtocolError(f"round {plan.round} was attempted {ATTEMPTS} times; agree on a new study")
        record = store.load(plan.round, attempt)
        asked = plan.ask(attempt, "").digest
        if record is None:
            record = Record(plan.round, attempt, State.PROPOSED, asked)
            store.save(record)
        if record.asked != asked:
            raise ProtocolError(
                f"round {plan.round} was begun with other questions; a curator that starts again must run the same "
                "method with the same version"
            )
        if record.state is State.OPENED:
            return _opened(plan, record)
        if record.state is State.PROPOSED:
            keys = yield from _keys(members, store, plan, record, names)
            roster = Roster(plan.round, attempt, CURATOR, "", tuple(keys[name] for name in sorted(keys)))
            record = Record(plan.round, attempt, State.COMPUTED, asked, roster.body())
            store.save(record)
        vectors, missing = yield from _vectors(members, store, plan, record)
        if not missing:
            return _add_up(store, plan, record, vectors)
        # What the others sent is spent; a second attempt is a new question to all that are left.
        pay_again()
        names = tuple(name for name in names if name not in missing)
        attempt += 1


def _keys(
    members: Members, store: Store, plan: Plan, record: Record, names: tuple[str, ...]
) -> Generator[Turn, Incoming, dict[str, Key]]:
    """The keys of all who agree to answer: everybody, or all but those who may stay away."""

    def is_right(key: Key) -> bool:
        return key.asked == record.asked and key.is_signed(members)

    asks = {name: plan.ask(record.attempt, name) for name in names}
    keys, refusals = yield from _answers(Key, record, asks, is_right)
    _require_enough(members, store, record, keys, refusals)
    return keys


def _vectors(
    members: Members, store: Store, plan: Plan, record: Record
) -> Generator[Turn, Incoming, tuple[dict[str, Share], tuple[str, ...]]]:
    """The vectors of a roster, and who of it sent none; refuses to go on if they are too many."""
    roster = Roster.from_body(plan.round, record.attempt, "", record.payload)
    rosters = {key.sender: Roster(plan.round, record.attempt, CURATOR, key.sender, roster.keys) for key in roster.keys}
    shares, refusals = yield from _answers(Share, record, rosters, lambda share: share.vector.size == plan.cells)
    missing = tuple(name for name in rosters if name not in shares)
    if missing:
        _require_enough(members, store, record, shares, refusals)
    return shares, missing


def _answers(
    kind: type[_Answer], record: Record, requests: Mapping[str, Message], is_right: Callable[[_Answer], bool]
) -> Generator[Turn, Incoming, tuple[dict[str, _Answer], dict[str, str]]]:
    """Send requests until each is answered or refused, or nobody waits any longer."""
    answers: dict[str, _Answer] = {}
    refusals: dict[str, str] = {}
    left = list(requests)
    turn = Turn(tuple(requests.values()), record.round, record.attempt)
    while left:
        incoming = yield turn
        if incoming is None:
            break
        for message in incoming:
            if message.sender not in requests or not turn.awaits(message):
                continue  # late, or early: an answer to another attempt
            if isinstance(message, kind) and is_right(message):
                answers.setdefault(message.sender, message)
            elif isinstance(message, kind):
                refusals[message.sender] = f"it sent a {kind.kind} that does not fit the questions"
            elif isinstance(message, Refusal):
                refusals[message.sender] = one_line(message.text, 300)
        left = [name for name in requests if name not in answers and name not in refusals]
        # Requests are repeated after a silence only: as long as messages come in, none is taken for lost.
        turn = replace(turn, outgoing=() if incoming else tuple(requests[name] for name in left))
    return answers, refusals


def _require_enough(
    members: Members, store: Store, record: Record, there: Mapping[str, object], refusals: Mapping[str, str]
) -> None:
    if len(there) >= len(members.names) - members.missing:
        return
    if refusals:
        store.save(replace(record, state=State.ABORTED))
    absent = [name for name in members.names if name not in there]
    said = [f"{name} ({refusals[name]})" if name in refusals else f"{name} (no answer)" for name in absent]
    raise ProtocolError(
        f"the study cannot go on without {', '.join(said)}; at most {members.missing} may stay away. Start the curator "
        "again when they are there: it goes on where it was"
    )


def _add_up(store: Store, plan: Plan, record: Record, shares: Mapping[str, Share]) -> Opened:
    total = np.zeros(plan.cells, dtype=np.uint64)
    for share in shares.values():
        total += share.vector
    payload = struct.pack(">I", len(shares)) + total.astype("<u8").tobytes()
    opened = Record(plan.round, record.attempt, State.OPENED, record.asked, payload)
    store.save(opened)
    return _opened(plan, opened)


def _opened(plan: Plan, record: Record) -> Opened:
    (answered,) = struct.unpack_from(">I", record.payload)
    total = np.frombuffer(record.payload, dtype="<u8", offset=4).astype(np.uint64)
    if total.size != plan.cells:
        raise ProtocolError(f"the stored result of round {plan.round} is damaged; restore the curator's store")
    return Opened(total.view(np.int64), answered, hashlib.sha256(record.payload).hexdigest(), record.attempt)
