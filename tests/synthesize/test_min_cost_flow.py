from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers_population import marginals_of, population
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.data.selection import Selection
from sfumato.errors import MethodError
from sfumato.evaluate.marginals import mean_total_variation
from sfumato.synthesize.min_cost_flow import MinCostFlow, flow, nearest_whole, transport
from sfumato.synthesize.start import Target, independent_columns, maximal

NONE = Selection(())
both_costs = pytest.mark.parametrize("cost", ["columns", "cells"])


@both_costs
def test_one_table_is_fitted_exactly_and_every_column_keeps_its_own_counts(cost):
    real = population(5000)
    synthetic = MinCostFlow(cost, sweeps=1)(
        marginals_of(real, [("c", "d", "e")]), NONE, len(real), np.random.default_rng(0)
    )
    assert (synthetic.project(("c", "d", "e")).counts == real.project(("c", "d", "e")).counts).all()
    for name in "abf":
        assert (synthetic.project((name,)).counts == real.project((name,)).counts).all()


def test_tables_that_agree_are_all_reproduced():
    real = population(20_000)
    cliques = [("a", "b"), ("b", "c"), ("c", "d"), ("c", "e"), ("d", "e")]
    synthetic = MinCostFlow()(marginals_of(real, cliques), NONE, len(real), np.random.default_rng(1))
    assert mean_total_variation(real, synthetic, cliques) < 0.01


def test_moving_along_few_columns_comes_nearer_than_the_papers_cost():
    real = population(20_000)
    cliques = list(combinations("abcde", 2))
    marginals = marginals_of(real, cliques)
    errors = [
        mean_total_variation(real, MinCostFlow(cost)(marginals, NONE, len(real), np.random.default_rng(2)), cliques)
        for cost in ("columns", "cells")
    ]
    assert errors[0] < 0.6 * errors[1]


def test_rows_come_out_in_random_order():
    real = population(4000)
    synthetic = MinCostFlow()(marginals_of(real, [("a", "b")]), NONE, len(real), np.random.default_rng(1))
    halves = [synthetic.take(np.arange(start, start + 2000)) for start in (0, 2000)]
    assert mean_total_variation(halves[0], halves[1], [("a", "b")]) < 0.06


@pytest.mark.parametrize("rows", [0, 1, 2, 777])
@both_costs
def test_any_number_of_rows_comes_out(rows, cost):
    marginals = marginals_of(population(500), [("a", "b"), ("b", "c"), ("a", "c")])
    assert len(MinCostFlow(cost, sweeps=2)(marginals, NONE, rows, np.random.default_rng(0))) == rows


def test_equal_seeds_give_equal_rows():
    marginals = marginals_of(population(500), list(combinations("abc", 2)))
    draw = [MinCostFlow(sweeps=2)(marginals, NONE, 300, np.random.default_rng(seed)) for seed in (7, 7, 8)]
    assert all(np.array_equal(x, y) for x, y in zip(draw[0].columns, draw[1].columns, strict=True))
    assert not all(np.array_equal(x, y) for x, y in zip(draw[0].columns, draw[2].columns, strict=True))


def test_it_stops_when_hardly_anything_moves():
    marginals = marginals_of(population(1000), [("a", "b")])
    few, many = (MinCostFlow(sweeps=sweeps)(marginals, NONE, 1000, np.random.default_rng(3)) for sweeps in (2, 10**9))
    assert all(np.array_equal(x, y) for x, y in zip(few.columns, many.columns, strict=True))


def test_empty_and_slightly_negative_tables_are_no_trouble():
    domain = Domain({"a": 2, "b": 2})
    for counts in (np.zeros((2, 2)), np.array([[-0.3, 60.3], [40.0, 0.0]])):
        made = MinCostFlow()(Marginals(domain, (Marginal(domain, counts),)), NONE, 100, np.random.default_rng(0))
        wanted = np.array([[0, 60], [40, 0]]) if counts.any() else np.full((2, 2), 25)
        assert np.abs(made.project(("a", "b")).counts - wanted).max() <= 1


