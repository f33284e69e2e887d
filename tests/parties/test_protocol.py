"""The protocol under all that can happen to it: no budget overspent, no wrong table, no hang."""

import hashlib
from contextlib import suppress
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from helpers_protocol import COST, EACH, FIRST, NO_NOISE, ROWS, SECOND, Study, ask_of, check, promise, promise_anything

from helpers_parties import SCHEMA, epsilon, split
from sfumato.errors import DataError, ProtocolError
from sfumato.identity import Signer
from sfumato.parties.agreement import Key, Ready
from sfumato.parties.curator import MOST_STALLS, Chair
from sfumato.parties.envelopes import address, open_, seal
from sfumato.parties.federation import Rounds
from sfumato.parties.letters import CURATOR, LATER
from sfumato.parties.local import LocalWire, Player, federation
from sfumato.parties.mailbox import MemoryMailbox
from sfumato.parties.messages import Refusal, Share
from sfumato.parties.party import answer
from sfumato.parties.seat import AskedTable, parts_of
from sfumato.parties.store import MemoryStore, State
from sfumato.parties.watch import Watch
from sfumato.privacy.budget import PureDP
from sfumato.privacy.ledger import Ledger


def test_without_trouble():
    study = Study()
    players = study.players()
    check(study, *study.curate(players)[:2])
    for player in players:
        player.step()
    assert all(player.over for player in players)
    states = {store.load(number, 0).state for store in study.stores.values() for number in range(2)}
    assert states == {State.OPENED}


class Faulty(MemoryMailbox):
    """Does something to the envelope number `at`; those that are sent again come through."""

    def __init__(self, fault, at):
        super().__init__()
        self.fault, self.at, self.count, self.held = fault, at, -1, []

    def put(self, envelope):
        self.count += 1
        if self.count != self.at:
            super().put(envelope)
            while self.held and self.fault != "lost":
                super().put(self.held.pop())
            return
        getattr(self, self.fault)(envelope)

    def lost(self, envelope):
        self.held.append(envelope)

    def late(self, envelope):
        self.held.append(envelope)

    def twice(self, envelope):
        super().put(envelope)
        super().put(envelope)

    def damaged(self, envelope):
        middle = len(envelope) - 70  # in the body
        super().put(envelope[:middle] + bytes([envelope[middle] ^ 4]) + envelope[middle + 1 :])

    def shortened(self, envelope):
        with suppress(ProtocolError):  # too short even for a mailbox
            super().put(envelope[:-9])

    def forged_before(self, envelope):
        message = open_(envelope, self.study.members)
        super().put(seal(message, self.study.members.study, Signer.new()))
        super().put(envelope)

    def replayed_from_another_study(self, envelope):
        message = open_(envelope, self.study.members)
        super().put(seal(message, "another", self.study.signers[message.sender]))
        super().put(envelope)

    def after_a_flood(self, envelope):
        message = open_(envelope, self.study.members)
        endless = Share(message.round, message.attempt, "p0", CURATOR, np.zeros(10_000, dtype=np.uint64))
        super().put(seal(endless, self.study.members.study, self.study.signers["p0"]))
        super().put(envelope)


