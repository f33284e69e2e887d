"""Bins of a column: every code in one, runs in order, heavy codes alone."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sfumato.models.merging import merged

COUNTS = arrays(np.float64, st.integers(1, 120), elements=st.floats(0, 1e5))


@given(COUNTS, st.data(), st.integers(4, 40), st.sampled_from([0.0, 1.0, 500.0]))
def test_every_code_has_a_bin_and_there_are_not_too_many(counts, data, most, rare):
    ordered = data.draw(st.sampled_from([0, len(counts), max(0, len(counts) - 2)]))
    to = merged(counts, ordered, most, rare)
    assert len(to) == len(counts)
    assert set(to.tolist()) == set(range(int(to.max()) + 1))
    if len(counts) > 4:  # with an order: heavy codes alone, and a run before, between and after them
        assert to.max() + 1 <= max(most, 2 + len(counts) - ordered) + (most + 1 if ordered else 0)
    if ordered and len(counts) - ordered <= most // 2:
        assert (np.diff(to[:ordered]) >= 0).all()  # runs


def test_heavy_codes_stand_alone_and_runs_have_about_equal_mass():
    counts = np.concatenate([np.full(50, 10.0), [400.0], np.full(50, 10.0)])
    to = merged(counts, len(counts), 11)
    assert (to == to[50]).sum() == 1
    mass = np.bincount(to, counts)
    others = np.delete(mass, to[50])
    assert others.max() <= 3 * others[:-1].min()
    assert 9 <= len(mass) <= 13


def test_rare_codes_of_a_column_without_order_are_one_bin():
    counts = np.array([100.0, 2.0, 90.0, 3.0, 80.0, 1.0])
    assert merged(counts, 0, 10, 5.0).tolist() == [0, 3, 1, 3, 2, 3]
    assert merged(counts, 0, 3, 0.0).tolist() == [0, 2, 1, 2, 2, 2]


def test_columns_of_few_codes_stay_as_they_are():
    assert merged(np.array([0.0, 0.0, 5.0, 0.0]), 0, 4, 100.0).tolist() == [0, 1, 2, 3]
