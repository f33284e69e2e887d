"""All rounds of a study are about the same rows: of each party, and of everybody together."""

import hashlib
from dataclasses import replace
from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest
from helpers_consortium import manifest_of, new_signers
from helpers_protocol import Study as LocalStudy
from helpers_protocol import promise_anything
from helpers_study import Parties, Study, folder, rows_of, study
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import DataError, ProtocolError
from sfumato.parties.agreement import Ready
from sfumato.parties.envelopes import open_, seal
from sfumato.parties.fingerprint import Fingerprint
from sfumato.parties.folder import FolderMailbox
from sfumato.parties.letters import CURATOR
from sfumato.parties.mailbox import MemoryMailbox
from sfumato.parties.messages import Share
from sfumato.parties.seat import parts_of
from sfumato.parties.study import protected
from sfumato.parties.totals import DEVIATIONS, Totals
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.opening import open_party

__all__ = ["folder", "study"]  # the fixtures


@pytest.mark.parametrize("change", ["a value", "a row more", "a row less", "another order"])
def test_another_table_between_two_rounds_is_refused(study, change):
    journal = study.journal("north")
    study.seat("north", journal)
    journal.close()
    table = rows_of("north")
    if change == "a value":
        table.loc[7, "ward"] = "c" if table.loc[7, "ward"] != "c" else "a"
    changed = {
        "a value": table,
        "a row more": rows_of("north", 201),
        "a row less": table[:-1],
        "another order": table[::-1],
    }[change]
    changed.to_csv(study.folder / "north.csv", index=False)
    journal = study.journal("north")
    with pytest.raises(ProtocolError, match="the table is not the one that this study began with"):
        study.seat("north", journal)
    rows_of("north").to_csv(study.folder / "north.csv", index=False)
    study.seat("north", journal)
    journal.close()


def test_a_fingerprint_tells_nothing_without_its_key(study):
    found = []
    for key in (b"1" * 16, b"2" * 16, b"1" * 16):
        fingerprint = Fingerprint(key)
        open_party(study.folder / "north.csv", study.schema, seen=fingerprint.add)
        found.append(fingerprint.text)
    assert found[0] == found[2] != found[1]


class Wrong(MemoryMailbox):
    """Carries the vectors of p1 with something added to each cell, properly promised and signed."""

    def __init__(self, wrong):
        super().__init__()
        self.wrong = wrong

    def put(self, envelope):
        message, members = open_(envelope, self.study.members), self.study.members
        if message.sender == "p1" and isinstance(message, Share | Ready):
            stored = parts_of(self.study.stores["p1"].load(message.round, 0).payload)[3]
            vector = self.wrong(Share.from_body((0, 0, "p1", CURATOR), stored).vector)
            if isinstance(message, Share):
                message = replace(message, vector=vector)
            else:
                message = replace(message, vector=hashlib.sha256(vector.tobytes()).hexdigest())
                message = message.signed(members.study, self.study.signers["p1"])
            envelope = seal(message, members.study, self.study.signers["p1"])
        super().put(envelope)


WRONG = {
    "random": lambda vector: vector + np.arange(vector.size, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15),
    "each cell + 2^40": lambda vector: vector + np.uint64(2**40),
    "each cell - 2^40": lambda vector: vector - np.uint64(2**40),
    "each cell + 1000": lambda vector: vector + np.uint64(1000),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_poisoned_totals_end_the_study_before_anything_is_made_of_them(wrong, monkeypatch):
    promise_anything(monkeypatch)
    mailbox = Wrong(wrong)
    study = mailbox.study = LocalStudy(mailbox=mailbox)
    with pytest.raises(DataError, match="a party has sent wrong numbers"):
        study.curate(study.players())


def test_more_rows_than_the_manifest_allows_end_the_study():
    totals = Totals(most_rows=1000)
    totals.check(("a",), [np.array([400, 300])], [1.0])
    with pytest.raises(DataError, match=r"more than the 1,000 rows"):
        Totals(most_rows=1000).check(("a",), [np.array([2000, 300])], [1.0])
    totals.check(("a", "b"), [np.array([900, 90])], [1.0])  # others have answered: another number of rows


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.tuples(st.integers(1, 50), st.floats(0.1, 1e6)), min_size=1, max_size=6))
def test_noise_within_the_bound_is_never_taken_for_a_lie(rows, tables):
    totals = Totals(most_rows=10**8)
    for number, (cells, variance) in enumerate(tables):
        table = np.zeros(cells, dtype=np.int64)
        off = DEVIATIONS / 2 * sqrt(cells * variance)
        table[0] = rows + int(off if number % 2 else -off) // 2
        totals.check(("a",), [table], [variance])


def test_an_honest_study_is_stopped_less_than_once_in_a_million_times():
    # A total that is off by x standard deviations of its own: exp(-sqrt(2) x) for one cell of Laplace noise, the worst
    # case. One of two totals is off by at least half of the bound on their difference.
    for ratio in (1, 10, 1e6):
        own = DEVIATIONS * sqrt(1 + 1 / ratio) / 2
        assert 2 * exp(-sqrt(2) * own) < 1e-11


def test_noise_is_made_for_persons_who_are_at_several_parties(study):
    one, two = (Neighbours.of(study.schema, parties) for parties in (1, 2))
    assert two.marginal.l1 == 2 * one.marginal.l1
    assert str(two) == "all rows of one person (at most 1 at each of at most 2 parties), added or removed"
    signers = new_signers()
    told = protected(manifest_of(signers, max_parties_per_person=2))
    assert "at most 1 at each of at most 2 parties" in told
    assert "if no person has rows at two of them" in protected(manifest_of(signers))
    for wrong in (0, 4, -1):
        with pytest.raises(ProtocolError, match=f"a person may be at {wrong} parties"):
            manifest_of(signers, max_parties_per_person=wrong)


def test_a_study_for_persons_at_two_parties_has_twice_the_noise(folder):
    spent, scales = [], []
    for number, parties in enumerate((1, 2)):
        place = folder / str(number)
        place.mkdir()
        study = Study(place, epsilon="1", max_parties_per_person=parties)
        mail = place / "mail"
        with Parties(study, lambda name, stack, mail=mail, study=study: FolderMailbox(mail, study.manifest)) as found:
            release = study.curate(FolderMailbox(mail, study.manifest))
        (events,) = {statement.entries for statement in found.statements.values()}
        scales.append(sorted(event.noise.scale for _, event in events))
        spent.append(release.ledger.spent)
        assert all(event.sensitivity.l1 == parties for _, event in events)
    assert spent[0] == pytest.approx(spent[1])
    for one, two in zip(*scales, strict=True):
        assert two == pytest.approx(float(2 * one), rel=1e-6)


def test_a_party_charges_for_persons_at_several_parties_whatever_the_curator_says(folder):
    study = Study(folder, epsilon="1", max_parties_per_person=3)
    journal = study.journal("north")
    seat = study.seat("north", journal)
    assert seat.holder.neighbours.marginal.l1 == Fraction(3)
    journal.close()
