"""The circle of masks: it stays whole without those who collude or are lost, and does not grow as a square."""

import itertools
from collections import Counter

import numpy as np
import pytest
from helpers_protocol import ROWS, Study, ask_of, check, promise, refusal, roster_for
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.parties import circle, masking, recovery
from sfumato.parties.agreement import Go, Key, Ready, Roster
from sfumato.parties.letters import CURATOR
from sfumato.parties.local import Company
from sfumato.parties.messages import Unmask
from sfumato.parties.party import answer


def company(parties, colluding=1, missing=0):
    return Company(tuple(f"p{one:03}" for one in range(parties)), {}, colluding, missing)


def connected(names, members, roster):
    """Whether the parties `names` are tied together by masks they share with each other."""
    reached, open_ends = set(), [min(names)]
    while open_ends:
        name = open_ends.pop()
        if name not in reached:
            reached.add(name)
            open_ends += [other for other in circle.neighbours(roster, name, members) if other in names]
    return reached == set(names)


@pytest.mark.parametrize(("parties", "colluding", "missing"), [(7, 1, 0), (8, 2, 0), (9, 1, 1), (9, 3, 0), (10, 3, 1)])
def test_whoever_colludes_or_is_lost_the_others_stay_connected(monkeypatch, parties, colluding, missing):
    # With as few neighbours as the proof asks for, and every set of parties taken out.
    monkeypatch.setattr(circle, "CLOSE", 0)
    members = company(parties, colluding, missing)
    fewest = len(circle.neighbours(members.names, "p000", members))
    assert colluding + missing + 1 <= fewest <= colluding + missing + 2
    for gone in itertools.combinations(members.names, colluding + missing):
        assert connected(set(members.names) - set(gone), members, members.names)
    cut = circle.neighbours(members.names, "p000", members)
    assert not connected(set(members.names) - set(cut), members, members.names)  # one party alone: no more is promised


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 40), st.integers(1, 20), st.data())
def test_masks_are_shared_by_both_and_few(parties, colluding, data):
    colluding = min(colluding, parties - 1)
    members = company(parties, colluding)
    near = {name: circle.neighbours(members.names, name, members) for name in members.names}
    most = max(circle.CLOSE, colluding + 2)
    for name, others in near.items():
        assert len(others) == min(parties - 1, most - most % 2)
        assert name not in others
        assert all(name in near[other] for other in others)
        assert circle.shown(members.names, name, members) == tuple(sorted((name, *others)))
    gone = data.draw(st.sets(st.sampled_from(members.names), max_size=min(colluding, parties - 1)))
    assert connected(set(members.names) - gone, members, members.names)


def test_masks_of_a_circle_cancel_and_hide_every_part_of_the_sum():
    members = company(40)
    privates = {name: masking.new_private_key() for name in members.names}
    keys = tuple(Key(0, 0, name, CURATOR, "ab", masking.public_key(one)) for name, one in privates.items())
    whole = Roster(0, 0, CURATOR, "", "ab", keys)
    masks = {}
    for name, private in privates.items():
        roster = whole.to(name, members)
        assert len(roster.keys) == 17
        assert roster.digest == whole.digest
        near = circle.neighbours(members.names, name, members)
        masks[name] = masking.mask(private, name, roster, "study", 50, near)
    assert not np.sum(list(masks.values()), axis=0, dtype=np.uint64).any()
    for some in (members.names[:39], members.names[:20], members.names[::2]):
        assert np.sum([masks[name] for name in some], axis=0, dtype=np.uint64).all()  # 2^-58 that any word is 0


def test_a_study_of_many_parties_counts_the_union_exactly():
    study = Study(parties=24)
    players = study.players()
    tables, ledger, _ = study.curate(players)
    check(study, tables, ledger)


def test_the_masks_of_one_of_many_parties_are_recovered_by_those_who_keep_pieces():
    study = Study(parties=36, missing=1)
    members, names = study.members, sorted(study.names)
    keys = [promise(study, name, ask_of()) for name in names]
    whole = roster_for(keys, "")
    kept = circle.keepers(names, members)
    assert kept == tuple(names[:16])
    rosters = {name: whole.to(name, members) for name in names}
    assert [len(rosters[name].keys) == 36 for name in names] == [name in kept for name in names]
    readies = {name: answer(study.seat(name), roster)[0] for name, roster in rosters.items()}
    assert {tuple(one.pieces) for one in readies.values()} == {kept}
    shares, reveals = {}, {}
    for name in names[:-1]:  # the last one is lost
        marks = tuple(readies[one].mark for one in rosters[name].owners)
        pieces = {one: readies[one].pieces[name] for one in names} if name in kept else {}
        go = Go(0, 0, CURATOR, name, whole.digest, marks, "", "", pieces)
        (shares[name],) = answer(study.seat(name), go.signed(members.study, study.signers[CURATOR]))
    for name in kept:
        reveals[name] = answer(study.seat(name), Unmask(0, 0, CURATOR, name, tuple(sorted(shares))))[0].pieces
    total = np.sum([share.vector for share in shares.values()], axis=0, dtype=np.uint64)
    clear = recovery.unmask(total, whole, members, sorted(shares), reveals)
    exact = ROWS.project(("a",)).counts
    assert (clear.view(np.int64) <= exact).all()
    assert clear.view(np.int64).sum() > 0.9 * exact.sum()


def test_keys_and_signatures_go_to_a_bounded_number_of_parties():
    def sent(parties):
        study = Study(parties=parties)
        _, _, desk = study.curate(study.players())
        return Counter(desk.sent)

    few, many = sent(18), sent(27)
    for kind in ("roster", "go"):
        assert many[kind] < 1.55 * few[kind]  # half as many parties more


def test_a_party_answers_no_roster_that_shows_other_keys_than_its_neighbours():
    study = Study(parties=20)
    keys = [promise(study, name, ask_of()) for name in study.names]
    whole = roster_for(keys, "")
    right = whole.to("p0", study.members)
    assert len(right.keys) == 17
    assert "does not show the keys of just those" in refusal(study, "p0", roster_for(keys, "p0"))
    assert "does not show the keys of just those" in refusal(study, "p0", roster_for(right.keys[:-1], "p0"))
    (said,) = answer(study.seat("p0"), right)
    assert isinstance(said, Ready)
    assert said.seen == right.seen
