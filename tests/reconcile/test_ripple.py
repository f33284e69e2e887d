from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.reconcile.consistency import ConsistentNormSub, Overlaps
from sfumato.reconcile.ripple import ConsistentRipple, ripple

shapes = array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=5)
tables = arrays(np.float64, shapes, elements=st.floats(-100, 100, width=32))
thetas = st.sampled_from([0.0, 1e-3, 0.5, 10.0])


def owing(table):
    return 1e-9 * np.abs(table).max() + 1e-12


@settings(deadline=None)
@given(tables, thetas)
def test_the_total_stays_and_no_cell_is_below_minus_theta(table, theta):
    found = ripple(table, theta)
    assert found.sum() == pytest.approx(table.sum(), abs=1e-6)
    if table.sum() > 0:
        assert found.min() >= -theta - owing(table)


@given(arrays(np.float64, shapes, elements=st.floats(-1, 100)))
def test_a_table_without_cells_below_minus_theta_stays(table):
    assert np.array_equal(ripple(table, 1.0), table)


def test_the_debt_of_a_cell_is_taken_from_the_cells_that_differ_in_one_column():
    table = np.full((3, 2, 4), 10.0)
    table[1, 0, 2] = -12.0
    found = ripple(table, 0.5)
    for cell in np.ndindex(table.shape):
        differ = sum(one != other for one, other in zip(cell, (1, 0, 2), strict=True))
        # (3 - 1) + (2 - 1) + (4 - 1) = 6 neighbours pay 2 each.
        assert found[cell] == pytest.approx({0: 0.0, 1: 8.0}.get(differ, 10.0))


def test_debts_are_handed_on_until_nobody_owes():
    # -9 is shared by 1 and 20: they become -3.5 and 15.5; the second sweep takes 1.75 from each of the other two, and
    # -1.75 is above -theta.
    assert ripple(np.array([-9.0, 1.0, 20.0]), 2.0).tolist() == [-1.75, 0.0, 13.75]


def by_definition(table, theta):
    """All cells below -theta at once, cell by cell, straight from the text."""
    table = table.copy()
    while (table < -theta).any():
        before = table.copy()
        for cell in np.argwhere(before < -theta):
            neighbours = [
                (*cell[:axis], value, *cell[axis + 1 :])
                for axis, size in enumerate(table.shape)
                for value in range(size)
                if value != cell[axis]
            ]
            table[tuple(cell)] -= before[tuple(cell)]
            for neighbour in neighbours:
                table[tuple(map(int, neighbour))] += before[tuple(cell)] / len(neighbours)
    return table


@settings(deadline=None)
@given(arrays(np.float64, (2, 3, 2), elements=st.integers(-20, 60)))
def test_it_is_what_the_text_says(table):
    if table.sum() > 0:
        assert np.allclose(ripple(table, 1.5), by_definition(table, 1.5))


@pytest.mark.parametrize("total", [-5.0, 0.0])
def test_a_total_that_is_not_above_zero_is_spread_evenly(total):
    table = np.array([[-30.0, 10.0], [10.0, 10.0 + total]])
    assert ripple(table, 1.0) == pytest.approx(np.full((2, 2), total / 4))


def test_a_single_cell_has_no_neighbours():
    assert ripple(np.array([[-7.0]]), 1.0).tolist() == [[-7.0]]
    assert ripple(np.array([[7.0]]), 0.0).tolist() == [[7.0]]


@pytest.mark.parametrize("theta", [0.0, 1e-9])
@pytest.mark.parametrize("shape", [(2,) * 10, (40, 50), (1000, 300)])
def test_one_rich_cell_that_can_barely_pay_for_all_others_ends_the_sweeps(theta, shape):
    table = np.full(shape, -1.0)
    table[(0,) * len(shape)] = table.size  # total 1
    found = ripple(table, theta)
    assert found.sum() == pytest.approx(1, abs=1e-5)
    assert found.min() >= -theta - owing(table)


DOMAIN = Domain({"a": 2, "b": 3, "c": 4, "d": 2, "e": 1})


def measured(rng, rate, cliques, sigma):
    truth = Marginal(DOMAIN, rng.poisson(rate, DOMAIN.shape))
    exact = [truth.project(clique) for clique in cliques]
    noisy = [Marginal(one.domain, one.counts + rng.normal(0, sigma, one.domain.shape)) for one in exact]
    return exact, [Measurement(one, sigma**2) for one in noisy]


