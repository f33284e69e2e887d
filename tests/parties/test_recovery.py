"""Recovery of masks: exactly one sum can be read, and it is of enough parties, whatever a curator tells to whom."""

import itertools
import math
from unittest import mock

import numpy as np
import pytest
from helpers_protocol import Study, ask_of, go_for, promise, ready
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sfumato.errors import ProtocolError
from sfumato.parties import circle, recovery
from sfumato.parties.agreement import Roster
from sfumato.parties.letters import CURATOR
from sfumato.parties.local import Company
from sfumato.parties.messages import Unmask
from sfumato.parties.party import answer
from sfumato.parties.seat import parts_of
from sfumato.privacy.entropy import SystemEntropy

settings_of_studies = st.tuples(st.integers(2, 12), st.integers(1, 4), st.integers(1, 3), st.integers(0, 3))


@settings(max_examples=300, deadline=None)
@given(settings_of_studies, st.data())
def test_no_lists_told_to_honest_parties_open_two_sums_or_one_of_too_few(study, data):
    # The coalition gives its pieces of both kinds for everybody. Each honest keeper gives one kind for each party, by
    # the list that it was told, of K - q parties at least.
    parties, colluding, missing, away = study
    assume(recovery.can_recover(parties, colluding, missing) and away <= missing)
    roster = range(parties - away)
    members = Company(tuple(f"p{one:02}" for one in range(parties)), {}, colluding, missing)
    with mock.patch.object(circle, "CLOSE", data.draw(st.sampled_from((0, 16)))):  # as few keepers as there may be
        kept = range(len(circle.keepers(members.names[: len(roster)], members)))
    coalition = data.draw(st.sets(st.sampled_from(kept), max_size=colluding))
    least = parties - missing
    honest = [one for one in kept if one not in coalition]
    told = [set(data.draw(st.permutations(roster))[: data.draw(st.integers(least, len(roster)))]) for _ in honest]
    enough = recovery.threshold(len(kept), colluding, missing)
    seeds = {one for one in roster if sum(one in names for names in told) + len(coalition) >= enough}
    keys = {one for one in roster if sum(one not in names for names in told) + len(coalition) >= enough}
    assert not seeds & keys
    if seeds | keys == set(roster):  # the one sum that can be read
        assert len(seeds) >= least


def test_from_how_many_parties_on_that_holds_is_not_a_party_too_many():
    for colluding, missing in itertools.product((1, 2, 3), (1, 2, 3)):
        fewest = next(k for k in itertools.count(2) if recovery.can_recover(k, colluding, missing))
        assert recovery.threshold(fewest, colluding, missing) <= fewest - missing
        assert recovery.threshold(fewest - 1, colluding, missing) > fewest - 1 - missing
        with pytest.raises(ProtocolError, match=f"from {fewest} parties on"):
            Company(tuple(f"p{one}" for one in range(fewest - 1)), {}, colluding, missing)


@settings(max_examples=30, deadline=None)
@given(st.binary(min_size=32, max_size=32), st.integers(1, 6), st.integers(0, 3), st.data())
def test_any_pieces_of_the_threshold_give_the_secret(secret, least, more, data):
    pieces = dict(enumerate(recovery._split(secret, least, least + more, SystemEntropy()), start=1))
    chosen = data.draw(st.permutations(sorted(pieces)))[:least]
    total = 0
    for one in chosen:
        weights = [other * pow(other - one, -1, recovery.PRIME) for other in chosen if other != one]
        total += pieces[one] * math.prod(weights)
    assert total % recovery.PRIME == int.from_bytes(secret, "big")


def test_one_piece_too_few_gives_something_else():
    study = Study(parties=5, missing=1)
    keys = [promise(study, name, ask_of()) for name in study.names]
    readies = ready(study, keys)
    shares = {name: answer(study.seat(name), go_for(study, readies, name))[0] for name in study.names[:4]}
    summed = tuple(sorted(shares))
    roster = _roster(study)
    reveals = {name: answer(study.seat(name), Unmask(0, 0, CURATOR, name, summed))[0].pieces for name in summed}
    total = np.sum([share.vector for share in shares.values()], axis=0, dtype=np.uint64)
    clear = recovery.unmask(total, roster, study.members, summed, reveals)
    assert clear.view(np.int64).max() < 1000
    assert total.min() > 2**40  # what the curator has without the pieces
    least = recovery.threshold(5, 1, 1)
    with pytest.raises(ProtocolError, match="somebody gave a wrong piece"):
        recovery.unmask(total, roster, study.members, summed, dict(list(reveals.items())[: least - 1]))


def _roster(study):
    return Roster.from_body((0, 0, CURATOR, ""), parts_of(study.stores["p0"].load(0, 0).payload)[1])
