from fractions import Fraction
from itertools import pairwise
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers_holders import holder_of
from helpers_select import PublicHolder, chosen
from helpers_sizes import ADULT, CENSUS_INCOME, KDDCUP99
from sfumato.data.constraints import Constraint, Constraints
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.errors import MethodError, ModelTooLarge
from sfumato.learn import Known
from sfumato.learn.select.chain_search import random_arrangement
from sfumato.learn.select.chained_views import ChainedViews
from sfumato.learn.select.chains import Layout, by_size, chain_of, views_of
from sfumato.privacy.budget import ApproxDP, PureDP
from sfumato.privacy.events import Free
from sfumato.privacy.neighbours import Neighbours


def domain_of(sizes):
    return Domain({f"c{place}": size for place, size in enumerate(sizes)})


def public(sizes, epsilon=1, rows=1, replace=False):
    """All that the stage may look at: a holder without rows."""
    return PublicHolder(domain_of(sizes), PureDP(epsilon), Neighbours(rows, replace))


def views(select, holder):
    """What is chosen for nothing if the whole budget will measure it."""
    return chosen(select, holder, PureDP(1).total.part(Fraction(0)), holder.budget.total)


def check_definitions(domain, chain, width, upper):
    """Definitions 5, 6 and 8, the order of Algorithm 1 and the halves of Algorithm 2, straight from the paper."""
    layout = Layout(len(domain), width)
    width, half = layout.width, layout.width // 2
    own = [*chain.base[:-1], chain.base[-1]]
    if layout.kind == "III":
        copies = {*chain.base[-1]} & {*chain.base[-2]}
        assert len(copies) == width - layout.last
        own[-1] = tuple(name for name in chain.base[-1] if name not in copies)
    assert sorted(name for view in own for name in view) == sorted(domain.names)
    assert [len(view) for view in own] == [width] * (layout.groups - 1) + [layout.last]
    products = [np.prod(sorted(domain.project(view).shape)[width - half :]) for view in own if len(view) == width]
    assert products == sorted(products, reverse=True)
    assert [tie is None for tie in chain.cross] == [False] * layout.ties + [True] * (layout.kind == "III")
    for (first, second), cross in zip(pairwise(chain.base), chain.cross, strict=True):
        if cross is not None:
            high, low = ([name for name in view if name in cross] for view in (first, second))
            assert len(cross) == len(high) + len(low) == width
            assert {len(high), len(low)} <= {half, width - half}
            assert len(high) == len(low) or width % 2 == 1
            rest = [domain[name] for name in first if name not in cross]
            assert all(sum(domain[name] >= size for name in high) >= half for size in rest)
            left = [domain[name] for name in second if name not in low]  # none, where the last view is short
            assert max(map(domain.__getitem__, low)) <= min(left, default=max(domain.shape))
    check_upper(chain, upper)
    assert all(view == domain.canonical(view) for view in views_of(chain))
    assert (
        len(set(views_of(chain)))
        == len(views_of(chain))
        == layout.views(upper)
        - sum(cross is not None and above is None for cross, above in zip(chain.cross, chain.upper, strict=False))
    )


def check_upper(chain, upper):
    assert len(chain.upper) == (len(chain.cross) if upper else 0)
    for (first, second), cross, above in zip(pairwise(chain.base), chain.cross, chain.upper, strict=False):
        rest = {*first, *second} - {*(cross or ())}
        if above is None:
            assert cross is None or rest <= {*first}
        else:
            assert {*above} == rest
            assert {*above} & {*first}
            assert {*above} & {*second}


lists = st.lists(st.integers(1, 60), min_size=1, max_size=16)


@given(lists, st.integers(2, 7), st.booleans(), st.integers(0, 2**32))
def test_every_partition_gives_a_chain_that_keeps_the_definitions(sizes, width, upper, seed):
    domain, layout = domain_of(sizes), Layout(len(sizes), width)
    arrangement = random_arrangement(layout, np.random.default_rng(seed))
    names = by_size(domain, domain.names)
    groups = [[names[column] for column in group] for group in arrangement.groups]
    check_definitions(domain, chain_of(domain, groups, layout.width, arrangement.copied, upper), width, upper)


@settings(deadline=None)
@given(lists, st.integers(2, 7), st.booleans())
def test_the_stage_keeps_the_definitions_and_the_cap(sizes, width, upper):
    holder = public(sizes)
    selection = views(ChainedViews(upper=upper, columns=width, most_cells=10**30, evaluations=100), holder)
    chain = selection.structure
    check_definitions(holder.domain, chain, width, upper)
    assert selection.cliques == views_of(chain)
    largest = max(map(holder.domain.cells, chain.base))
    assert all(holder.domain.cells(cross) <= largest for cross in chain.cross if cross is not None)


