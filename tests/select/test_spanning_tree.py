from itertools import combinations

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helpers_population import population
from sfumato.data.domain import Domain
from sfumato.data.junction_tree import junction_tree
from sfumato.privacy.budget import ZCDP, Share
from sfumato.privacy.holder import LocalHolder, Neighbours
from sfumato.privacy.ledger import Ledger
from sfumato.select.dense_pairs import choose_pairs
from sfumato.select.spanning_tree import SpanningTree, TreeLimitedPairs, choose_fitting, is_forest

DOMAIN = Domain({"a": 4, "b": 3, "c": 5, "d": 2, "e": 6})
PAIRS = list(combinations(DOMAIN.names, 2))
score_lists = st.lists(st.floats(-100, 5000), min_size=len(PAIRS), max_size=len(PAIRS)).map(np.array)
endless, none = 1e12, 1e-12


distinct = st.permutations(range(len(PAIRS))).map(lambda order: 100.0 * np.array(order) - 250)


@given(distinct)
def test_with_endless_budget_the_tree_is_the_maximum_spanning_tree_of_what_depends(scores):
    graph = nx.Graph()
    graph.add_weighted_edges_from((*pair, score) for pair, score in zip(PAIRS, scores, strict=True) if score > 0)
    wanted = {frozenset(edge) for edge in nx.maximum_spanning_tree(graph).edges}
    assert set(map(frozenset, choose_fitting(DOMAIN, PAIRS, scores, endless, is_forest))) == wanted


@given(score_lists, st.floats(1e-6, 10))
def test_what_fits_always_is_chosen_as_without_a_limit(scores, rho):
    cells = np.array([DOMAIN.cells(pair) for pair in PAIRS], dtype=float)
    wanted = [PAIRS[index] for index in choose_pairs(scores, cells, rho)]
    assert choose_fitting(DOMAIN, PAIRS, scores, rho, lambda pairs: True) == wanted


@given(score_lists, st.floats(1e-6, 10), st.sampled_from([20, 60, 150, 400]))
def test_what_is_chosen_fits_and_what_came_before_a_refusal_stays(scores, rho, limit):
    def fits(pairs):
        return junction_tree(DOMAIN, pairs).cells <= limit

    chosen = choose_fitting(DOMAIN, PAIRS, scores, rho, fits)
    free = choose_fitting(DOMAIN, PAIRS, scores, rho, lambda pairs: True)
    assert not chosen or fits(chosen)
    for place, pair in enumerate(free):
        if not fits(free[: place + 1]):
            assert pair not in chosen
            break
        assert chosen[place] == pair


def test_a_forest_has_no_cycle():
    assert is_forest([("a", "b"), ("b", "c"), ("d", "e")])
    assert not is_forest([("a", "b"), ("b", "c"), ("a", "c")])


def holder_of(records, rho):
    ledger = Ledger(ZCDP(rho), "one row")
    ledger.stage = "select"
    return LocalHolder(records, Neighbours(), ledger), ledger


def test_real_dependence_is_found_and_only_the_share_is_spent():
    holder, ledger = holder_of(population(), "1000")
    selection = SpanningTree()(holder, Share("rho", ledger.budget.total.amount / 10))
    edges = set(map(frozenset, selection.cliques))
    assert {frozenset("ab"), frozenset("bc"), frozenset("cd")} <= edges
    assert is_forest(selection.cliques)
    assert ledger.left >= ledger.budget.total.amount * 9 / 10


def test_pairs_that_are_too_weak_for_their_noise_are_left_out():
    scores = np.where([pair == ("a", "d") for pair in PAIRS], 1e6, 10.0)
    assert choose_fitting(DOMAIN, PAIRS, scores, 1e-3, is_forest) == [("a", "d")]
    assert choose_fitting(DOMAIN, PAIRS, scores, none, is_forest) == []


def test_a_limit_that_has_no_room_for_a_triangle_leaves_two_pairs():
    records = population()
    holder, ledger = holder_of(records, "1000")
    roomy = TreeLimitedPairs(limit=1000)(holder, Share("rho", ledger.budget.total.amount / 4))
    tight = TreeLimitedPairs(limit=60)(holder, Share("rho", ledger.budget.total.amount / 4))
    assert any(set("cde") <= set(clique) for clique in roomy.cliques)
    assert junction_tree(records.domain, tight.cliques).cells <= 60
    assert not any(set("cde") <= set(clique) for clique in junction_tree(records.domain, tight.cliques).cliques)


def test_one_column_needs_no_pairs_and_costs_nothing():
    records = population(rows=50)
    only = type(records)(Domain({"a": 4}), [records["a"]])
    holder, ledger = holder_of(only, "1")
    assert SpanningTree()(holder, ledger.budget.total).cliques == ()
    assert ledger.left == ledger.budget.total.amount
