"""The curator's side of one round: a generator over messages, without clocks, files or sockets.

It asks everybody, waits for their keys, sends the roster, waits until all are ready, lets them send, and adds up what
comes. Until all are ready a party that is lost costs nothing: the others begin again without it. After that, its masks
are recovered where the manifest lets parties stay away.

It yields what is to be sent, and the attempt whose answers it waits for. It is sent those that have come: no messages,
and it repeats what has not been answered; None, and it waits no longer. It writes down what it must not forget, and
starts again where it was.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ProtocolError, StudyEnded, TryAgain
from sfumato.identity import Signer
from sfumato.parties import recovery
from sfumato.parties.agreement import Go, Key, Ready, Roster
from sfumato.parties.circle import keepers, shown
from sfumato.parties.letters import ATTEMPTS, CURATOR, LATER, Members
from sfumato.parties.messages import Ask, Message, Refusal, Reveal, Share, Unmask
from sfumato.parties.questions import Question
from sfumato.parties.seat import joined, parts_of
from sfumato.parties.store import Record, State, Store
from sfumato.parties.watch import Watch
from sfumato.text import one_line

Incoming = tuple[Message, ...] | None
_Answer = TypeVar("_Answer", Key, Ready, Share, Reveal)
_Kept = TypeVar("_Kept")

MOST_STALLS = 3
"""How many attempts of a round one party may spoil, before the others go on without it where they may."""


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
    """The end of a round: the sum over all who answered, who they were, and its hash."""

    total: NDArray[np.int64]
    names: tuple[str, ...]
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


@dataclass
class Chair:
    """What the curator knows in all rounds of a study.

    Args:
        members: of the study.
        signer: the curator's key.
        store: what it must not forget.
        absent: who did not answer the last time. They are asked, and are not waited for.
        watch: told when a party is lost or comes back, and for whom the curator waits.
    """

    members: Members
    signer: Signer
    store: Store
    absent: set[str] = field(default_factory=set)
    watch: Watch = field(default_factory=lambda: Watch(CURATOR, ""))


def run_round(chair: Chair, plan: Plan) -> Generator[Turn, Incoming, Opened]:
    """Play one round to its end, or raise a ProtocolError that says who is missing or will not answer."""
    store = chair.store
    attempts = store.attempts(plan.round)
    attempt = attempts[-1].attempt if attempts else 0
    if attempts and attempts[-1].state is State.ABORTED:
        attempt += 1  # somebody had refused, and may think better of it
    stalls: Counter[str] = Counter()
    while True:
        record = _begun(store, plan, attempt)
        if record.state is State.OPENED:
            return _opened(plan, record)
        table = _Table(chair, plan, attempt)
        if record.state is State.PROPOSED:
            keys, later = yield from _keys(table, record, stalls)
            if later:
                # A curator that has lost its store counts from the first attempt again; parties do not.
                stalls.update(later)
                store.save(replace(record, state=State.ABORTED))
                attempt += 1
                continue
            left_out = tuple(sorted(set(chair.members.names) - set(keys)))
            every = tuple(keys[name] for name in sorted(keys))
            roster = Roster(plan.round, attempt, CURATOR, "", record.asked, every, left_out)
            record = replace(record, state=State.COMPUTED, payload=joined(roster.body()))
            store.save(record)
        roster = Roster.from_body((plan.round, attempt, CURATOR, ""), parts_of(record.payload)[0])
        if record.state is State.COMPUTED:
            readies = yield from _readies(table, record, roster)
            if len(readies) < len(roster.keys):
                # Nothing has left anybody: begin again with those who are there, at no cost.
                stalls.update(set(roster.owners) - set(readies))
                store.save(replace(record, state=State.ABORTED, payload=b""))
                attempt += 1
                continue
            record = replace(
                record, state=State.SENT, payload=record.payload + joined(*_signed(chair, roster, readies))
            )
            store.save(record)
        return (yield from _collected(table, record, roster))


def _begun(store: Store, plan: Plan, attempt: int) -> Record:
    if attempt >= ATTEMPTS:
        raise ProtocolError(f"round {plan.round} was attempted {ATTEMPTS} times; agree on a new study")
    asked = plan.ask(attempt, "").digest
    record = store.load(plan.round, attempt)
    if record is None:
        record = Record(plan.round, attempt, State.PROPOSED, asked)
        store.save(record)
    if record.asked != asked:
        raise ProtocolError(
            f"round {plan.round} was begun with other questions; a curator that starts again must run the same "
            "method with the same version"
        )
    return record


class _Table:
    """One attempt: asks for one kind of answer after the other, and keeps what comes before its time."""

    def __init__(self, chair: Chair, plan: Plan, attempt: int):
        self.chair, self.plan, self.attempt = chair, plan, attempt
        self._early: dict[tuple[str, str], Message] = {}

    def answers(
        self,
        kind: type[_Answer],
        requests: Mapping[str, Message],
        take: Callable[[_Answer], _Kept | None],
        enough: Callable[[int], bool] = lambda count: False,
    ) -> Generator[Turn, Incoming, tuple[dict[str, _Kept], dict[str, str]]]:
        """Ask, and ask again, until all that are waited for have answered or refused, or nobody is waited for.

        Args:
            kind: of answer.
            requests: what each party is asked.
            take: what to keep of an answer; None if it is not right.
            enough: whether this many answers will do.
        """
        answers: dict[str, _Kept] = {}
        refusals: dict[str, str] = {}
        incoming: Incoming = tuple(one for (name, _), one in self._early.items() if name == kind.kind)
        turn = Turn(tuple(requests.values()), self.plan.round, self.attempt)
        while True:
            for message in incoming or ():
                if message.sender not in requests or message.sender in answers:
                    continue
                if isinstance(message, kind):
                    kept = take(message)
                    if kept is None:
                        refusals[message.sender] = f"it sent a {kind.kind} that does not fit the questions"
                    else:
                        answers[message.sender] = kept
                        self._is_back(message.sender)
                elif isinstance(message, Refusal):
                    refusals[message.sender] = one_line(message.text, 300)
                elif not isinstance(message, Share):
                    self._early[message.kind, message.sender] = message
            left = [name for name in requests if name not in answers and name not in refusals]
            waited = [name for name in left if name not in self.chair.absent]
            if incoming is None or not waited or enough(len(answers)):
                break
            state = {"round": self.plan.round, "attempt": self.attempt, "wants": kind.kind}
            self.chair.watch.now("waiting", **state, waiting_for=waited)
            incoming = yield turn
            # Requests are repeated after a silence only: as long as messages come in, none is taken for lost.
            turn = replace(turn, outgoing=() if incoming else tuple(requests[name] for name in left))
        if not enough(len(answers)):
            self._note_absent(left)
        return answers, refusals

    def require_enough(self, there: int, refusals: Mapping[str, str], names: Sequence[str], record: Record) -> None:
        """Refuse to go on with fewer parties than the manifest wants."""
        members = self.chair.members
        if there >= len(members.names) - members.missing:
            return
        if refusals and record.state in (State.PROPOSED, State.COMPUTED):
            self.chair.store.save(replace(record, state=State.ABORTED, payload=b""))
        said = [f"{name} ({refusals.get(name, 'no answer')})" for name in members.names if name not in names]
        problem = f"the study cannot go on without {', '.join(said)}; at most {members.missing} may stay away"
        if refusals:
            raise StudyEnded(f"{problem}. A refusal is final in this study: agree on another manifest")
        raise TryAgain(f"{problem}. Start the curator again when they are there: it goes on where it was")

    def _note_absent(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self.chair.absent:
                said = f"{name} does not answer in round {self.plan.round}; it is asked, and not waited for"
                self.chair.watch.tell(said, "warning")
        self.chair.absent.update(names)

    def _is_back(self, name: str) -> None:
        if name in self.chair.absent:
            self.chair.absent.discard(name)
            self.chair.watch.tell(f"{name} answers again in round {self.plan.round}")


def _keys(
    table: _Table, record: Record, stalls: Mapping[str, int]
) -> Generator[Turn, Incoming, tuple[dict[str, Key], list[str]]]:
    """The keys of all who agree to answer, or all but those who may stay away; and who says that this attempt is over.

    A party that has spoilt attempt after attempt, by mistake or to stop the study, counts as one that stays away.
    """
    members = table.chair.members
    asks = {name: table.plan.ask(record.attempt, name) for name in members.names}

    def take(key: Key) -> Key | None:
        return key if key.asked == record.asked and key.is_signed(members) else None

    keys, refusals = yield from table.answers(Key, asks, take)
    later = [name for name, reason in refusals.items() if reason.endswith(LATER)]
    trusted = {name: key for name, key in keys.items() if stalls.get(name, 0) < MOST_STALLS}
    if len(trusted) >= len(members.names) - members.missing:
        return trusted, [name for name in later if stalls.get(name, 0) < MOST_STALLS]
    if not later:
        table.require_enough(len(keys), refusals, list(keys), record)
    return keys, later


def _readies(table: _Table, record: Record, roster: Roster) -> Generator[Turn, Incoming, dict[str, Ready]]:
    """Who of a roster is ready; refuses to go on if they are too few."""
    members = table.chair.members
    requests = {name: roster.to(name, members) for name in roster.owners}
    kept = set(keepers(roster.owners, members))

    def take(ready: Ready) -> Ready | None:
        right = set(ready.pieces) == kept and ready.seen == requests[ready.sender].seen
        return ready if right and ready.mark.is_signed(members, ready.round, ready.attempt, roster.digest) else None

    readies, refusals = yield from table.answers(Ready, requests, take)
    table.require_enough(len(readies), refusals, list(readies), record)
    return readies


def _signed(chair: Chair, roster: Roster, readies: Mapping[str, Ready]) -> tuple[bytes, bytes]:
    """The signatures of all who are ready and the curator's own; and the sealed pieces, by sender and recipient."""
    marks = tuple(readies[name].mark for name in sorted(readies))
    go = Go(roster.round, roster.attempt, CURATOR, "", roster.digest, marks, "", "", {})
    go = replace(go, everybody=go.hashed)
    pieces = {name: dict(ready.pieces) for name, ready in readies.items()}
    return go.signed(chair.members.study, chair.signer).body(), json.dumps(pieces).encode()


