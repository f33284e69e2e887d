"""The protocol under all that can happen to it: no budget overspent, no wrong table, no hang."""

from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from helpers_parties import DOMAIN, SCHEMA, holders_of, rows_of, split
from sfumato.errors import ProtocolError
from sfumato.parties.federation import Rounds
from sfumato.parties.identity import Signer
from sfumato.parties.local import Company, LocalWire, Player, federation
from sfumato.parties.mailbox import Desk, MemoryMailbox
from sfumato.parties.masking import new_private_key, public_key
from sfumato.parties.messages import CURATOR, Ask, Done, Key, Refusal, Roster, Share, address, open_, seal
from sfumato.parties.party import Seat, answer
from sfumato.parties.questions import Question
from sfumato.parties.store import MemoryStore, State
from sfumato.pipeline import Group
from sfumato.privacy.budget import PureDP
from sfumato.privacy.events import Laplace, Noisy
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.party_holder import PartyHolder

NO_NOISE = Laplace(Fraction(1, 60))  # all but surely 0
ROWS = rows_of()
FIRST, SECOND = [("a", "b"), ("c",)], [("d", "b")]
COST = 60 * 3  # three tables of sensitivity 1


class Study:
    """Three parties and a curator over one mailbox, each with a store that outlives its process."""

    def __init__(self, parties=3, missing=0, budget=COST, mailbox=None, approve=lambda summary: True):
        self.names = tuple(f"p{number}" for number in range(parties))
        self.signers = {name: Signer.new() for name in (*self.names, CURATOR)}
        keys = {name: signer.public for name, signer in self.signers.items()}
        self.members = Company(self.names, keys, colluding=1, missing=missing)
        self.budget = PureDP(budget)
        self.stores = {name: MemoryStore() for name in self.signers}
        self.mailbox = mailbox or MemoryMailbox()
        self.approve = approve
        self.holders = dict(zip(self.names, map(PartyHolder, holders_of(split(ROWS, parties))), strict=True))

    def seat(self, name, store=None):
        place = (name, self.members, self.signers[name], self.holders[name], self.budget)
        return Seat(*place, store or self.stores[name], self.approve)

    def players(self):
        return [Player(self.seat(name), self.mailbox) for name in self.names]

    def desk(self, name=CURATOR, mailbox=None):
        return Desk(name, self.members, self.signers[name], mailbox or self.mailbox)

    def curate(self, players, mailbox=None, store=None):
        """Two rounds in different codes: the tables, the curator's ledger, and its desk."""
        desk = self.desk(mailbox=mailbox)
        ledger = Ledger(PureDP(COST), "a row")
        rounds = Rounds(self.members, LocalWire(desk, players), store or self.stores[CURATOR])
        holder = federation(SCHEMA, ledger, rounds)
        ledger.stage = "first"
        tables = holder.measure(FIRST, [NO_NOISE] * 2)
        ledger.stage = "second"
        tables += holder.through(Group(DOMAIN.project(("b", "d")))).measure(SECOND, [NO_NOISE])
        rounds.end()
        return tables, ledger, desk


def check(study, tables, ledger):
    """The exact tables of the union; every party has paid for them once, and sent one vector for each attempt."""
    for table, clique in zip(tables, [*FIRST, *SECOND], strict=True):
        assert (table.marginal.counts == ROWS.project(clique).counts).all()
    paid = [entry for entry in ledger.statement().entries if isinstance(entry[1], Noisy)]
    for name in study.names:
        statement = study.seat(name).statement()
        assert list(statement.entries) == paid
        assert statement.spent == COST
    vectors = defaultdict(set)
    for envelope in study.mailbox.fetch(CURATOR, 0):
        try:
            message = open_(envelope, study.members, limit=8 * 19)
        except ProtocolError:
            continue
        if isinstance(message, Share):
            vectors[message.sender, message.round, message.attempt].add(message.body())
    assert {len(different) for different in vectors.values()} == {1}


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
    for at in range(200):
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

    def save(self, record):
        self.fuse.tick()
        self.inner.save(record)
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
    rounds = Rounds(study.members, LocalWire(study.desk(), study.players()), study.stores[CURATOR])
    holder = federation(SCHEMA, Ledger(PureDP(COST), "a row"), rounds)
    with pytest.raises(ProtocolError, match="was begun with other questions"):
        holder.measure([("a",)], [NO_NOISE])


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