def test_an_unknown_cost_is_refused():
    with pytest.raises(MethodError, match="cost 'hops' is unknown; give 'columns' or 'cells'"):
        MinCostFlow("hops")


whole = arrays(np.int64, 24, elements=st.integers(0, 30))
seeds = st.integers(0, 1000)


@given(whole, arrays(np.float64, 24, elements=st.floats(0, 30)), seeds)
def test_whole_cells_are_next_to_what_is_wanted_and_change_no_more_than_they_must(counts, wanted, seed):
    if counts.sum() == 0 or wanted.sum() < 1e-6:
        return
    wanted = wanted * (counts.sum() / wanted.sum())
    rounded = nearest_whole(counts, wanted, np.random.default_rng(seed))
    assert rounded.sum() == counts.sum()
    assert (rounded >= 0).all()
    assert np.abs(rounded - wanted).max() < 1 + 1e-6
    least = np.maximum((counts - np.ceil(wanted)).clip(min=0).sum(), (np.floor(wanted) - counts).clip(min=0).sum())
    assert np.abs(rounded - counts).sum() / 2 <= least + (wanted % 1 > 0).sum()


def test_rows_that_fit_are_never_moved_again():
    rng = np.random.default_rng(0)
    real = population(3000)
    target = Target.of(real.project(("c", "d")), real.domain.names, 3000)
    table = independent_columns(marginals_of(real, []), 3000, rng)
    assert transport(table, target, "columns", rng) > 0
    assert transport(table, target, "columns", rng) == 0


def moves_of(surplus, deficit, sizes, seed):
    """The flow, and how many columns it changes in all."""
    source, sink = flow(surplus, deficit, sizes, np.random.default_rng(seed))
    before, after = (np.stack(np.unravel_index(cells, (2, 3, 4))) for cells in (source, sink))
    return source, sink, int((before != after).sum())


@given(whole, whole, seeds, st.booleans())
def test_a_flow_empties_all_surplus_and_fills_all_deficit(current, other, seed, by_columns):
    other = np.random.default_rng(seed).permutation(current) if other.sum() != current.sum() else other
    surplus, deficit = (current - other).clip(min=0), (other - current).clip(min=0)
    source, sink, changed = moves_of(surplus, deficit, (2, 3, 4) if by_columns else (), seed)
    assert (np.bincount(source, minlength=24) == surplus).all()
    assert (np.bincount(sink, minlength=24) == deficit).all()
    assert changed >= len(source)


def test_a_flow_changes_one_column_where_one_is_enough():
    rng = np.random.default_rng(0)
    moved = changed = at_random = 0
    for seed in range(20):
        one = rng.integers(0, 9, (2, 3, 4))
        two = one[:, :, rng.permutation(4)]  # only the last column has moved: all sums over it are the same
        surplus, deficit = (one - two).clip(min=0).ravel(), (two - one).clip(min=0).ravel()
        moved += surplus.sum()
        changed += moves_of(surplus, deficit, (2, 3, 4), seed)[2]
        at_random += moves_of(surplus, deficit, (), seed)[2]
    assert changed < 1.15 * moved
    assert at_random > 1.7 * moved


def test_a_flow_is_near_the_exact_optimum():
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(4)
    found = best = 0
    for seed in range(20):
        one = rng.integers(0, 9, 24)
        two = rng.permutation(one)
        surplus, deficit = (one - two).clip(min=0), (two - one).clip(min=0)
        found += moves_of(surplus, deficit, (2, 3, 4), seed)[2]
        codes = np.stack(np.unravel_index(np.arange(24), (2, 3, 4)))
        left, right = (codes[:, np.repeat(np.arange(24), units)] for units in (surplus, deficit))
        cost = (left[:, :, None] != right[:, None, :]).sum(axis=0)
        best += cost[linear_sum_assignment(cost)].sum()
    assert best <= found <= 1.15 * best


def test_maximal_cliques_are_kept_once_and_the_smallest_come_first():
    cliques = [("a",), ("a", "b"), ("b", "a"), ("c",), ("b", "c", "d"), ("c", "d")]
    assert maximal(cliques) == [("a", "b"), ("b", "c", "d")]