def _collected(table: _Table, record: Record, roster: Roster) -> Generator[Turn, Incoming, Opened]:
    """Let all who are ready send, add up what comes, and take the masks off."""
    chair, plan = table.chair, table.plan
    _, body, written, *later = parts_of(record.payload)
    go, pieces = Go.from_body((plan.round, record.attempt, CURATOR, ""), body), json.loads(written)
    hashes = {mark.sender: mark.vector for mark in go.marks}
    kept = keepers(roster.owners, chair.members)
    summed: list[str] = json.loads(later[0]) if later else list(roster.owners)
    total = np.zeros(plan.cells, dtype=np.uint64)

    def add(share: Share) -> bool | None:
        """Add a vector at once if it is the one that was promised; memory is that of one vector, not of all."""
        nonlocal total
        if share.vector.size != plan.cells or share.digest != hashes[share.sender]:
            return None
        total += share.vector
        return True

    def request(name: str) -> Go:
        owners = shown(roster.owners, name, chair.members)
        marks = tuple(mark for mark in go.marks if mark.sender in owners)
        sealed = {sender: given[name] for sender, given in pieces.items()} if name in kept else {}
        return replace(go, recipient=name, marks=marks, pieces=sealed)

    requests = {name: request(name) for name in summed}
    added, refusals = yield from table.answers(Share, requests, add)
    if later and len(added) < len(summed):
        missing = ", ".join(sorted(set(summed) - set(added)))
        raise ProtocolError(f"the vectors of {missing} were there and are gone; restore the curator's mailbox")
    table.require_enough(len(added), refusals, sorted(added), record)
    if not chair.members.missing:
        return _open(chair.store, plan, record, total, tuple(sorted(added)))
    summed = sorted(added)
    if not later:
        record = replace(record, state=State.REVEALED, payload=record.payload + joined(json.dumps(summed).encode()))
        chair.store.save(record)
    unmasks = {
        name: Unmask(plan.round, record.attempt, CURATOR, name, tuple(summed)) for name in summed if name in kept
    }
    reveals, refusals = yield from table.answers(
        Reveal,
        unmasks,
        lambda reveal: reveal if recovery.is_right(reveal, roster.owners, summed) else None,
        lambda count: recovery.enough(roster, chair.members, count),
    )
    if not recovery.enough(roster, chair.members, len(reveals)):
        table.require_enough(0, refusals, list(reveals), record)
    clear = recovery.unmask(total, roster, chair.members, summed, {name: one.pieces for name, one in reveals.items()})
    return _open(chair.store, plan, record, clear, tuple(summed))


def _open(store: Store, plan: Plan, record: Record, total: NDArray[np.uint64], names: tuple[str, ...]) -> Opened:
    payload = joined(*parts_of(record.payload)[:2], json.dumps(names).encode(), total.astype("<u8").tobytes())
    opened = replace(record, state=State.OPENED, payload=payload)
    store.save(opened)
    return _opened(plan, opened)


def _opened(plan: Plan, record: Record) -> Opened:
    _, _, names, content = parts_of(record.payload)
    total = np.frombuffer(content, dtype="<u8").astype(np.uint64)
    if total.size != plan.cells:
        raise ProtocolError(f"the stored result of round {plan.round} is damaged; restore the curator's store")
    return Opened(total.view(np.int64), tuple(json.loads(names)), hashlib.sha256(content).hexdigest(), record.attempt)