def test_a_party_lost_after_its_promise_costs_a_new_attempt_which_ledgers_must_allow():
    for budget, enough in ((COST, False), (2 * COST, True)):
        study = Study(parties=4, missing=1, budget=budget)
        players = study.players()
        players[3] = Absent(players[3], moves=1)
        if not enough:
            with pytest.raises(ProtocolError, match=r"cannot go on without p0 \(.* would cost .*is left"):
                study.curate(players)
        else:
            tables, ledger, _ = study.curate(players)
            assert "that came to nothing: 1" in str(ledger.statement().entries)
            assert tables[1].marginal.counts.sum() == sum(map(len, split(ROWS, 4)[:3]))
        for name in study.names[:3]:
            statement = study.seat(name).statement()
            statement.verify()
            assert statement.spent == (COST + 120 if enough else 120)


def test_a_party_refuses_what_exceeds_its_budget_and_computes_nothing():
    study = Study(budget=COST - 1)
    with pytest.raises(ProtocolError, match=r"without p0 \(table d × b would cost 60 epsilon; 59 is left of 179"):
        study.curate(study.players())
    for name in study.names:
        assert study.seat(name).statement().spent == 120
        assert study.stores[name].load(1, 0) is None


def test_nothing_is_promised_before_the_operator_has_seen_what_it_costs():
    seen = []
    study = Study(approve=lambda summary: seen.append(summary) or len(seen) < 4)
    with pytest.raises(ProtocolError, match=r"p0 \(the operator of p0 did not approve round 1\)"):
        study.curate(study.players())
    assert (seen[0].tables, seen[0].cells, seen[0].bytes) == (("table a × b", "table c"), 19, 152)
    assert (seen[0].before["epsilon"], seen[0].after["epsilon"]) == (0, 120)
    assert study.seat("p0").statement().spent == 120


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


# ------------- a curator that does not play by the rules -------------


ONE = (Question(("a",), NO_NOISE),)


def ask_of(questions=ONE, attempt=0, coding="[]", name="p0"):
    return Ask(0, attempt, CURATOR, name, "measure", coding, tuple(questions))


def promise(study, name, ask):
    (key,) = answer(study.seat(name), replace(ask, recipient=name))
    return key


def roster_for(keys, name, attempt=0):
    return Roster(0, attempt, CURATOR, name, tuple(keys))


def refusal(study, name, message):
    (answered,) = answer(study.seat(name), message)
    assert isinstance(answered, Refusal)
    return answered.text


def test_parties_that_were_asked_different_questions_do_not_answer():
    # Else one could be asked for little noise in the belief that the others add much.
    study = Study()
    wide, narrow = ask_of([Question(("a",), Laplace(Fraction(100)))]), ask_of([Question(("a",), NO_NOISE)])
    keys = [promise(study, "p0", wide), promise(study, "p1", narrow), promise(study, "p2", narrow)]
    for name in study.names:
        assert "did not sign for these questions" in refusal(study, name, roster_for(keys, name))
        assert study.stores[name].load(0, 0).state is State.RESERVED


def test_a_key_put_in_by_the_curator_is_refused():
    study = Study()
    keys = [promise(study, name, ask_of()) for name in study.names]
    own = public_key(new_private_key())
    swapped = [replace(keys[0], public=own), *keys[1:]]
    own_signed = [replace(keys[0], public=own).signed(study.members.study, study.signers[CURATOR]), *keys[1:]]
    stranger = [*keys[:2], replace(keys[2], sender="p9")]
    for wrong in (swapped, own_signed, stranger):
        assert "did not sign" in refusal(study, "p1", roster_for(wrong, "p1"))
    assert "2 parties; at least 3 are wanted" in refusal(study, "p1", roster_for(keys[:2], "p1"))
    assert "2 parties; at least 3 are wanted" in refusal(study, "p1", roster_for([keys[1], keys[1], keys[2]], "p1"))
    (share,) = answer(study.seat("p1"), roster_for(keys, "p1"))
    assert isinstance(share, Share)


def test_a_roster_without_its_own_key_is_refused():
    study = Study(parties=4, missing=1)
    keys = [promise(study, name, ask_of()) for name in study.names]
    assert "does not have the key of p3" in refusal(study, "p3", roster_for(keys[:3], "p3"))


