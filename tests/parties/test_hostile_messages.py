"""Every message of a dishonest member that signs properly is refused or paid for, and never stops anybody.

Messages stay in the mailbox, so whatever crashed a member once would crash it after every restart.
"""

import json
import shutil
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from itertools import islice

import pytest
from helpers_consortium import NAMES
from helpers_hostile import header_of, mutants, signed
from helpers_protocol import Study as LocalStudy
from helpers_protocol import ask_of, go_for, promise, ready
from helpers_study import Study, folder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.errors import ProtocolError, SfumatoError
from sfumato.parties.agreement import Go, Key, Ready, Roster
from sfumato.parties.envelopes import address, open_
from sfumato.parties.journal import Journal
from sfumato.parties.letters import CURATOR
from sfumato.parties.mailbox import Desk, MemoryMailbox
from sfumato.parties.messages import Ask, Done, End, Refusal, Reveal, Share, Unmask
from sfumato.parties.party import answer, take_part
from sfumato.parties.questions import Question
from sfumato.parties.store import MemoryStore
from sfumato.parties.study import Waiting, attend, open_journal
from sfumato.privacy.mechanisms import Laplace

__all__ = ["folder"]  # the fixture

AT_ONCE = Waiting(0.01, 0)
CODING = '[{"merge":{"ward":[0,1,1]}},{"levels":[{"column":"ward","to":[0,0]}]},{"keep":["ill","ward"]}]'
QUESTIONS = (Question(("ill", "ward"), Laplace(Fraction(3, 2))), Question((), Laplace(Fraction(7))))


class Lying:
    """A mailbox in which the same envelopes lie, whoever looks; what is put there is kept apart."""

    def __init__(self, *envelopes):
        self.envelopes, self.sent = list(envelopes), []

    def put(self, envelope):
        self.sent.append(envelope)

    def fetch(self, recipient, seen):
        return self.envelopes[seen:]


KINDS = ("ask", "roster", "go", "done", "end")


class Party:
    """North, with a journal in a folder for each kind of message: as it is when an honest one of that kind comes."""

    def __init__(self, folder):
        self.study = Study(folder, epsilon="20")
        self.members = self.study.manifest
        self.signers = {name: self.study.signer(name) for name in (*NAMES, CURATOR)}
        self.journals = folder / "journals"
        self.seat = self.study.seat("north", MemoryStore())
        ask = Ask(0, 0, CURATOR, "north", "learn", CODING, QUESTIONS)
        others = {name: self.study.seat(name, MemoryStore()) for name in NAMES[1:]}
        keys = [answer(seat, replace(ask, recipient=name))[0] for name, seat in others.items()]
        with self.opened("ask") as seat:
            pass
        with self.opened("roster") as seat:
            (key,) = answer(seat, ask)
        roster = Roster(0, 0, CURATOR, "north", ask.digest, (key, *keys))
        shutil.copytree(self.journals / "roster", self.journals / "go")
        with self.opened("go") as seat:
            readies = [*answer(seat, roster), *(answer(one, roster)[0] for one in others.values())]
        go = Go(0, 0, CURATOR, "north", roster.digest, tuple(one.mark for one in readies), "", "", {})
        go = go.signed(self.members.study, self.signers[CURATOR])
        for kind in ("done", "end"):
            shutil.copytree(self.journals / "go", self.journals / kind)
            with self.opened(kind) as seat:
                (share,) = answer(seat, go)
        assert isinstance(share, Share)
        ends = Done(0, 0, CURATOR, "north", "00ff"), End(0, 0, CURATOR, "north", "all is well")
        self.messages = dict(zip(KINDS, (ask, roster, go, *ends), strict=True))

    @contextmanager
    def opened(self, name):
        """North's seat with one of its journals."""
        journal = open_journal(self.journals / name, self.members, "north", self.signers["north"], "100")
        try:
            yield replace(self.seat, store=journal)
        finally:
            journal.close()

    def in_memory(self, kind):
        """North's seat with a copy of a journal that lasts for one message."""
        store = MemoryStore()
        with self.opened(kind) as seat:
            for record in seat.store.attempts(0):
                store.save(record)
        return lambda: replace(self.seat, store=copy(store))

    def mutants(self, kind):
        return mutants(self.messages[kind], self.members.study, self.signers[CURATOR])


@pytest.fixture(scope="module")
def party(tmp_path_factory):
    return Party(tmp_path_factory.mktemp("study"))


def copy(store):
    fresh = MemoryStore()
    for record in store:
        fresh.save(record)
    return fresh


