from itertools import combinations
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers_holders import holder_of
from helpers_select import chosen
from helpers_sizes import ADULT, CENSUS_INCOME
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.data.selection import Selection
from sfumato.errors import MethodError
from sfumato.learn.measure import Tables
from sfumato.learn.select import random_views
from sfumato.learn.select.random_views import RandomViews, draw_views, left_over, noise_errors
from sfumato.privacy.budget import ApproxDP, Currency, PureDP
from sfumato.privacy.events import Free
from sfumato.privacy.mechanism_choice import planned_noise
from sfumato.privacy.neighbours import Neighbours

FIRE = (17_704, 2_088, *(40,) * 6, *(9,) * 8, *(2,) * 16)


def domain_of(sizes):
    return Domain([(f"c{place}", size) for place, size in enumerate(sizes)])


def holding(sizes, budget, rows=3):
    domain = domain_of(sizes)
    return holder_of(Records(domain, [np.zeros(rows, int)] * len(domain)), budget)


def variance_of(budget):
    """Of the noise in one table that gets the whole budget."""
    return planned_noise(budget.total, Neighbours().marginal).variance


def plan_for(sizes, budget, **guesses):
    return RandomViews(**guesses).plan(domain_of(sizes), budget.currency, variance_of(budget))


budgets = pytest.mark.parametrize("budget", [PureDP(1), ApproxDP(1, "1e-9")], ids=["epsilon", "rho"])


class TestViews:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.integers(1, 300), max_size=14), st.floats(-2, 2), st.booleans())
    def test_every_view_is_within_the_limit_every_column_in_a_view_and_none_inside_another(self, sizes, power, pure):
        domain = domain_of(sizes)
        plan = plan_for(sizes, PureDP(10**power) if pure else ApproxDP(10**power, "1e-9"))
        for view in plan.views[: plan.count]:
            assert domain.cells(view) <= plan.limit
            assert view == domain.canonical(view)
        assert {name for view in plan.views for name in view} == set(domain.names)
        for one, other in combinations(map(set, plan.views), 2):
            assert not one <= other
            assert not other <= one

    def test_no_view_is_drawn_twice_and_all_are_found_in_a_small_domain(self):
        views = draw_views((2, 2, 2, 2), 4, 100, np.random.default_rng(0))
        assert sorted(views) == list(combinations(range(4), 2))

    def test_columns_take_part_by_chance_and_not_by_place(self):
        views = draw_views((4,) * 30, 64, 128, np.random.default_rng(0))
        times = np.bincount(np.concatenate(views), minlength=30)
        assert len(views) == 128
        assert times.min() > 0
        assert abs(times - 128 * 3 / 30).max() < 4.5 * sqrt(128 * 0.1 * 0.9)

    def test_a_column_above_the_limit_has_a_view_of_its_own(self):
        views = plan_for((5_000, *(2,) * 12), PureDP(1)).views
        assert [view for view in views if "c0" in view] == [("c0",)]

    def test_columns_of_one_code_share_views_of_few_axes(self):
        views = left_over(domain_of((1,) * 40), ())
        assert [len(view) for view in views] == [16, 16, 8]

    @budgets
    def test_no_columns_one_column_and_constant_columns(self, budget):
        assert plan_for((), budget).views == ()
        assert plan_for((7,), budget).views == (("c0",),)
        assert plan_for((1, 1), budget).views == (("c0", "c1"),)

    @budgets
    def test_a_domain_that_fits_into_one_view_is_one_view(self, budget):
        assert plan_for((2, 2), budget).views == (("c0", "c1"),)


class TestChoice:
    @budgets
    @pytest.mark.parametrize("sizes", [ADULT, CENSUS_INCOME, (2,) * 30], ids=["adult", "census", "binary"])
    def test_no_other_number_or_size_of_views_has_a_smaller_expected_error(self, budget, sizes):
        chooser = RandomViews()
        plan = plan_for(sizes, budget)
        tried = chooser.errors(domain_of(sizes), budget.currency, variance_of(budget))
        table = {limit: errors for limit, _, errors in tried}
        assert plan.error == table[plan.limit][plan.count] == min(errors.min() for errors in table.values())
        assert plan.error <= chooser.dependence_guess

    @budgets
    def test_fewer_views_and_smaller_ones_at_a_smaller_epsilon(self, budget):
        kind = PureDP if isinstance(budget, PureDP) else lambda epsilon: ApproxDP(epsilon, "1e-9")
        plans = [plan_for(ADULT, kind(epsilon)) for epsilon in ("0.01", "0.1", "1", "10")]
        cells = [sum(domain_of(ADULT).cells(view) for view in plan.views[: plan.count]) for plan in plans]
        assert cells == sorted(cells)
        assert cells[0] < cells[-1]
        assert [plan.limit for plan in plans] == sorted(plan.limit for plan in plans)
        variances = [variance_of(kind(epsilon)) for epsilon in ("0.03", "0.3", "3")]
        tried = [RandomViews().errors(domain_of(ADULT), budget.currency, variance) for variance in variances]
        for tables in zip(*tried, strict=True):
            counts = [int(np.argmin(errors)) for _, _, errors in tables]  # at one L, m falls with epsilon
            assert counts == sorted(counts)

    def test_no_random_views_if_noise_costs_more_than_they_tell(self):
        plan = plan_for(ADULT, PureDP("0.001"))
        assert plan.count == 0
        assert plan.views == tuple((name,) for name in domain_of(ADULT).names)
        assert plan.error == pytest.approx(RandomViews().dependence_guess)

    def test_more_views_where_more_rows_or_more_dependence_are_expected(self):
        cells = [
            sum(domain_of(ADULT).cells(view) for view in plan_for(ADULT, PureDP(1), **guesses).views)
            for guesses in ({"rows_guess": 5_000}, {}, {"rows_guess": 500_000}, {"dependence_guess": 0.6})
        ]
        assert cells[0] < cells[1] < min(cells[2:])


