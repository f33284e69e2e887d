import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sfumato.models.rounding import draw_given, round_counts

quotas = arrays(np.float64, st.integers(1, 30), elements=st.floats(0, 100)).filter(lambda q: q.sum() > 0)


@given(quotas, st.integers(0, 1000), st.integers(0, 100))
def test_counts_have_the_total_and_are_next_to_their_quotas(quota, total, seed):
    counts = round_counts(quota, total, np.random.default_rng(seed))
    assert counts.sum() == total
    assert np.abs(counts - quota * total / quota.sum()).max() < 1 + 1e-6


def test_small_quotas_are_kept_on_average():
    rng = np.random.default_rng(0)
    quota = np.array([0.2, 0.3, 2.5])
    mean = np.mean([round_counts(quota, 3, rng) for _ in range(4000)], axis=0)
    assert mean == pytest.approx(quota, abs=0.04)


def test_children_have_the_conditional_distribution_of_their_parent_and_nothing_else():
    rng = np.random.default_rng(0)
    parent = rng.integers(0, 3, 30_000)
    other = rng.integers(0, 2, 30_000)
    conditional = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]])
    child = draw_given(parent, conditional, rng)
    for value in range(3):
        counts = np.bincount(child[parent == value], minlength=3)
        assert np.abs(counts - conditional[value] * (parent == value).sum()).max() <= 1
        for side in (0, 1):
            share = np.bincount(child[(parent == value) & (other == side)], minlength=3)
            assert share / share.sum() == pytest.approx(conditional[value], abs=0.03)


def test_two_children_of_one_parent_are_independent_given_it():
    # A known public defect: quantiles handed out in row order make siblings near copies of each other.
    rng = np.random.default_rng(1)
    parent = rng.integers(0, 2, 20_000)
    conditional = np.array([[0.5, 0.5], [0.3, 0.7]])
    one, two = draw_given(parent, conditional, rng), draw_given(parent, conditional, rng)
    for value in (0, 1):
        joint = np.bincount(one[parent == value] * 2 + two[parent == value], minlength=4).reshape(2, 2)
        joint = joint / joint.sum()
        assert np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum() / 2 < 0.02
