import json
from dataclasses import replace
from time import process_time

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers_chains import chains, exact_marginals, marginals_over, random_records
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.data.records import Records
from sfumato.data.selection import Chain, Selection
from sfumato.errors import MethodError
from sfumato.intake.codec import SchemaCodec
from sfumato.schema.schema import Schema
from sfumato.survey import simulate, survey_schema_text
from sfumato.synthesize.linking import Linking
from sfumato.synthesize.matching import Graph, fit_edges, maximum_links, priority_links
from sfumato.synthesize.normalizing import normalize

seeds = st.integers(0, 2**32)
both_matchings = pytest.mark.parametrize("matching", ["priority", "maximum"])


def link(marginals, chain, rows, seed=0, matching="priority"):
    selection = Selection(marginals.cliques, chain)
    return Linking(matching)(marginals, selection, rows, np.random.default_rng(seed))


def distance(one, other, clique):
    """Rows in which two tables over a clique differ."""
    return np.abs(one.project(clique).counts - other.project(clique).counts).sum() / 2


@both_matchings
@settings(deadline=None)
@given(data=st.data(), made=chains(upper=True), rows=st.integers(0, 300), seed=seeds)
def test_all_rows_come_out_and_have_the_normalized_views_whatever_the_tables(matching, data, made, rows, seed):
    domain, chain = made
    marginals = data.draw(marginals_over(domain, chain))
    records = link(marginals, chain, rows, seed, matching)
    assert records.domain == domain
    assert len(records) == rows
    for view in normalize(marginals, chain, rows, np.random.default_rng(seed)):  # the first that a run does
        assert (records.project(view.clique).counts == view.counts).all()


@settings(deadline=None)
@given(chains(upper=True), st.integers(1, 300), seeds)
def test_exact_base_and_cross_views_come_back_exactly(made, rows, seed):
    domain, chain = made
    real = random_records(domain, rows, np.random.default_rng(seed))
    for upper in ((), chain.upper):
        records = link(exact_marginals(real, chain), replace(chain, upper=upper), rows, seed)
        for view in filter(None, (*chain.base, *chain.cross)):
            assert distance(real, records, view) == 0


@pytest.fixture(scope="module")
def survey():
    """The survey, 12 of its columns, and a chain over them that a person has chosen."""
    schema = Schema.parse(json.loads(survey_schema_text()))
    whole = SchemaCodec(schema).encode(simulate(30_000))
    chain = Chain(
        base=(
            ("age", "employment", "education", "sex"),
            ("income", "hours", "children", "household"),
            ("region", "rent", "smoker", "health"),
        ),
        cross=(("age", "employment", "children", "household"), ("income", "hours", "smoker", "health")),
        upper=(("education", "sex", "income", "hours"), ("children", "household", "region", "rent")),
    )
    names = [name for base in chain.base for name in base]
    domain = whole.domain.project(whole.domain.canonical(names))
    return Records(domain, [whole[name] for name in domain.names]), chain


@both_matchings
def test_the_survey_comes_back_in_its_base_and_cross_views(survey, matching):
    real, chain = survey
    records = link(exact_marginals(real, chain), chain, len(real), 1, matching)
    assert len(records) == len(real)
    for view in (*chain.base, *chain.cross):
        assert distance(real, records, view) == 0


def test_upper_views_are_nearer_if_linking_follows_them(survey):
    real, chain = survey
    marginals = exact_marginals(real, chain)
    plain = link(marginals, replace(chain, upper=()), len(real), 1)
    guided = link(marginals, chain, len(real), 1)
    for upper in chain.upper:
        assert distance(real, guided, upper) < 0.6 * distance(real, plain, upper)
    # What lies inside an upper view and across base views is what plain linking cannot know.
    for pair in (("education", "income"), ("sex", "hours"), ("household", "rent")):
        assert distance(real, guided, pair) < 0.6 * distance(real, plain, pair)