@pytest.mark.parametrize("budget", [PureDP(1), ApproxDP(1, "1e-6")], ids=["epsilon", "rho"])
def test_the_noise_formula_agrees_with_noise_that_is_really_added(budget):
    """Empty tables are measured; each pair is averaged over the views that hold it, by precision, and compared."""
    sizes, rows = (3, 4, 5, 6, 2), 1_000
    domain = domain_of(sizes)
    views = [(0, 1, 2), (1, 2, 3), (0, 3)]
    cliques = [tuple(domain.names[place] for place in view) for view in views]
    selection = Selection((*cliques, *left_over(domain, cliques)))
    found = []
    for _ in range(400):
        holder, _ = holding(sizes, budget, rows=0)
        measured = Tables()(holder, selection, budget.total)[: len(views)]
        errors = []
        for pair in combinations(domain.names, 2):
            held = [one for one in measured if set(pair) <= set(one.clique)]
            if not held:
                errors.append(np.inf)
                continue
            precision = [domain.cells(pair) / (one.domain.cells() * one.variance) for one in held]
            mean = sum(p * one.marginal.project(pair).counts for p, one in zip(precision, held, strict=True))
            errors.append(np.abs(mean / sum(precision)).sum() / 2 / rows)
        found.append(errors)
    expected = noise_errors(sizes, views, budget.currency, sqrt(variance_of(budget)) / rows)[-1]
    assert np.mean(found, axis=0) == pytest.approx(expected, rel=0.1)
    assert np.isinf(expected).sum() == 10 - 6


def test_prefixes_are_what_fewer_views_give():
    views = draw_views(ADULT, 256, 20, np.random.default_rng(0))
    every = noise_errors(ADULT, views, Currency.RHO, 0.001)
    for count in (0, 1, 7, 20):
        assert every[count] == pytest.approx(noise_errors(ADULT, views[:count], Currency.RHO, 0.001)[-1])


class TestRunning:
    @budgets
    def test_the_same_columns_and_budget_give_the_same_views_for_nothing(self, budget):
        selections = []
        for _ in range(2):
            holder, ledger = holding(ADULT, budget)
            selections.append(chosen(RandomViews(), holder, budget.total.part(0), budget.total))
            assert ledger.left == budget.total.amount
            events = [event for _, event in ledger.statement().entries]
            assert len(events) == 1
            assert isinstance(events[0], Free)
            assert "random views" in events[0].question
        assert selections[0] == selections[1]
        assert selections[0].weights == ()

    @budgets
    def test_the_number_of_tables_is_known_before_a_ledger_is_opened(self, budget):
        holder, _ = holding(ADULT, budget)
        before = RandomViews().tables(domain_of(ADULT), budget.total, Neighbours())
        assert before == len(chosen(RandomViews(), holder, budget.total).cliques)

    @budgets
    def test_a_large_domain_does_not_blow_up(self, budget):
        for sizes in (FIRE, (2,) * 98, (100,) * 200, (3,) * 16):
            plan = plan_for(sizes, ApproxDP(100, "1e-9") if isinstance(budget, ApproxDP) else PureDP(1_000))
            domain = domain_of(sizes)
            assert sum(domain.cells(view) for view in plan.views) <= random_views.MOST_CELLS + sum(sizes)
            assert plan.count <= RandomViews().most_views
            assert len(closure(plan.views)) <= random_views.MOST_OVERLAPS + 1

    def test_pairs_beyond_a_bound_are_sampled(self):
        sizes = (2,) * 300
        views = draw_views(sizes, 256, 4, np.random.default_rng(0))
        errors = noise_errors(sizes, views, Currency.RHO, 0.001)
        assert errors.shape == (len(views) + 1, random_views.MOST_PAIRS)


def closure(views):
    """All intersections of two or more views."""
    sets = [frozenset(view) for view in views]
    found = set()
    fresh = {one & other for one, other in combinations(sets, 2)}
    while fresh - found:
        found |= fresh
        fresh = {one & other for one in fresh for other in sets} - found
    return found


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows_guess": 0},
        {"most_views": 0},
        {"dependence_guess": 0.0},
        {"dependence_guess": 1.5},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(MethodError, match=f"{next(iter(wrong))} is .*; give"):
        RandomViews(**wrong)