@pytest.mark.parametrize("kind", KINDS)
def test_a_party_refuses_whatever_a_dishonest_curator_signs(party, kind):
    new_seat, answered = party.in_memory(kind), Counter()
    for name, mutant in party.mutants(kind):
        started = time.process_time()
        answered.update(looked_at(name, new_seat(), Lying(mutant())))
        assert time.process_time() - started < 5, name
    assert answered[Refusal] > 10 or kind not in ("ask", "roster", "go")
    assert looked_at("as it was", new_seat(), Lying(envelope(party, kind))) == {
        "ask": [Key],
        "roster": [Ready],
        "go": [Share],
        "done": [],
        "end": [],
    }.get(kind)


def envelope(party, kind):
    message = party.messages[kind]
    return signed(header_of(message, party.members.study), message.body(), party.signers[CURATOR])


def looked_at(name, seat, mailbox):
    """One look into the mailbox: the kinds of answers, which are short and cost no more than they may."""
    desk = Desk(seat.name, seat.members, seat.signer, mailbox)
    role = take_part(seat)
    next(role)
    with suppress(StopIteration):
        desk.post(role.send(desk.collect()))
    seat.statement().verify()
    assert all(len(one) < 1 << 16 for one in mailbox.sent), name
    return [type(open_(one, seat.members)) for one in mailbox.sent]


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_party_met_once_does_not_stop_it_after_a_restart(party, kind, folder):
    ends = "nothing has come|the curator ended the study"
    for number, (name, mutant) in enumerate(islice(party.mutants(kind), 0, None, 31)):
        mailbox = Lying(mutant())
        party.journals, home = folder, party.journals
        shutil.copytree(home / kind, folder / str(number))
        try:
            for _ in range(2):
                with party.opened(str(number)) as seat, pytest.raises(ProtocolError, match=ends):
                    attend(seat, mailbox, seat.store, AT_ONCE)
        except Exception as problem:
            raise AssertionError(name) from problem
        finally:
            party.journals = home


@pytest.mark.parametrize("kind", ["go", "unmask"])
def test_a_party_that_gives_pieces_refuses_whatever_a_dishonest_curator_signs(kind):
    study = LocalStudy(parties=4, missing=1)
    keys = [promise(study, name, ask_of()) for name in study.names]
    readies = ready(study, keys)
    message = go_for(study, readies, "p0")
    if kind == "unmask":
        answer(study.seat("p0"), message)
        message = Unmask(0, 0, CURATOR, "p0", ("p0", "p1", "p3"))
    answered = Counter()
    for name, mutant in islice(mutants(message, study.members.study, study.signers[CURATOR]), 0, None, 3):
        seat = study.seat("p0", copy(study.stores["p0"]))
        answered.update(looked_at(name, seat, Lying(mutant())))
    assert answered[Refusal] > 10 or kind == "unmask"
    assert isinstance(answer(study.seat("p0"), message)[0], Reveal if kind == "unmask" else Share)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["smoker", "ward"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(step=json_values, kind=st.sampled_from(["merge", "keep", "levels", "bits", "other"]), more=st.booleans())
def test_any_coding_is_followed_or_refused(party, step, kind, more):
    coding = json.dumps([{kind: step}] if more else step)
    seat = replace(party.seat, store=MemoryStore())
    for message in answer(seat, replace(party.messages["ask"], coding=coding)):
        assert isinstance(message, Key | Refusal)


class Dishonest(MemoryMailbox):
    """Carries what p1 has to say of one kind in another form, signed by p1."""

    def __init__(self, study, kind, number):
        super().__init__()
        self.study, self.kind, self.number, self.name = study, kind, number, ""

    def put(self, envelope):
        _, sender, _, _, kind = address(envelope)
        if (sender, kind) != ("p1", self.kind):
            super().put(envelope)
            return
        members, signer = self.study.members, self.study.signers["p1"]
        found = mutants(open_(envelope, members), members.study, signer)
        self.name, mutant = next(islice(found, self.number, None), ("", lambda: envelope))
        self._lists.setdefault(CURATOR, []).append(mutant())


@pytest.mark.parametrize(
    ("kind", "every", "parties"),
    [("key", 29, 3), ("ready", 97, 4), ("share", 19, 3), ("reveal", 97, 4), ("refusal", 19, 3)],
)
def test_a_curator_goes_on_or_says_why_not_whatever_a_dishonest_party_signs(folder, kind, every, parties):
    number = 0
    while True:
        study = LocalStudy(parties, missing=parties - 3, approve=lambda summary: kind != "refusal")
        mailbox = study.mailbox = Dishonest(study, kind, number)
        for _ in range(2):  # and again after a restart
            journal = Journal(folder / str(number), study.members.study, CURATOR, None)
            try:
                with suppress(SfumatoError):
                    study.curate(study.players(), store=journal)
            except Exception as problem:
                raise AssertionError(mailbox.name) from problem
            finally:
                journal.close()
        if not mailbox.name:
            break
        number += every
    assert number > 300