FAULTS = (
    "lost", "late", "twice", "damaged", "shortened", "forged_before", "replayed_from_another_study", "after_a_flood",
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_any_one_message_changes_nothing(fault):
    # Every message for what makes others wait; for what is refused at once, every third, at another place each time.
    first, step = (0, 1) if fault in ("lost", "late") else (FAULTS.index(fault) % 3, 3)
    for at in range(first, 200, step):
        mailbox = Faulty(fault, at)
        study = mailbox.study = Study(mailbox=mailbox)
        tables, ledger, _ = study.curate(study.players())
        if mailbox.count < at:
            break
        check(study, tables, ledger)
    assert at > 25  # every message of two rounds: questions, keys, rosters, vectors, results, the end


def test_messages_that_come_in_reverse_order_every_time():
    class Reversed(MemoryMailbox):
        def fetch(self, recipient, seen):
            return super().fetch(recipient, seen)[::-1]

    study = Study(mailbox=Reversed())
    check(study, *study.curate(study.players())[:2])


class Killed(Exception):  # noqa: N818 -- not an error of the program
    """The process was stopped."""


class Fuse:
    """Counts the steps of a member, and stops it at one of them."""

    def __init__(self, at):
        self.left = at

    def tick(self):
        self.left -= 1
        if self.left == -1:
            raise Killed


class FusedStore:
    """Stops before or after anything is written."""

    def __init__(self, inner, fuse):
        self.inner, self.fuse = inner, fuse

    def save(self, record, heads=None):
        self.fuse.tick()
        self.inner.save(record, heads)
        self.fuse.tick()

    def __getattr__(self, name):
        return getattr(self.inner, name)


class FusedMailbox(FusedStore):
    """Stops before or after anything is sent."""

    def put(self, envelope):
        self.fuse.tick()
        self.inner.put(envelope)
        self.fuse.tick()


class Mortal:
    """A player that is stopped once, and started again from its store."""

    def __init__(self, study, name, fuse):
        self.study, self.name, self.fuse, self.deaths = study, name, fuse, 0
        seat = study.seat(name, FusedStore(study.stores[name], fuse))
        self.player = Player(seat, FusedMailbox(study.mailbox, fuse))

    def step(self):
        try:
            self.player.step()
        except Killed:
            self.deaths += 1
            self.player = Player(self.study.seat(self.name), self.study.mailbox)


def test_a_party_may_be_killed_at_every_step():
    for at in range(200):
        study = Study()
        mortal = Mortal(study, "p1", Fuse(at))
        others = [player for player in study.players() if player.seat.name != "p1"]
        tables, ledger, _ = study.curate([others[0], mortal, others[1]])
        check(study, tables, ledger)
        if not mortal.deaths:
            break
    assert at > 20


def test_the_curator_may_be_killed_at_every_step():
    for at in range(200):
        study = Study()
        players = study.players()
        fuse = Fuse(at)
        try:
            study.curate(players, FusedMailbox(study.mailbox, fuse), FusedStore(study.stores[CURATOR], fuse))
            break
        except Killed:
            tables, ledger, _ = study.curate(players)
            check(study, tables, ledger)
    assert at > 40


def test_everybody_may_be_killed_together():
    for at in range(0, 80, 7):
        study = Study()
        fuse = Fuse(at)
        mortals = [Mortal(study, name, Fuse(at // 3 + number)) for number, name in enumerate(study.names)]
        try:
            tables, ledger, _ = study.curate(mortals, FusedMailbox(study.mailbox, fuse))
        except Killed:
            tables, ledger, _ = study.curate(study.players())
        check(study, tables, ledger)


def test_a_curator_that_starts_again_with_another_method_is_stopped():
    study = Study()
    study.curate(study.players())
    chair = Chair(study.members, study.signers[CURATOR], study.stores[CURATOR])
    rounds = Rounds(chair, LocalWire(study.desk(), study.players()))
    holder = federation(SCHEMA, Ledger(PureDP(COST), "a row"), rounds)
    with pytest.raises(ProtocolError, match="was begun with other questions"):
        holder.measure([("a",)], epsilon(EACH))


class Absent:
    """A party that never moves, or only until it has given its key."""

    def __init__(self, player, moves=0):
        self.player, self.moves = player, moves

    def step(self):
        if self.moves:
            self.moves -= 1
            self.player.step()


def test_a_party_that_stays_away_ends_the_study_with_a_sentence():
    study = Study()
    first, second, third = study.players()
    with pytest.raises(ProtocolError, match=r"cannot go on without p2 \(no answer\); at most 0 may stay away"):
        study.curate([first, second, Absent(third)])
    assert not study.seat("p2").statement().entries
    # Nothing is lost: when it is there, the curator goes on where it was.
    check(study, *study.curate([first, second, third])[:2])


def test_the_study_goes_on_without_a_party_where_that_is_allowed():
    study = Study(parties=4, missing=1)
    players = study.players()
    players[3] = Absent(players[3])
    tables, _, _ = study.curate(players)
    there = split(ROWS, 4)[:3]
    for table, clique in zip(tables, [*FIRST, *SECOND], strict=True):
        assert (table.marginal.counts == sum(part.project(clique).counts for part in there)).all()
        assert table.variance == pytest.approx(NO_NOISE.variance * 3 / 2)


def lost_at(study, moves):
    """Players of whom the last is lost for good after this many moves."""
    players = study.players()
    players[-1] = Absent(players[-1], moves)
    return players


@pytest.mark.parametrize("parties", [4, 5])
@pytest.mark.parametrize("moves", range(9))
def test_a_party_may_be_lost_for_good_at_any_moment_where_that_is_allowed(parties, moves):
    # A round has four moves of a party: key, ready, vector, pieces. The budget has room for one attempt at each round.
    study = Study(parties=parties, missing=1, budget=COST)
    tables, ledger, _ = study.curate(lost_at(study, moves))
    parts = split(ROWS, parties)
    rounds = [[*FIRST], [*SECOND]]
    for number, cliques in enumerate(rounds):
        there = parts if moves >= 3 + 4 * number else parts[:-1]
        for clique in cliques:
            table = tables[[*FIRST, *SECOND].index(clique)]
            assert (table.marginal.counts == sum(part.project(clique).counts for part in there)).all()
            assert table.variance == pytest.approx(NO_NOISE.variance * len(there) / (parties - 2))
    assert ledger.statement().spent == COST
    for name in study.names[:-1]:
        assert study.seat(name).statement().spent == COST


class Stalling(MemoryMailbox):
    """What p3 has to say of one kind is never right, in any attempt: another message, or none at all."""

    def __init__(self, study, kind, text):
        super().__init__()
        self.study, self.kind, self.text = study, kind, text

    def put(self, envelope):
        place = address(envelope)
        if place[1] != "p3" or place[4] != self.kind:
            super().put(envelope)
        elif self.text:
            message = open_(envelope, self.study.members)
            refusal = Refusal(message.round, message.attempt, "p3", CURATOR, self.text)
            super().put(seal(refusal, self.study.members.study, self.study.signers["p3"]))


@pytest.mark.parametrize(("kind", "text"), [("ready", ""), ("ready", "not now"), ("key", LATER)])
def test_a_party_that_spoils_every_attempt_does_not_stop_those_who_may_go_on_without_it(kind, text):
    study = Study(parties=4, missing=1)
    study.mailbox = Stalling(study, kind, text)
    tables, ledger, _ = study.curate(study.players())
    there = split(ROWS, 4)[:3]
    for table, clique in zip(tables, [*FIRST, *SECOND], strict=True):
        assert (table.marginal.counts == sum(part.project(clique).counts for part in there)).all()
    assert ledger.statement().spent == COST
    assert {study.seat(name).statement().spent for name in study.names[:3]} == {COST}
    assert max(len(study.stores["p0"].attempts(number)) for number in range(2)) <= MOST_STALLS + 1


def test_two_parties_may_be_lost_one_after_the_other():
    study = Study(parties=8, missing=2, budget=COST)
    players = study.players()
    players[7], players[3] = Absent(players[7], 2), Absent(players[3], 6)
    tables, _, _ = study.curate(players)
    parts = split(ROWS, 8)
    there = [parts[number] for number in range(8) if number not in (3, 7)]
    assert (tables[2].marginal.counts == sum(part.project(SECOND[0]).counts for part in there)).all()


def test_the_curator_may_be_killed_at_every_step_while_a_party_is_lost():
    for at in range(300):
        study = Study(parties=4, missing=1)
        fuse = Fuse(at)
        players = lost_at(study, 2)
        try:
            study.curate(players, FusedMailbox(study.mailbox, fuse), FusedStore(study.stores[CURATOR], fuse))
            break
        except Killed:
            tables, _, _ = study.curate(players)
        there = split(ROWS, 4)[:3]
        for table, clique in zip(tables, [*FIRST, *SECOND], strict=True):
            assert (table.marginal.counts == sum(part.project(clique).counts for part in there)).all()
        for name in study.names[:3]:
            assert study.seat(name).statement().spent == COST
    assert at > 60


def test_who_was_lost_is_not_waited_for_again():
    study = Study(parties=4, missing=1)
    waits = []

    class Patient(LocalWire):
        def collect(self, limit, wanted):
            found = super().collect(limit, wanted)
            waits.append(found is None)
            return found

    told = []
    watch = Watch(CURATOR, "", log=lambda line: told.append(line["event"]) if line["level"] == "warning" else None)
    players = lost_at(study, 0)
    chair = Chair(study.members, study.signers[CURATOR], study.stores[CURATOR], watch=watch)
    rounds = Rounds(chair, Patient(study.desk(), players))
    holder = federation(SCHEMA, Ledger(PureDP(9 * EACH), "a row"), rounds)
    holder._ledger.stage = "learn"
    for _ in range(3):
        holder.measure([("a",)], epsilon(EACH))
    assert sum(waits) == 1  # the end of patience came once, in the first of three rounds
    assert told == ["p3 does not answer in round 0; it is asked, and not waited for"]


@pytest.mark.parametrize("value", [2**40, 2**63, 2**64 - 2**40], ids=["many", "most", "less than none"])
def test_counts_that_no_table_has_end_the_study(value, monkeypatch):
    promise_anything(monkeypatch)

    class Wrong(MemoryMailbox):
        def put(self, envelope):
            message = open_(envelope, study.members)
            if isinstance(message, Share) and message.sender == "p1":
                wrong = replace(message, vector=message.vector + np.uint64(value))
                envelope = seal(wrong, study.members.study, study.signers["p1"])
            if isinstance(message, Ready) and message.sender == "p1":
                vector = parts_of(study.stores["p1"].load(message.round, 0).payload)[3]
                wrong = Share.from_body((0, 0, "p1", CURATOR), vector).vector + np.uint64(value)
                message = replace(message, vector=hashlib.sha256(wrong.tobytes()).hexdigest())
                message = message.signed(study.members.study, study.signers["p1"])
                envelope = seal(message, study.members.study, study.signers["p1"])
            super().put(envelope)

    study = Study(mailbox=Wrong())
    with pytest.raises(DataError, match="a party has sent wrong numbers"):
        study.curate(study.players())


def test_an_attempt_that_ended_before_its_roster_costs_nothing_more():
    answers = iter([True, True, False])
    study = Study(approve=lambda summary: next(answers, True))
    with pytest.raises(ProtocolError, match="did not approve"):
        study.curate(study.players())
    check(study, *study.curate(study.players())[:2])


def test_a_party_refuses_what_exceeds_its_budget_and_computes_nothing():
    study = Study(budget=COST - 1)
    with pytest.raises(ProtocolError, match=r"without p0 \(table d × b would cost 64 epsilon; 63 is left of 191"):
        study.curate(study.players())
    for name in study.names:
        assert study.seat(name).statement().spent == 2 * EACH
        assert study.stores[name].load(1, 0) is None


def test_nothing_is_promised_before_the_operator_has_seen_what_it_costs():
    seen = []
    study = Study(approve=lambda summary: seen.append(summary) or len(seen) < 4)
    with pytest.raises(ProtocolError, match=r"p0 \(the operator of p0 did not approve round 1\)"):
        study.curate(study.players())
    noise = f"Laplace, standard deviation {sqrt(NO_NOISE.variance):.4g}"
    assert seen[0].tables == (AskedTable("a × b", "4 × 4", noise), AskedTable("c", "3", noise))
    assert (seen[0].stage, seen[0].cells, seen[0].bytes) == ("encode", 19, 152)
    assert (seen[0].before["epsilon"], seen[0].after["epsilon"]) == (0, 2 * EACH)
    assert study.seat("p0").statement().spent == 2 * EACH


def test_a_curator_that_lost_its_store_catches_up_with_the_attempts_of_the_parties():
    study = Study(parties=4, missing=1)
    study.curate(lost_at(study, 1))  # gave its key, and was lost before it was ready: a second attempt
    assert study.stores["p0"].load(0, 1).state is State.SENT or study.stores["p0"].load(0, 1).state is State.OPENED
    study.mailbox._lists.clear()
    tables, ledger, _ = study.curate(lost_at(study, 0), store=MemoryStore())
    there = split(ROWS, 4)[:3]
    for table, clique in zip(tables, [*FIRST, *SECOND], strict=True):
        assert (table.marginal.counts == sum(part.project(clique).counts for part in there)).all()
    assert ledger.statement().spent == study.seat("p0").statement().spent == COST


def test_an_operator_may_think_better_of_it():
    answers = iter([True, True, True, False, True, True])
    study = Study(approve=lambda summary: next(answers, True))
    players = study.players()
    with pytest.raises(ProtocolError, match="did not approve"):
        study.curate(players)
    check(study, *study.curate(study.players())[:2])
    assert study.stores["p1"].load(1, 0).state is State.ABORTED
    assert study.stores["p1"].load(1, 1).state is State.SENT


def test_an_operator_who_has_approved_is_not_asked_again_after_a_crash():
    seen = []
    study = Study(approve=lambda summary: seen.append(summary) is None)
    store = study.stores["p0"]
    answer(study.seat("p0"), ask_of())
    store.save(replace(store.load(0, 0), state=State.APPROVED, payload=b"", entries=()))
    assert isinstance(promise(study, "p0", ask_of()), Key)
    assert len(seen) == 1