def test_rows_that_share_a_value_are_linked_independently():
    rng = np.random.default_rng(0)
    shared, hidden = rng.integers(0, 3, 40_000), rng.integers(0, 2, 40_000)
    real = Records(Domain({"a": 3, "s": 3, "b": 2}), [(shared + hidden) % 3, shared, hidden])  # a tells b, given s
    chain = Chain((("a", "s"), ("s", "b")), (None,))
    joint = link(exact_marginals(real, chain), chain, len(real)).project(("s", "a", "b")).counts
    for table in joint:
        independent = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        assert np.abs(table - independent).sum() / 2 < 0.01 * table.sum()


def test_columns_that_no_upper_view_contains_stay_independent():
    rng = np.random.default_rng(0)
    a, c = rng.integers(0, 2, (2, 20_000))
    real = Records(Domain({"a": 2, "s": 1, "b": 2, "c": 2}), [a, np.zeros_like(a), a ^ (rng.random(20_000) < 0.2), c])
    chain = Chain((("a", "s"), ("s", "b", "c")), (None,), (("a", "b"),))
    records = link(exact_marginals(real, chain), chain, len(real))
    assert distance(real, records, ("a", "b")) <= 2
    assert distance(real, records, ("a", "b", "c")) < 0.02 * len(real)


def test_rows_come_in_no_order():
    real = random_records(Domain({"a": 2, "b": 2}), 4000, np.random.default_rng(0))
    chain = Chain((("a", "b"),), ())
    records = link(exact_marginals(real, chain), chain, 4000)
    assert abs(records["a"][:2000].mean() - records["a"].mean()) < 0.05


def test_the_same_seed_gives_the_same_rows(survey):
    real, chain = survey
    marginals = exact_marginals(real, chain)
    one, two, three = (link(marginals, chain, 2000, seed) for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(one.columns, two.columns, strict=True))
    assert any((a != b).any() for a, b in zip(one.columns, three.columns, strict=True))


def test_an_upper_view_without_counts_is_no_guide():
    domain = Domain({"a": 2, "s": 1, "b": 2})
    half = Marginal(domain.project(("a", "s")), np.array([[5.0], [5.0]]))
    other = Marginal(domain.project(("s", "b")), np.array([[5.0, 5.0]]))
    upper = Marginal(domain.project(("a", "b")), np.zeros((2, 2)))
    chain = Chain((("a", "s"), ("s", "b")), (None,), (("a", "b"),))
    assert len(link(Marginals(domain, (half, other, upper)), chain, 10)) == 10


@st.composite
def graphs(draw):
    left = draw(st.lists(st.integers(0, 6), min_size=1, max_size=6))
    right = draw(st.lists(st.integers(0, 6), min_size=1, max_size=6))
    pairs = [(i, j) for i in range(len(left)) for j in range(len(right))]
    edges = sorted(draw(st.lists(st.sampled_from(pairs), unique=True)))
    source, target = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return Graph(np.array(left), np.array(right), source, target)


def sums(graph, links):
    return (
        np.bincount(graph.source, weights=links, minlength=len(graph.left)),
        np.bincount(graph.target, weights=links, minlength=len(graph.right)),
    )


@given(graphs(), seeds)
def test_priority_links_no_record_twice_and_leaves_no_pair_that_could_be_linked(graph, seed):
    rng = np.random.default_rng(seed)
    links = priority_links(graph, rng.gamma(0.5, 3, len(graph.source)) + 1e-9, rng)
    left, right = sums(graph, links)
    assert (links >= 0).all()
    assert (left <= graph.left).all()
    assert (right <= graph.right).all()
    assert not ((left < graph.left)[graph.source] & (right < graph.right)[graph.target]).any()


@given(graphs(), seeds)
def test_maximum_links_as_many_as_possible(graph, seed):
    rng = np.random.default_rng(seed)
    links = maximum_links(graph, rng)
    left, right = sums(graph, links)
    assert (left <= graph.left).all()
    assert (right <= graph.right).all()
    network = nx.DiGraph()
    network.add_nodes_from("st")
    for name, count in enumerate(graph.left):
        network.add_edge("s", ("left", name), capacity=int(count))
    for name, count in enumerate(graph.right):
        network.add_edge(("right", name), "t", capacity=int(count))
    for one, other in zip(graph.source, graph.target, strict=True):
        network.add_edge(("left", int(one)), ("right", int(other)))
    most = nx.maximum_flow_value(network, "s", "t")
    assert links.sum() == most
    assert priority_links(graph, np.ones(len(links)), rng).sum() <= most