def test_one_attempt_has_one_question_one_roster_and_one_vector():
    study = Study(parties=4, missing=1)
    keys = [promise(study, name, ask_of()) for name in study.names]
    assert promise(study, "p0", ask_of()) == keys[0]
    other = ask_of([Question(("b",), NO_NOISE)])
    assert "with other questions" in refusal(study, "p0", other)
    (share,) = answer(study.seat("p0"), roster_for(keys, "p0"))
    (again,) = answer(study.seat("p0"), roster_for(keys, "p0"))
    assert share.body() == again.body()
    assert "two different rosters" in refusal(study, "p0", roster_for(keys[:3], "p0"))
    assert study.stores["p0"].load(0, 0).payload[:32] == bytes(32)  # the private key is gone


def test_an_attempt_that_was_given_up_is_never_sent_and_its_cost_comes_back():
    study = Study()
    keys = [promise(study, name, ask_of()) for name in study.names]
    assert isinstance(promise(study, "p0", ask_of(attempt=1)), Key)
    assert study.seat("p0").statement().spent == 60
    assert "was not promised" in refusal(study, "p0", roster_for(keys, "p0"))
    assert "is over for this party" in refusal(study, "p0", ask_of())
    assert study.stores["p0"].load(0, 0).state is State.ABORTED


def test_an_attempt_that_was_sent_stays_spent():
    study = Study()
    keys = [promise(study, name, ask_of()) for name in study.names]
    answer(study.seat("p0"), roster_for(keys, "p0"))
    promise(study, "p0", ask_of(attempt=1))
    assert study.seat("p0").statement().spent == 120
    promise(study, "p0", ask_of(attempt=3))
    assert "later attempt" in refusal(study, "p0", ask_of(attempt=2))


@pytest.mark.parametrize(
    ("questions", "coding", "words"),
    [
        ([], "[]", "asks for 0 cells"),
        ([Question(("x",), NO_NOISE)], "[]", "is not in the table"),
        ([Question(("a", "a"), NO_NOISE)], "[]", "occur twice"),
        ([Question(("a",), NO_NOISE)], "[{}]", "cannot be followed"),
        ([Question(("a",), NO_NOISE)], '[{"run":"rm"}]', "cannot be followed"),
        ([Question(("a",), NO_NOISE)], '[{"merge":{"a":[0,0]}}]', "cannot be followed"),
        ([Question(("a",), NO_NOISE)], '[{"merge":{"x":[0,0]}}]', "cannot be followed"),
        ([Question(("a",), NO_NOISE)], '[{"keep":["b"]}]', "is not in the table"),
        ([Question(("a",), NO_NOISE)], "no", "cannot be followed"),
    ],
)
def test_questions_that_make_no_sense_are_refused_and_cost_nothing(questions, coding, words):
    study = Study()
    assert words in refusal(study, "p0", ask_of(questions, coding=coding))
    assert not study.seat("p0").statement().entries


def test_a_roster_or_result_for_a_round_that_was_never_asked_does_nothing():
    study = Study()
    assert "was not promised" in refusal(study, "p0", roster_for([], "p0"))
    assert answer(study.seat("p0"), Done(0, 0, CURATOR, "p0", "aa")) == ()
    assert not list(study.stores["p0"])


def test_a_party_whose_book_is_an_old_copy_sends_nothing():
    study = Study()
    players = study.players()
    old = MemoryStore()
    rounds = Rounds(study.members, LocalWire(study.desk(), players), MemoryStore())
    holder = federation(SCHEMA, Ledger(PureDP(COST), "a row"), rounds)
    holder.measure(FIRST, [NO_NOISE] * 2)
    players[1] = Player(study.seat("p1", old), study.mailbox)
    players[1].desk.collect()  # what came before is lost with the book
    with pytest.raises(ProtocolError, match=r"p1 \(round 1 was asked, but this party's book says nothing of round 0"):
        holder.measure(SECOND, [NO_NOISE])
    assert not list(old)


def test_no_message_of_a_study_can_be_read_as_counts():
    # What the curator and anybody on the way sees of one party is uniform.
    study = Study()
    study.curate(study.players())
    first = [envelope for envelope in study.mailbox.fetch(CURATOR, 0) if address(envelope)[4] == "share"]
    small = [int((open_(one, study.members).vector < 2**40).sum()) for one in first]
    assert sum(small) == 0
