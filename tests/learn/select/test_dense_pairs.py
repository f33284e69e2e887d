from fractions import Fraction
from itertools import combinations
from math import pi, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.domain import Domain
from sfumato.learn.select.dense_pairs import choose_pairs, combine
from sfumato.privacy.mechanisms import Gaussian
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.scores import GRID


def variance_of(rho):
    """Of Gaussian noise in a table, of which one row changes one cell by 1, for a budget of rho."""
    return 1 / (2 * rho)


def objective(chosen, scores, cells, rho):
    """Noise error of the chosen tables plus scores of the others, straight from Algorithm 2, with no closed form."""
    weights = [cells[i] ** (2 / 3) for i in chosen]
    noise = sum(cells[i] * sqrt(1 / (pi * rho * w / sum(weights))) for i, w in zip(chosen, weights, strict=True))
    return noise + sum(score for i, score in enumerate(scores) if i not in chosen)


cases = st.lists(st.tuples(st.floats(-50, 5000), st.integers(2, 2000)), min_size=1, max_size=7)


@given(cases, st.floats(1e-4, 1.0))
def test_each_step_is_the_best_single_addition_and_the_last_one_cannot_be_improved(case, rho):
    scores, cells = (np.array(x, dtype=float) for x in zip(*case, strict=True))
    chosen = choose_pairs(scores, cells, variance_of(rho))
    for step in range(len(chosen) + 1):
        so_far = chosen[:step]
        now = objective(so_far, scores, cells, rho)
        trials = {i: objective([*so_far, i], scores, cells, rho) for i in range(len(scores)) if i not in so_far}
        if step < len(chosen):
            assert trials[chosen[step]] <= min(trials.values()) + 1e-6
            assert trials[chosen[step]] < now
        elif trials:
            assert min(trials.values()) >= now - 1e-6


def test_the_split_by_cells_to_two_thirds_is_optimal():
    rng = np.random.default_rng(0)
    cells = np.array([4.0, 60.0, 900.0])
    best = (cells ** (2 / 3)).sum() ** 1.5
    for _ in range(2000):
        rho = rng.dirichlet([1, 1, 1])
        assert (cells / np.sqrt(rho)).sum() >= best - 1e-9


def test_no_budget_chooses_nothing_and_endless_budget_chooses_every_dependent_pair():
    scores, cells = np.array([500.0, 10.0, 0.0]), np.array([100.0, 100.0, 100.0])
    assert choose_pairs(scores, cells, variance_of(1e-9)) == []
    assert sorted(choose_pairs(scores, cells, variance_of(1e12))) == [0, 1]


DOMAIN = Domain(dict.fromkeys("abcdef", 4))


def test_a_triangle_becomes_one_table():
    assert combine(DOMAIN, [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")], 64) == (
        ("a", "b", "c"),
        ("c", "d"),
    )


def test_a_triangle_that_is_too_large_stays_three_pairs():
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    assert combine(DOMAIN, pairs, 63) == tuple(pairs)


def test_the_largest_clique_comes_first_and_later_ones_share_at_most_two_columns():
    pairs = [*combinations("abcd", 2), ("d", "e"), ("c", "e"), ("b", "e"), ("e", "f"), ("d", "f")]
    tables = combine(DOMAIN, pairs, 256)
    assert tables[0] == ("a", "b", "c", "d")
    assert ("d", "e", "f") in tables  # shares only d with a, b, c, d
    assert ("b", "c", "e") in tables  # b, c, d, e shares three columns and is refused; b, c, e shares two


graphs = st.lists(st.sampled_from(list(combinations("abcdef", 2))), min_size=1, unique=True)


@given(graphs, st.sampled_from([16, 64, 256, 4096]))
def test_every_chosen_pair_is_in_some_table(pairs, limit):
    tables = combine(DOMAIN, pairs, limit)
    for pair in pairs:
        assert any(set(pair) <= set(table) for table in tables)
    for table in tables:
        assert all(tuple(sorted(pair)) in pairs for pair in combinations(table, 2))
        assert DOMAIN.cells(table) <= limit or table in pairs


def test_noise_of_scores_is_eight_m_over_rho():
    # Variance 16 / (2 rho / m) = 8 m / rho for sensitivity 4; the grid adds one part in 4096 to the deviation.
    sigma = Gaussian.calibrate(Fraction(1, 2), Neighbours().dependence.repeated(105)).sigma / GRID
    assert float(sigma) ** 2 == pytest.approx(8 * 105 / 0.5, rel=1e-3)