def test_large_classes_are_matched_without_spelling_out_their_records():
    # Record by record, with partners drawn at random, SciPy's matching of such graphs wrote past its arrays.
    rng = np.random.default_rng(0)
    sizes = np.array([3_000_000, 2_000_000]), np.array([2_000_000, 3_000_000])
    graph = Graph(*sizes, np.array([0, 0, 1]), np.array([0, 1, 0]))
    assert maximum_links(graph, rng).tolist() == [0, 3_000_000, 2_000_000]


def test_no_class_is_favoured_where_several_matchings_are_as_large():
    # Two records that may both have the one partner.
    graph = Graph(np.array([1, 1]), np.array([1]), np.array([0, 1]), np.array([0, 0]))
    found = sum(maximum_links(graph, np.random.default_rng(seed)) for seed in range(100))
    assert found.min() > 20  # seeds are fixed


def test_normalized_views_leave_nothing_to_match():
    # Rows that share a value form complete bipartite graphs with equal sides: a matching of all rows exists.
    sizes = np.array([40, 1, 0, 25])
    places = np.arange(4)
    assert maximum_links(Graph(sizes, sizes, places, places), np.random.default_rng(0)).tolist() == sizes.tolist()


@settings(max_examples=15, deadline=None)
@given(seeds)
def test_fitted_edges_have_all_three_sums_where_they_can(seed):
    rng = np.random.default_rng(seed)
    source, target = (axis.ravel() for axis in np.indices((4, 5)))
    group = rng.integers(0, 6, 20)
    truth = rng.integers(1, 9, 20)
    graph = Graph(np.bincount(source, truth).astype(int), np.bincount(target, truth).astype(int), source, target)
    wanted = np.bincount(group, truth, minlength=6)
    fitted = fit_edges(graph, group, wanted, sweeps=2000)
    assert np.bincount(group, fitted, minlength=6) == pytest.approx(wanted, abs=0.05)
    left, right = sums(graph, fitted)
    assert left == pytest.approx(graph.left, abs=0.05)
    assert right == pytest.approx(graph.right, abs=0.05)


ONE = Marginals(Domain({"a": 2, "b": 2}), (Marginal(Domain({"a": 2, "b": 2}), np.ones((2, 2))),))


@pytest.mark.parametrize(
    ("chain", "message"),
    [
        (None, "linking needs a chain of views, and this selection has none; select views by domain size"),
        (Chain((("a",),), ()), "no view of the chain contains b; every column must be in one"),
        (
            Chain((("a",), ("b",), ("a",)), (None, None)),
            "the view over a shares a with a view that is not next to it; in a chain only neighbours may share columns",
        ),
    ],
)
def test_a_selection_that_cannot_be_linked_is_refused(chain, message):
    with pytest.raises(MethodError) as refused:
        link(ONE, chain, 10)
    assert str(refused.value) == message


def test_unknown_options_are_refused():
    with pytest.raises(MethodError, match="matching 'best' is unknown; give 'priority' or 'maximum'"):
        Linking("best")
    with pytest.raises(MethodError, match="confidence is 1; give a number from 0 to below 1"):
        Linking(confidence=1)


def test_time_per_row_would_take_a_million_rows_of_15_columns_through_in_30_seconds():
    rows = 200_000
    domain = Domain({f"a{place:02}": size for place, size in enumerate([10, 8, 6, 5, 3] * 3)})
    names = domain.names
    base = (names[:5], names[5:10], names[10:])
    cross = ((*names[:2], *names[7:10]), (*names[5:7], *names[12:]))
    upper = (names[2:7], names[7:12])
    real = random_records(domain, rows, np.random.default_rng(0))
    for chain in (Chain(base, cross), Chain(base, cross, upper)):
        marginals = exact_marginals(real, chain)
        before = process_time()
        assert len(link(marginals, chain, rows)) == rows
        assert process_time() - before < 30 * rows / 1_000_000