@settings(deadline=None)
@given(st.lists(st.integers(1, 3000), min_size=1, max_size=12), st.sampled_from([0.1, 1, 10]), st.booleans())
def test_the_guideline_never_gives_a_view_over_the_limit(sizes, epsilon, upper):
    holder = public(sizes, epsilon)
    stage = ChainedViews(upper=upper, most_cells=200_000, evaluations=50)
    try:
        found = views(stage, holder).cliques
    except ModelTooLarge:
        with pytest.raises(ModelTooLarge):
            views(ChainedViews(upper=upper, columns=2, most_cells=200_000, evaluations=50), holder)
    else:
        assert all(holder.domain.cells(view) <= 200_000 for view in found)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize(("sizes", "columns"), [(ADULT, 3), (CENSUS_INCOME, 3), (KDDCUP99, 3)])
def test_the_view_size_needs_no_user(sizes, columns, upper):
    holder = public(sizes)
    selection = views(ChainedViews(upper=upper, evaluations=1000), holder)
    assert len(selection.structure.base[0]) == columns
    kinds = "base, cross and upper cross" if upper else "base and cross"
    assert holder.notes == [(f"choose {kinds} views of 3 columns", "reads only the sizes of columns and the budget")]


def test_replacing_a_person_needs_more_noise_and_so_fewer_columns():
    alone = views(ChainedViews(evaluations=10), public(ADULT, 2))
    replaced = views(ChainedViews(evaluations=10), public(ADULT, 2, rows=10, replace=True))
    assert len(replaced.structure.base[0]) < len(alone.structure.base[0])


def test_the_same_seed_gives_the_same_views():
    first, again, other = (
        views(ChainedViews(columns=4, evaluations=300, seed=seed), public(CENSUS_INCOME)) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_views_are_free_and_do_not_depend_on_rows():
    domain = domain_of((3, 4, 5, 6, 7))
    answers = []
    for rows in (0, 1, 500):
        holder, ledger = holder_of(Records(domain, [np.zeros(rows, dtype=int)] * 5), PureDP(1))
        answers.append(chosen(ChainedViews(), holder, PureDP(1).total))
        assert ledger.statement().spent == 0
        assert [type(event) for _, event in ledger.statement().entries] == [Free]
    assert answers[0] == answers[1] == answers[2]


def test_columns_of_one_rule_are_in_one_view():
    sizes = (24, 12, 3, 29, 6, 9, 7, 7, 12, 161, 18)
    holder = public(sizes)
    names = holder.domain.names
    rules = [(names[0], names[9]), (names[3], names[7]), (names[8], names[10])]
    allowed = [np.eye(*holder.domain.project(one).shape, dtype=bool) for one in rules]
    known = Known(constraints=Constraints(holder.domain, tuple(map(Constraint, rules, allowed))))

    def untied(known):
        chosen = ChainedViews(columns=3)(holder, known, None, None).selection.cliques
        return sum(not any({*rule} <= {*view} for view in chosen) for rule in rules)

    assert untied(Known()) > 0
    assert untied(known) == 0


@pytest.mark.parametrize("sizes", [(7,), (7, 9), (1,), (1, 1, 1, 1, 1), (3, 4, 5)])
@pytest.mark.parametrize("columns", [None, 5])
def test_few_columns_are_one_view(sizes, columns):
    holder = public(sizes)
    selection = views(ChainedViews(columns=columns), holder)
    assert selection.cliques == (holder.domain.names,)
    assert selection.structure.base == selection.cliques
    assert selection.structure.cross == ()


def test_a_large_view_is_an_error_that_names_its_columns():
    holder = public((1000, 900, 800))
    with pytest.raises(
        ModelTooLarge, match=r"the table over c0 \(1000\), c2 \(800\) has 800,000 cells; at most 500,000"
    ):
        views(ChainedViews(columns=2, most_cells=500_000), holder)
    with pytest.raises(ModelTooLarge, match=r"c0 \(1000\), c1 \(900\), c2 \(800\) has 720,000,000 cells"):
        views(ChainedViews(columns=3), holder)
    assert holder.notes == []


def test_the_guideline_gives_up_columns_for_the_limit_but_given_columns_stay():
    holder = public(ADULT, 10)
    assert len(views(ChainedViews(evaluations=500), holder).structure.base[0]) == 5
    assert len(views(ChainedViews(evaluations=500, most_cells=50_000), holder).structure.base[0]) == 4
    with pytest.raises(ModelTooLarge):
        views(ChainedViews(columns=5, evaluations=500, most_cells=50_000), holder)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": 1}, "views of 1 columns tie nothing together; give at least 2 columns"),
        ({"rows_guess": 0}, "rows_guess is 0; give at least 1"),
        ({"most_cells": 0}, "most_cells is 0; give at least 1"),
        ({"evaluations": 0}, "evaluations is 0; give at least 1"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(MethodError, match=message):
        ChainedViews(**options)


def test_the_guideline_goes_by_the_variance_of_whatever_noise_there_will_be():
    gaussian = PublicHolder(domain_of(ADULT), ApproxDP(1, "1e-9"))
    laplace = public(ADULT, f"{sqrt(2 / gaussian.variance(gaussian.budget.total)):.3f}")
    assert laplace.variance(laplace.budget.total) == pytest.approx(gaussian.variance(gaussian.budget.total), rel=0.01)
    assert views(ChainedViews(evaluations=100), gaussian) == views(ChainedViews(evaluations=100), laplace)
