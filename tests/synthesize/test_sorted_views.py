from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.data.records import Records
from sfumato.data.selection import Selection
from sfumato.errors import MethodError, SchemaError
from sfumato.evaluate.marginals import mean_total_variation, total_variation
from sfumato.synthesize.sorted_views import SortedViews, fill, pile, sort_views

NONE = Selection(())
DOMAIN = Domain({"a": 3, "b": 2, "c": 4, "d": 2})


def records(rows, seed):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, rows)
    b = np.where(rng.random(rows) < 0.8, a % 2, rng.integers(0, 2, rows))
    c = np.where(rng.random(rows) < 0.7, a + b, rng.integers(0, 4, rows))
    return Records(DOMAIN, [a, b, c, rng.integers(0, 2, rows)])


def marginals_of(real, cliques):
    return Marginals(real.domain, tuple(real.project(clique) for clique in cliques))


def replay(made, marginals, views):
    """Make the rows again by the letter of the paper: each cell must be the largest that is left and agrees."""
    left = [marginals.project(view).counts.astype(int).copy() for view in views]
    full = [table.copy() for table in left]
    known = [set().union(*views[:i]) for i in range(len(views))]
    for row in range(len(made[views[0][0]])):
        for view, table, start, before in zip(views, left, full, known, strict=True):
            agreeing = tuple(int(made[name][row]) if name in before else slice(None) for name in view)
            if table[agreeing].max() <= 0:  # used up: dealt anew
                table[agreeing] = start[agreeing]
            taken = tuple(int(made[name][row]) for name in view)
            assert table[taken] == table[agreeing].max()
            table[taken] -= 1
    return left


@given(st.integers(1, 60), st.integers(0, 10_000))
@settings(max_examples=60)
def test_rows_are_those_of_the_paper_one_at_a_time(rows, seed):
    real = records(rows, seed)
    views = [("a", "b"), ("b", "c"), ("c", "d")]
    marginals = marginals_of(real, views)
    left = replay(fill(marginals, views, rows, np.random.default_rng(seed)), marginals, views)
    assert not any(table.any() for table in left)  # a chain of tables that agree is used up to the last row


@given(st.integers(20, 80), st.integers(0, 10_000))
@settings(max_examples=40)
def test_views_that_run_out_are_dealt_anew(rows, seed):
    real = records(rows, seed)
    views = [("a", "b"), ("b", "c"), ("a", "c", "d")]  # nothing makes a and c meet as the third view wants
    counted = real.project(("a", "c")).counts
    marginals = marginals_of(real, views)
    made = fill(marginals, views, rows, np.random.default_rng(seed))
    if all(counted[a, c] for a, c in zip(made["a"], made["c"], strict=True)):
        replay(made, marginals, views)
    assert len(made["d"]) == rows


def test_a_value_that_a_view_never_counted_gets_the_views_own_distribution():
    tables = (
        Marginal(DOMAIN.project(("a", "b")), np.array([[40, 0], [0, 60], [0, 0]])),
        Marginal(DOMAIN.project(("b", "c")), np.array([[10, 20, 70, 0], [0, 0, 0, 0]])),
    )
    made = fill(Marginals(DOMAIN, tables), [("a", "b"), ("b", "c")], 100, np.random.default_rng(0))
    assert np.bincount(made["c"][made["b"] == 1], minlength=4).tolist() == [6, 12, 42, 0]


@given(st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=1, max_size=4), st.integers(0, 99))
def test_a_pile_has_every_cell_as_often_as_counted_and_the_fullest_first(counts, seed):
    counts = np.array(counts)
    cards = pile(counts, np.random.default_rng(seed))
    for row, part in zip(counts, np.split(cards, np.cumsum(counts.sum(axis=1))[:-1]), strict=True):
        left = row.copy()
        for card in part:
            assert left[card] == left.max()
            left[card] -= 1
        assert not left.any()


def test_views_add_as_few_columns_as_possible():
    # The paper's example: after a1 … a4, the view with a5 alone comes before the one with a5 and a6.
    first, near, far = ("a1", "a2", "a3", "a4"), ("a1", "a2", "a3", "a5"), ("a1", "a2", "a5", "a6")
    for seed in range(20):
        views = sort_views([far, first, near], np.random.default_rng(seed))
        if views[0] == first:
            assert views == [first, near, far]
    assert sort_views([("a", "b"), ("b", "c"), ("a", "c")], np.random.default_rng(0))[2:] == []  # adds nothing
    starts = {sort_views([("a", "b"), ("b", "c"), ("c", "d")], np.random.default_rng(seed))[0] for seed in range(30)}
    assert len(starts) == 3
    assert sort_views([], np.random.default_rng(0)) == []


def test_of_views_that_add_equally_many_columns_the_one_that_shares_most_comes_first():
    for seed in range(20):
        views = sort_views([("a", "b", "c"), ("a", "b", "d"), ("a", "d")], np.random.default_rng(seed))
        if views[0] == ("a", "b", "c"):
            assert views == [("a", "b", "c"), ("a", "b", "d")]


def test_a_chain_of_tables_is_reproduced():
    real = records(20_000, 0)
    views = [("a", "b"), ("b", "c"), ("d",)]
    made = SortedViews()(marginals_of(real, views), NONE, len(real), np.random.default_rng(1))
    assert mean_total_variation(real, made, views) < 0.002


def test_one_way_tables_inside_others_do_not_cut_the_ties_between_columns():
    real = records(5000, 0)
    cliques = [("a",), ("b",), ("c",), ("d",), *combinations("abc", 2)]
    made = SortedViews()(marginals_of(real, cliques), NONE, 5000, np.random.default_rng(0))
    joint = real.project(("a", "b")).counts / 5000
    independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    assert total_variation(real, made, ("a", "b")) < 0.5 * np.abs(joint - independent).sum() / 2


@pytest.mark.parametrize("rows", [0, 1, 3, 10, 999])
def test_any_number_of_rows_comes_out(rows):
    marginals = marginals_of(records(500, 0), [*combinations("abc", 2), ("a", "c", "d")])
    assert len(SortedViews()(marginals, NONE, rows, np.random.default_rng(0))) == rows


def test_empty_and_slightly_negative_tables_are_no_trouble():
    for counts in (np.zeros((3, 2)), np.array([[-0.4, 10], [20, 30], [40, -0.2]])):
        tables = (Marginal(DOMAIN.project(("a", "b")), counts), Marginal(DOMAIN.project(("c", "d")), np.zeros((4, 2))))
        made = SortedViews()(Marginals(DOMAIN, tables), NONE, 200, np.random.default_rng(0))
        assert len(made) == 200
        assert made.project(("a", "b")).counts[0, 0] == 0 or not counts.any()


def test_equal_seeds_give_equal_rows():
    marginals = marginals_of(records(500, 0), [*combinations("abc", 2), ("d",)])
    draw = [SortedViews()(marginals, NONE, 300, np.random.default_rng(seed)) for seed in (7, 7, 8)]
    assert all(np.array_equal(x, y) for x, y in zip(draw[0].columns, draw[1].columns, strict=True))
    assert not all(np.array_equal(x, y) for x, y in zip(draw[0].columns, draw[2].columns, strict=True))


def test_a_column_in_no_table_is_refused():
    with pytest.raises(SchemaError, match="no table contains d together"):
        SortedViews()(marginals_of(records(50, 0), [("a", "b"), ("c",)]), NONE, 10, np.random.default_rng(0))


def test_no_repeats_at_all_are_refused():
    with pytest.raises(MethodError, match="repeats is 0; give 1 or more"):
        SortedViews(repeats=0)
