from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers_chains import chains, exact_marginals, marginals_over, random_records
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.data.selection import Chain
from sfumato.errors import SchemaError
from sfumato.synthesize.normalizing import concentration, conform, initial_view, largest_remainder, normalize, path

seeds = st.integers(0, 2**32)
row_counts = st.one_of(st.sampled_from([0, 1, 2, 10**9, 10**12]), st.integers(0, 3000))


@given(arrays(np.float64, st.integers(1, 5), elements=st.floats(0, 50)).filter(lambda a: a.sum() > 0.1), seeds)
def test_largest_remainders_are_the_nearest_whole_numbers_with_the_total(values, seed):
    total = max(1, round(values.sum()))
    quotas = values / values.sum() * total
    found = largest_remainder(quotas, total, np.random.default_rng(seed))
    assert found.sum() == total
    floors = np.floor(quotas)
    others = (floors + np.array(extra) for extra in product((0, 1), repeat=len(quotas)))
    nearest = min(((other - quotas) ** 2).sum() for other in others if other.sum() == total)
    assert ((found - quotas) ** 2).sum() <= nearest + 1e-6


def test_every_row_of_a_matrix_has_its_own_total():
    values = np.array([[0.5, 0.5, 1.0], [0.2, 0.0, 2.8]])
    found = largest_remainder(values, [2, 3], np.random.default_rng(0))
    assert found.sum(axis=1).tolist() == [2, 3]
    assert found[1].tolist() == [0, 0, 3]


@settings(deadline=None)
@given(st.data(), chains(), row_counts, seeds)
def test_normalized_views_are_whole_have_one_total_and_agree(data, made, rows, seed):
    domain, chain = made
    marginals = data.draw(marginals_over(domain, chain))
    views = normalize(marginals, chain, rows, np.random.default_rng(seed))
    assert tuple(view.clique for view in views) == path(chain)
    for view in views:
        assert view.counts.dtype == np.int64
        assert view.counts.min() >= 0
        assert int(view.counts.sum()) == rows
    for one, other in pairwise(views):
        shared = [name for name in one.clique if name in other.clique]
        assert (one.project(shared).counts == other.project(shared).counts).all()


@settings(deadline=None)
@given(chains(), st.integers(1, 200), seeds)
def test_exact_tables_stay_as_they_are(made, rows, seed):
    domain, chain = made
    rng = np.random.default_rng(seed)
    marginals = exact_marginals(random_records(domain, rows, rng), chain)
    for view in normalize(marginals, chain, rows, rng):
        assert (view.counts == marginals.project(view.clique).counts).all()


@settings(deadline=None)
@given(chains(), st.integers(1, 50), st.integers(2, 9), seeds)
def test_tables_are_scaled_to_the_rows_that_are_asked_for(made, rows, factor, seed):
    domain, chain = made
    rng = np.random.default_rng(seed)
    marginals = exact_marginals(random_records(domain, rows, rng), chain)
    for view in normalize(marginals, chain, factor * rows, rng):
        assert (view.counts == factor * marginals.project(view.clique).counts).all()


def test_a_slice_is_scaled_to_its_fixed_count_and_rounded():
    view = Marginal(Domain({"a": 2, "b": 3}), np.array([[1.0, 2.0, 1.0], [0.2, 0.2, 0.6]]))
    fixed = Marginal(Domain({"a": 2}), np.array([6, 4]))
    # The first slice is 6/4 of (1, 2, 1) = (1.5, 3, 1.5), a tie for one row; the second is (0.8, 0.8, 2.4).
    found = {tuple(conform(view, fixed, np.random.default_rng(seed)).counts.ravel()) for seed in range(40)}
    assert found == {(2, 3, 1, 1, 1, 2), (1, 3, 2, 1, 1, 2)}


def test_the_columns_that_are_fixed_may_stand_anywhere():
    view = Marginal(Domain({"b": 3, "a": 2}), np.array([[1.0, 0.0], [2.0, 1.0], [1.0, 1.0]]))
    fixed = Marginal(Domain({"a": 2}), np.array([8, 2]))
    assert conform(view, fixed, np.random.default_rng(0)).counts.tolist() == [[2, 0], [4, 1], [2, 1]]