views = st.lists(
    st.sampled_from([c for k in (1, 2, 3, 5) for c in combinations(DOMAIN.names, k)]),
    min_size=1,
    max_size=6,
    unique=True,
)


@settings(deadline=None)
@given(views, st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 20.0]), st.sampled_from([0.5, 5.0, 50.0]))
def test_reconciled_tables_agree_exactly(cliques, seed, rate, sigma):
    _, noisy = measured(np.random.default_rng(seed), rate, cliques, sigma)
    marginals = ConsistentRipple()(DOMAIN, noisy)
    assert marginals.cliques == tuple(cliques)
    assert marginals.scales == pytest.approx([sigma] * len(cliques))
    for one, other in combinations(marginals.tables, 2):
        shared = [name for name in one.clique if name in other.clique]
        assert one.project(shared).counts == pytest.approx(other.project(shared).counts, abs=1e-6)
    before = Overlaps.of(noisy).total([one.marginal.counts for one in noisy])
    assert all(table.total == pytest.approx(before, abs=1e-6) for table in marginals.tables)


def test_little_is_left_below_zero():
    rng = np.random.default_rng(0)
    for _ in range(20):
        _, noisy = measured(rng, 0.5, list(combinations(DOMAIN.names[:4], 3)), 3.0)
        found = ConsistentRipple(theta=0.01, passes=20)(DOMAIN, noisy)
        assert min(table.counts.min() for table in found.tables) > -0.05 * 3.0


def test_with_an_endless_theta_nothing_but_consistency_is_done():
    _, noisy = measured(np.random.default_rng(1), 1.0, list(combinations(DOMAIN.names, 2)), 10.0)
    alone = [np.array(one.marginal.counts) for one in noisy]
    Overlaps.of(noisy).agree(alone)
    found = ConsistentRipple(theta=1e9)(DOMAIN, noisy)
    assert all(np.allclose(one.counts, other) for one, other in zip(found.tables, alone, strict=True))


def test_no_tables_and_no_noise():
    assert ConsistentRipple()(DOMAIN, []).tables == ()
    exact, _ = measured(np.random.default_rng(2), 3.0, list(combinations(DOMAIN.names, 3)), 1.0)
    found = ConsistentRipple()(DOMAIN, [Measurement(one, 1e-12) for one in exact])
    assert all(np.allclose(one.counts, other.counts) for one, other in zip(found.tables, exact, strict=True))


def test_sums_over_sparse_views_are_nearer_to_the_truth_than_after_norm_sub():
    # Norm-sub takes from all cells alike what ripple takes from the neighbourhood of a negative cell.
    rng = np.random.default_rng(3)
    domain = Domain(dict.fromkeys("abcdefgh", 2))
    pairs = list(combinations("abcdefgh", 2))
    rippled = subtracted = 0.0
    for _ in range(10):
        rows = (rng.random((20_000, 8)) < 0.05).astype(int)
        counts = np.zeros((2,) * 8)
        np.add.at(counts, tuple(rows.T), 1)
        exact = Marginal(domain, counts)
        noisy = [Measurement(Marginal(domain, counts + rng.laplace(0, 30, counts.shape)), 2 * 30.0**2)]
        one, other = ConsistentRipple()(domain, noisy), ConsistentNormSub()(domain, noisy)
        rippled += sum(np.abs(one.project(pair).counts - exact.project(pair).counts).sum() for pair in pairs)
        subtracted += sum(np.abs(other.project(pair).counts - exact.project(pair).counts).sum() for pair in pairs)
    assert rippled < 0.9 * subtracted


def test_theta_is_in_standard_deviations_of_each_tables_own_noise():
    def after(variance):
        noisy = Measurement(Marginal(Domain({"a": 3}), np.array([-3.0, 8.0, 8.0])), variance)
        return ConsistentRipple(theta=0.5)(Domain({"a": 3}), [noisy]).tables[0].counts.tolist()

    assert after(35.9) == [0.0, 6.5, 6.5]  # half of a standard deviation of 5.99 is less than 3
    assert after(36.1) == [-3.0, 8.0, 8.0]
