from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers_sizes import ADULT, CENSUS_INCOME, KDDCUP99
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.errors import MethodError, ModelTooLarge
from sfumato.privacy.budget import ApproxDP, PureDP, Share
from sfumato.privacy.events import Free
from sfumato.privacy.holder import LocalHolder, Neighbours
from sfumato.privacy.ledger import Ledger
from sfumato.select.chain_search import random_arrangement
from sfumato.select.chained_views import ChainedViews
from sfumato.select.chains import Layout, by_size, chain_of, views_of

NOTHING = Share("epsilon", Fraction(0))


def domain_of(sizes):
    return Domain({f"c{place}": size for place, size in enumerate(sizes)})


class Public:
    """All that the stage may look at: a holder without rows."""

    def __init__(self, sizes, epsilon=1, rows=1, replace=False):
        self.domain = domain_of(sizes)
        self.neighbours = Neighbours(rows, replace)
        self.budget = PureDP(epsilon).total
        self.notes = []

    def note(self, question, reason):
        self.notes.append((question, reason))


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
    holder = Public(sizes)
    selection = ChainedViews(upper=upper, columns=width, most_cells=10**30, evaluations=100)(holder, NOTHING)
    chain = selection.structure
    check_definitions(holder.domain, chain, width, upper)
    assert selection.cliques == views_of(chain)
    largest = max(map(holder.domain.cells, chain.base))
    assert all(holder.domain.cells(cross) <= largest for cross in chain.cross if cross is not None)


@settings(deadline=None)
@given(st.lists(st.integers(1, 3000), min_size=1, max_size=12), st.sampled_from([0.1, 1, 10]), st.booleans())
def test_the_guideline_never_gives_a_view_over_the_limit(sizes, epsilon, upper):
    holder = Public(sizes, epsilon)
    stage = ChainedViews(upper=upper, most_cells=200_000, evaluations=50)
    try:
        views = stage(holder, NOTHING).cliques
    except ModelTooLarge:
        with pytest.raises(ModelTooLarge):
            ChainedViews(upper=upper, columns=2, most_cells=200_000, evaluations=50)(holder, NOTHING)
    else:
        assert all(holder.domain.cells(view) <= 200_000 for view in views)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize(("sizes", "columns"), [(ADULT, 3), (CENSUS_INCOME, 3), (KDDCUP99, 3)])
def test_the_view_size_needs_no_user(sizes, columns, upper):
    holder = Public(sizes)
    selection = ChainedViews(upper=upper, evaluations=1000)(holder, NOTHING)
    assert len(selection.structure.base[0]) == columns
    kinds = "base, cross and upper cross" if upper else "base and cross"
    assert holder.notes == [(f"choose {kinds} views of 3 columns", "reads only the sizes of columns and the budget")]


def test_replacing_a_person_needs_more_noise_and_so_fewer_columns():
    alone = ChainedViews(evaluations=10)(Public(ADULT, 2), NOTHING)
    replaced = ChainedViews(evaluations=10)(Public(ADULT, 2, rows=10, replace=True), NOTHING)
    assert len(replaced.structure.base[0]) < len(alone.structure.base[0])


def test_the_same_seed_gives_the_same_views():
    first, again, other = (
        ChainedViews(columns=4, evaluations=300, seed=seed)(Public(CENSUS_INCOME), NOTHING) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_views_are_free_and_do_not_depend_on_rows():
    domain = domain_of((3, 4, 5, 6, 7))
    answers = []
    for rows in (0, 1, 500):
        ledger = Ledger(PureDP(1), "test")
        holder = LocalHolder(Records(domain, [np.zeros(rows, dtype=int)] * 5), Neighbours(), ledger)
        answers.append(ChainedViews()(holder, NOTHING))
        assert holder.budget == Share("epsilon", Fraction(1))
        assert ledger.statement().spent == 0
        assert [type(event) for _, event in ledger.statement().entries] == [Free]
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("sizes", [(7,), (7, 9), (1,), (1, 1, 1, 1, 1), (3, 4, 5)])
@pytest.mark.parametrize("columns", [None, 5])
def test_few_columns_are_one_view(sizes, columns):
    holder = Public(sizes)
    selection = ChainedViews(columns=columns)(holder, NOTHING)
    assert selection.cliques == (holder.domain.names,)
    assert selection.structure.base == selection.cliques
    assert selection.structure.cross == ()


def test_a_large_view_is_an_error_that_names_its_columns():
    holder = Public((1000, 900, 800))
    with pytest.raises(
        ModelTooLarge, match=r"the table over c0 \(1000\), c2 \(800\) has 800,000 cells; at most 500,000"
    ):
        ChainedViews(columns=2, most_cells=500_000)(holder, NOTHING)
    with pytest.raises(ModelTooLarge, match=r"c0 \(1000\), c1 \(900\), c2 \(800\) has 720,000,000 cells"):
        ChainedViews(columns=3)(holder, NOTHING)
    assert holder.notes == []


def test_the_guideline_gives_up_columns_for_the_limit_but_given_columns_stay():
    holder = Public(ADULT, 10)
    assert len(ChainedViews(evaluations=500)(holder, NOTHING).structure.base[0]) == 5
    assert len(ChainedViews(evaluations=500, most_cells=50_000)(holder, NOTHING).structure.base[0]) == 4
    with pytest.raises(ModelTooLarge):
        ChainedViews(columns=5, evaluations=500, most_cells=50_000)(holder, NOTHING)


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


def test_the_guideline_refuses_a_budget_that_laplace_noise_cannot_spend():
    holder = Public(ADULT)
    holder.budget = ApproxDP(1, "1e-9").total
    with pytest.raises(MethodError, match="Laplace"):
        ChainedViews()(holder, NOTHING)