def test_an_empty_slice_is_filled_by_the_product_of_the_other_columns():
    counts = np.zeros((2, 2, 2))
    counts[0] = [[30.0, 10.0], [30.0, 10.0]]  # b is even, c is 3 : 1
    view = Marginal(Domain({"a": 2, "b": 2, "c": 2}), counts)
    fixed = Marginal(Domain({"a": 2}), np.array([80, 80_000]))
    found = conform(view, fixed, np.random.default_rng(0)).counts
    assert found[0].tolist() == [[30, 10], [30, 10]]
    assert np.abs(found[1] - [[30_000, 10_000], [30_000, 10_000]]).max() <= 1


def test_few_rows_in_an_empty_slice_fall_on_different_cells():
    counts = np.zeros((400, 2))
    counts[0] = [3, 1]
    view = Marginal(Domain({"a": 400, "b": 2}), counts)
    fixed = Marginal(Domain({"a": 400}), np.ones(400, dtype=np.int64))
    found = conform(view, fixed, np.random.default_rng(0)).counts
    assert found.sum(axis=1).tolist() == [1] * 400
    assert found[1:, 1].sum() == pytest.approx(100, abs=40)  # largest remainders would give 0


def test_a_table_without_rows_is_filled_evenly():
    view = Marginal(Domain({"a": 2, "b": 2}), np.zeros((2, 2)))
    fixed = Marginal(Domain({}), np.array(400))
    assert conform(view, fixed, np.random.default_rng(0)).counts.tolist() == [[100, 100], [100, 100]]


def test_negative_counts_count_as_none():
    view = Marginal(Domain({"a": 3}), np.array([-5.0, 1.0, 3.0]))
    assert conform(view, Marginal(Domain({}), np.array(4)), np.random.default_rng(0)).counts.tolist() == [0, 1, 3]


def test_concentration_is_the_sum_of_the_counts_above_rho():
    # epsilon = 2, so the standard deviation is sqrt(2) / 2; gamma = 1 - exp(-6) makes rho = 6 / 2 = 3.
    table = Marginal(Domain({"a": 4}), np.array([1.0, 2.9, 3.1, 7.0]))
    assert concentration(table, 2**0.5 / 2, 1 - np.exp(-6)) == pytest.approx(10.1)
    assert concentration(table, 0.0, 0.95) == pytest.approx(14)


def test_normalization_starts_where_most_counts_stand_out_of_the_noise():
    domain = Domain({"a": 2, "b": 4, "c": 2})
    flat = Marginal(domain.project(("a", "b")), np.full((2, 4), 5.0))
    peaked = Marginal(domain.project(("b", "c")), np.array([[20.0, 20.0], [0, 0], [0, 0], [0, 0]]))
    views = (("a", "b"), ("b", "c"))
    noisy = Marginals(domain, (flat, peaked), (3.0, 3.0))  # rho = 3.0 · 3 / sqrt(2) = 6.4 in both
    assert initial_view(noisy, views, 0.95) == 1
    less = Marginals(domain, (flat, peaked), (1.0, 30.0))  # rho = 2.1 and 63.5
    assert initial_view(less, views, 0.95) == 0
    assert initial_view(Marginals(domain, (flat, peaked)), views, 0.95) == 0  # no noise is known: the first


def test_the_view_where_it_starts_is_rounded_by_itself():
    domain = Domain({"a": 2, "b": 3, "c": 2})
    one = Marginal(domain.project(("a", "b")), np.array([[0.9, 0.9, 0.9], [0.9, 0.9, 0.5]]))
    two = Marginal(domain.project(("b", "c")), np.array([[2.4, 0.1], [2.4, 0.05], [0.05, 0.0]]))
    marginals = Marginals(domain, (one, two), (0.4, 0.4))  # rho = 0.85: 4.5 and 4.8 rows stand out
    chain = Chain((("a", "b"), ("b", "c")), (None,))
    first, second = normalize(marginals, chain, 5, np.random.default_rng(0))
    assert second.counts.sum(axis=1).tolist() in ([3, 2, 0], [2, 3, 0])
    assert first.counts.sum(axis=0).tolist() == second.counts.sum(axis=1).tolist()


def test_scales_must_be_one_for_each_table():
    domain = Domain({"a": 2})
    with pytest.raises(SchemaError, match="2 noise scales were given; 1 tables want one each"):
        Marginals(domain, (Marginal(domain, np.array([1, 2])),), (1.0, 2.0))
