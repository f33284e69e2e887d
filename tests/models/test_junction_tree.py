from itertools import combinations, permutations
from math import prod

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.domain import Domain
from sfumato.errors import ModelTooLarge, SchemaError
from sfumato.models.junction_tree import check, junction_tree

NAMES = "abcdefg"
domains = st.lists(st.integers(1, 9), min_size=len(NAMES), max_size=len(NAMES)).map(
    lambda sizes: Domain(dict(zip(NAMES, sizes, strict=True)))
)
clique_lists = st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True).map(tuple), max_size=9)


@given(domains, clique_lists)
def test_every_clique_and_every_column_lies_in_the_tree(domain, cliques):
    tree = junction_tree(domain, cliques)
    for wanted in [*cliques, *((name,) for name in domain.names)]:
        assert any(set(wanted) <= set(clique) for clique in tree.cliques)


@given(domains, clique_lists)
def test_running_intersection(domain, cliques):
    tree = junction_tree(domain, cliques)
    for place in range(1, len(tree.cliques)):
        assert tree.parents[place] < place
        before = set().union(*tree.cliques[:place])
        assert set(tree.separators[place]) == before & set(tree.cliques[place])
        assert set(tree.separators[place]) <= set(tree.cliques[tree.parents[place]])


@given(domains, clique_lists)
def test_no_clique_lies_inside_another_and_columns_are_in_order(domain, cliques):
    tree = junction_tree(domain, cliques)
    for one, other in permutations(tree.cliques, 2):
        assert not set(one) <= set(other)
    assert all(clique == domain.canonical(clique) for clique in tree.cliques)


@given(domains, clique_lists)
def test_cliques_without_a_hole_get_no_new_edges(domain, cliques):
    graph = nx.Graph()
    graph.add_nodes_from(NAMES)
    graph.add_edges_from(pair for clique in cliques for pair in combinations(clique, 2))
    if nx.is_chordal(graph):
        wanted = {frozenset(clique) for clique in nx.find_cliques(graph)}
        assert set(map(frozenset, junction_tree(domain, cliques).cliques)) == wanted


def best_elimination(domain, cliques):
    """The fewest cells over all orders of elimination, by trying them all."""
    best = None
    for order in permutations(domain.names):
        graph = {name: {other for c in cliques if name in c for other in c} - {name} for name in domain.names}
        found = []
        for name in order:
            around = graph.pop(name)
            found.append({name} | around)
            for other in around:
                graph[other] = (graph[other] | around) - {name, other}
        largest = [clique for clique in found if not any(clique < other for other in found)]
        cells = sum(prod(domain[name] for name in clique) for clique in largest)
        best = cells if best is None else min(best, cells)
    return best


def test_a_cycle_is_cut_at_its_smallest_column():
    domain = Domain({"a": 50, "b": 2, "c": 50, "d": 30})
    cycle = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
    tree = junction_tree(domain, cycle)
    assert set(tree.cliques) == {("a", "b", "d"), ("b", "c", "d")}
    assert tree.cells == best_elimination(domain, cycle) == 6000


def test_the_tree_of_a_wheel_is_the_smallest_there_is():
    domain = Domain({"a": 3, "b": 7, "c": 2, "d": 5, "e": 4, "f": 2})
    wheel = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("a", "e"), *((name, "f") for name in "abcde")]
    assert junction_tree(domain, wheel).cells == best_elimination(domain, wheel)


def test_columns_that_share_nothing_cost_no_more_than_themselves():
    assert junction_tree(Domain({"a": 3, "b": 4, "c": 5}), []).cells == 12


def test_a_tree_at_the_limit_passes_and_one_cell_more_is_refused_with_the_names():
    domain = Domain({"age": 10, "sex": 2, "job": 7, "pay": 3})
    cliques = [("age", "sex"), ("age", "job"), ("job", "sex"), ("pay", "sex")]
    assert check(domain, cliques, 146).cells == 146  # 10 × 2 × 7 and 3 × 2
    with pytest.raises(
        ModelTooLarge, match=r"146 cells, 140 of them over age \(10\), sex \(2\), job \(7\); at most 145"
    ):
        check(domain, cliques, 145)


def test_a_size_beyond_all_floats_can_still_be_named():
    domain = Domain({f"c{place}": 1000 for place in range(150)})
    with pytest.raises(ModelTooLarge, match=r"1\.0E\+450 cells"):
        check(domain, [domain.names], 10**6)


def test_an_unknown_column_is_refused():
    with pytest.raises(SchemaError, match="'z' is not in the table"):
        junction_tree(Domain({"a": 2}), [("a", "z")])
