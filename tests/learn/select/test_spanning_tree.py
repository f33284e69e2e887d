from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helpers_holders import holder_of
from helpers_population import population
from helpers_select import chosen
from sfumato.data.domain import Domain
from sfumato.learn.select.dense_pairs import choose_pairs
from sfumato.learn.select.spanning_tree import SpanningTree, TreeLimitedPairs, choose_fitting, is_forest
from sfumato.models.junction_tree import junction_tree
from sfumato.privacy.budget import ZCDP

DOMAIN = Domain({"a": 4, "b": 3, "c": 5, "d": 2, "e": 6})
PAIRS = list(combinations(DOMAIN.names, 2))
score_lists = st.lists(st.floats(-100, 5000), min_size=len(PAIRS), max_size=len(PAIRS)).map(np.array)
hardly, much = 1e-12, 1e12
"""Variances of noise."""


distinct = st.permutations(range(len(PAIRS))).map(lambda order: 100.0 * np.array(order) - 250)


@given(distinct)
def test_with_endless_budget_the_tree_is_the_maximum_spanning_tree_of_what_depends(scores):
    graph = nx.Graph()
    graph.add_weighted_edges_from((*pair, score) for pair, score in zip(PAIRS, scores, strict=True) if score > 0)
    wanted = {frozenset(edge) for edge in nx.maximum_spanning_tree(graph).edges}
    assert set(map(frozenset, choose_fitting(DOMAIN, PAIRS, scores, hardly, is_forest))) == wanted


@given(score_lists, st.floats(0.05, 500_000))
def test_what_fits_always_is_chosen_as_without_a_limit(scores, variance):
    cells = np.array([DOMAIN.cells(pair) for pair in PAIRS], dtype=float)
    wanted = [PAIRS[index] for index in choose_pairs(scores, cells, variance)]
    assert choose_fitting(DOMAIN, PAIRS, scores, variance, lambda pairs: True) == wanted


@given(score_lists, st.floats(0.05, 500_000), st.sampled_from([20, 60, 150, 400]))
def test_what_is_chosen_fits_and_what_came_before_a_refusal_stays(scores, variance, limit):
    def fits(pairs):
        return junction_tree(DOMAIN, pairs).cells <= limit

    found = choose_fitting(DOMAIN, PAIRS, scores, variance, fits)
    free = choose_fitting(DOMAIN, PAIRS, scores, variance, lambda pairs: True)
    assert not found or fits(found)
    for place, pair in enumerate(free):
        if not fits(free[: place + 1]):
            assert pair not in found
            break
        assert found[place] == pair


def test_a_forest_has_no_cycle():
    assert is_forest([("a", "b"), ("b", "c"), ("d", "e")])
    assert not is_forest([("a", "b"), ("b", "c"), ("a", "c")])


def test_real_dependence_is_found_and_only_the_share_is_spent():
    holder, ledger = holder_of(population(), ZCDP("1000"))
    selection = chosen(SpanningTree(), holder, ledger.budget.total.part(Fraction(1, 10)))
    edges = set(map(frozenset, selection.cliques))
    assert {frozenset("ab"), frozenset("bc"), frozenset("cd")} <= edges
    assert is_forest(selection.cliques)
    assert ledger.left >= ledger.budget.total.amount * 9 / 10


def test_pairs_that_are_too_weak_for_their_noise_are_left_out():
    scores = np.where([pair == ("a", "d") for pair in PAIRS], 1e6, 10.0)
    assert choose_fitting(DOMAIN, PAIRS, scores, 500.0, is_forest) == [("a", "d")]
    assert choose_fitting(DOMAIN, PAIRS, scores, much, is_forest) == []


def test_a_limit_that_has_no_room_for_a_triangle_leaves_two_pairs():
    records = population()
    holder, ledger = holder_of(records, ZCDP("1000"))
    roomy = chosen(TreeLimitedPairs(limit=1000), holder, ledger.budget.total.part(Fraction(1, 4)))
    tight = chosen(TreeLimitedPairs(limit=60), holder, ledger.budget.total.part(Fraction(1, 4)))
    assert {("c", "d"), ("c", "e"), ("d", "e")} <= set(roomy.cliques)
    assert junction_tree(records.domain, tight.cliques).cells <= 60
    assert not any(set("cde") <= set(clique) for clique in junction_tree(records.domain, tight.cliques).cliques)


def test_one_column_needs_no_pairs_and_costs_nothing():
    records = population(rows=50)
    only = type(records)(Domain({"a": 4}), [records["a"]])
    holder, ledger = holder_of(only, ZCDP("1"))
    assert chosen(SpanningTree(), holder, ledger.budget.total).cliques == ()
    assert ledger.left == ledger.budget.total.amount
