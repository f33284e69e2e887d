"""Parts of a budget: they sum to one, and no exchange between two tables would take more off the error."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.learn.allocation import Gains, profile


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tables = draw(st.integers(1, 6))
    expected = [1000 * rng.dirichlet(np.ones(int(rng.integers(2, 60)))) for _ in range(tables)]
    return np.array([profile(one) for one in expected]), rng.random(tables) * draw(st.floats(1, 1000))


@given(problems(), st.floats(1e-4, 1e2), st.sampled_from([1, 2]))
@settings(max_examples=60, deadline=None)
def test_parts_sum_to_one_and_gains_stay_below_distances(problem, precision, power):
    profiles, distances = problem
    gains = Gains(profiles, distances, np.ones(len(distances)), precision, power)
    parts = gains.parts(np.arange(len(distances)))
    assert parts.min() >= 0
    assert parts.sum() == pytest.approx(1)
    assert (gains.taken(parts) <= distances * (1 + 1e-9)).all()
    assert (np.diff(gains.gain, axis=1) >= -1e-9).all()
    some = gains.parts(np.array([0]))
    assert some[0] == pytest.approx(1)
    assert not some[1:].any()


@given(problems(), st.floats(1e-3, 1e1))
@settings(max_examples=40, deadline=None)
def test_no_exchange_between_two_tables_takes_clearly_more_off(problem, precision):
    profiles, distances = problem
    gains = Gains(profiles, distances, np.ones(len(distances)), precision, 1)
    parts = gains.parts(np.arange(len(distances)))
    best = gains.taken(parts).sum()
    for one in range(len(parts)):
        for other in range(len(parts)):
            moved = parts.copy()
            step = 0.3 * moved[one]
            moved[one] -= step
            moved[other] += step
            assert gains.taken(moved).sum() <= best * 1.02 + 1e-9


def test_a_table_that_is_right_gets_nothing_and_a_worse_one_gets_more():
    profiles = np.array([profile(np.full(100, 10.0))] * 3)
    gains = Gains(profiles, np.array([0.0, 100.0, 400.0]), np.ones(3), 1.0, 1)
    parts = gains.parts(np.arange(3))
    assert parts[0] < 1e-6
    assert parts[1] < parts[2]


def test_a_profile_has_every_cell():
    assert profile(np.array([[0.0, 1.0], [1e9, 5.0]])).sum() == 4
