"""Pairwise masks: they cancel in the sum of all, and hide everything short of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.errors import ProtocolError
from sfumato.parties.agreement import Key, Roster
from sfumato.parties.letters import CURATOR
from sfumato.parties.masking import mask, new_private_key, public_key

NAMES = ("north", "east", "south", "west")


def roster_of(privates, round_=0, attempt=0, asked="ab"):
    keys = (
        Key(round_, attempt, name, CURATOR, asked, public_key(private)) for name, private in sorted(privates.items())
    )
    return Roster(round_, attempt, CURATOR, "", asked, tuple(keys))


def masks(count, size, study="study"):
    privates = {name: new_private_key() for name in NAMES[:count]}
    roster = roster_of(privates)
    return [mask(private, name, roster, study, size) for name, private in privates.items()]


def looks_uniform(words):
    octets = np.bincount(words.view(np.uint8), minlength=256)
    return stats.chisquare(octets).pvalue > 1e-6


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 4), st.integers(0, 40_000))
def test_masks_of_a_whole_roster_cancel_exactly(count, size):
    assert not np.sum(masks(count, size), axis=0, dtype=np.uint64).any()


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_single_vector_and_every_incomplete_sum_are_uniform(count):
    counts = np.arange(20_000, dtype=np.uint64)  # as far from uniform as counts are
    vectors = [counts + one for one in masks(count, counts.size)]
    for missing in range(count):
        assert looks_uniform(vectors[missing])
        assert looks_uniform(np.sum(vectors[:missing] + vectors[missing + 1 :], axis=0, dtype=np.uint64))
    assert not looks_uniform(np.sum(vectors, axis=0, dtype=np.uint64))


def test_no_stream_is_used_twice():
    privates = {name: new_private_key() for name in NAMES[:2]}
    north = privates["north"]
    rosters = [
        roster_of(privates),
        roster_of(privates, round_=1),
        roster_of(privates, attempt=1),
        roster_of(privates, asked="cd"),
        roster_of({**privates, "south": new_private_key()}),
    ]
    streams = [mask(north, "north", roster, "study", 4).tobytes() for roster in rosters]
    streams.append(mask(north, "north", rosters[0], "another", 4).tobytes())
    assert len(set(streams)) == len(streams)


def test_the_curator_who_sees_all_public_keys_cannot_compute_a_mask():
    privates = {name: new_private_key() for name in NAMES[:2]}
    roster = roster_of(privates)
    right = mask(privates["north"], "north", roster, "study", 4)
    assert (mask(new_private_key(), "north", roster, "study", 4) != right).all()


@pytest.mark.parametrize("public", ["00" * 32, "12", "zz" * 32])
def test_a_key_that_is_none_is_refused(public):
    roster = Roster(0, 0, CURATOR, "", "ab", (Key(0, 0, "east", CURATOR, "ab", public),))
    with pytest.raises(ProtocolError, match="not an X25519 key"):
        mask(new_private_key(), "north", roster, "study", 4)
