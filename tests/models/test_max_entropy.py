from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.errors import ModelTooLarge, SchemaError
from sfumato.models.max_entropy import bridged, least_squares, maximal_intersections, maximum_entropy

DOMAIN = Domain({"a": 2, "b": 3, "c": 4, "d": 2})
BITS = Domain({"a": 2, "b": 2, "c": 2})
SOLVERS = pytest.mark.parametrize("solve", [maximum_entropy, least_squares])


def marginals(domain, **tables):
    """Tables by the letters of their columns: ab=[[1, 2], [3, 4]]."""
    given = [Marginal(domain.project(tuple(letters)), np.array(table)) for letters, table in tables.items()]
    return Marginals(domain, tuple(table.project(domain.canonical(table.clique)) for table in given))


def of_population(truth, cliques):
    return Marginals(truth.domain, tuple(truth.project(truth.domain.canonical(clique)) for clique in cliques))


def total_variation(one, two):
    return np.abs(one.counts / one.total - two.counts / two.total).sum() / 2


def test_columns_that_share_no_table_are_independent():
    answer = maximum_entropy(marginals(BITS, a=[30.0, 70.0], b=[80.0, 20.0]), ("b", "a"))
    assert answer.clique == ("b", "a")
    assert np.allclose(answer.counts, [[24, 56], [6, 14]])


def test_a_chain_makes_its_ends_independent_given_the_middle():
    # Of the 50 rows with b = 0, a splits 40 to 10 and c splits 30 to 20; of those with b = 1, 20 to 30 and 5 to 45.
    tables = marginals(BITS, ab=[[40.0, 20.0], [10.0, 30.0]], bc=[[30.0, 20.0], [5.0, 45.0]])
    by_hand = [[[24, 16], [2, 18]], [[6, 4], [3, 27]]]
    assert np.allclose(maximum_entropy(tables, ("a", "b", "c")).counts, by_hand)


def test_a_ring_of_pairs_gives_no_interaction_of_three():
    truth = Marginal(BITS, np.array([[[9.0, 2.0], [3.0, 8.0]], [[1.0, 7.0], [6.0, 4.0]]]))
    answer = maximum_entropy(of_population(truth, [("a", "b"), ("b", "c"), ("a", "c")]), ("a", "b", "c")).counts
    odds = answer[0, 0] * answer[1, 1] / (answer[0, 1] * answer[1, 0])
    assert odds[0] == pytest.approx(odds[1], rel=1e-4)
    assert not np.allclose(answer, truth.counts, atol=0.1)


def test_least_squares_by_hand():
    # With cells of any sign the answer is a/2 + b/2 - n/4 = [[60, 30], [20, -10]]; without, the last cell is 0.
    answer = least_squares(marginals(BITS, a=[90.0, 10.0], b=[80.0, 20.0]), ("a", "b"))
    assert np.allclose(answer.counts, [[70, 20], [10, 0]], atol=1e-4)
    even = least_squares(marginals(BITS, a=[60.0, 40.0], b=[70.0, 30.0]), ("a", "b"))
    assert np.allclose(even.counts, [[40, 20], [30, 10]])


@SOLVERS
def test_a_clique_inside_a_table_is_answered_by_the_smallest_one_as_it_is(solve):
    large = np.arange(24.0).reshape(2, 3, 4) - 1
    tables = marginals(DOMAIN, abc=large, ba=[[1.0, -2.0], [3.0, 4.0], [5.0, 6.0]])
    assert solve(tables, ("a", "b")).counts.tolist() == [[1, 3, 5], [-2, 4, 6]]
    assert np.array_equal(solve(tables, ("c", "a")).counts, large.sum(axis=1).T)


def test_only_the_largest_shared_parts_count():
    cliques = [("a", "b", "x"), ("b", "a"), ("b",), ("c", "y"), ("x", "y"), ("d", "c")]
    assert maximal_intersections(cliques, ("c", "b", "a", "d")) == (("b", "a"), ("c", "d"))


@st.composite
def populations(draw):
    """A random, often sparse population, and cliques that leave no column out."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    counts = rng.poisson(draw(st.sampled_from([0.3, 1.0, 20.0])), DOMAIN.shape)
    counts[0, 0, 0, 0] += 1  # somebody is there
    truth = Marginal(DOMAIN, counts)
    some = [clique for k in (2, 3) for clique in combinations(DOMAIN.names, k)]
    cliques = draw(st.lists(st.sampled_from(some), max_size=5, unique=True))
    return truth, [*cliques, *((name,) for name in DOMAIN.names)]


@SOLVERS
@settings(deadline=None, max_examples=60)
@given(populations())
def test_tables_of_one_population_are_met(solve, population):
    truth, cliques = population
    answer = solve(of_population(truth, cliques), DOMAIN.names)
    assert answer.counts.min() >= 0
    assert answer.total == pytest.approx(truth.total)
    for clique in cliques:
        missing = np.abs(answer.project(clique).counts - truth.project(clique).counts).sum()
        # Where a zero of the answer is no zero of any table, fitting comes near it only as 1 / sweeps.
        assert missing <= 1e-2 * truth.total


@settings(deadline=None, max_examples=60)
@given(populations())
def test_nothing_that_meets_the_tables_has_more_entropy_or_a_smaller_norm(population):
    truth, cliques = population
    tables = of_population(truth, cliques)

    def entropy(table):
        shares = table.counts[table.counts > 0] / table.total
        return -(shares * np.log(shares)).sum()

    # The population itself meets them all.
    assert entropy(maximum_entropy(tables, DOMAIN.names)) >= entropy(truth) - 1e-3
    assert np.linalg.norm(least_squares(tables, DOMAIN.names).counts) <= np.linalg.norm(truth.counts) * 1.001


@SOLVERS
@settings(deadline=None, max_examples=60)
@given(populations(), st.integers(0, 10**6))
def test_tables_that_disagree_and_have_negative_cells_still_give_counts(solve, population, seed):
    truth, cliques = population
    rng = np.random.default_rng(seed)
    exact = (truth.project(clique) for clique in cliques)
    noisy = tuple(Marginal(t.domain, t.counts + rng.normal(0, 3, t.domain.shape)) for t in exact)
    answer = solve(Marginals(DOMAIN, noisy), ("d", "c", "b", "a"))
    assert np.isfinite(answer.counts).all()
    assert answer.counts.min() >= 0
    assert answer.total == pytest.approx(max(0, np.mean([table.total for table in noisy])))


@SOLVERS
def test_tables_without_a_common_row_or_without_rows(solve):
    apart = marginals(BITS, ab=[[10.0, 0.0], [0.0, 0.0]], bc=[[0.0, 0.0], [0.0, 10.0]])
    assert solve(apart, ("a", "b", "c")).total == pytest.approx(10)
    empty = marginals(BITS, a=[0.0, 0.0], b=[-1.0, 1.0])
    assert solve(empty, ("a", "b")).counts.tolist() == [[0, 0], [0, 0]]
    silent = marginals(BITS, a=[-1.0, 0.0], b=[0.0, 0.0], c=[50.0, 50.0])
    assert np.allclose(solve(silent, ("a", "b")).counts, 99 / 3 / 4)


def test_maximum_entropy_is_nearer_to_random_populations_than_least_squares():
    rng = np.random.default_rng(7)
    errors = []
    for _ in range(40):
        # Columns that depend on each other through a hidden class, as columns of real tables do.
        classes = [rng.dirichlet(np.full(size, 0.5), 4) for size in DOMAIN.shape]
        truth = Marginal(DOMAIN, np.einsum("h,ha,hb,hc,hd->abcd", rng.dirichlet(np.ones(4)), *classes) * 1e4)
        tables = of_population(truth, combinations(DOMAIN.names, 2))
        errors.append(
            [total_variation(solve(tables, DOMAIN.names), truth) for solve in (maximum_entropy, least_squares)]
        )
    entropy, squares = np.mean(errors, axis=0)
    assert entropy < 0.6 * squares


class TestBridges:
    """Columns that no table holds together may depend on each other through others."""

    CHAIN = Domain({"a": 2, "b": 2, "x": 2, "y": 9})
    COPY = ((45.0, 5.0), (5.0, 45.0))

    def tables(self):
        return marginals(self.CHAIN, ax=self.COPY, xb=self.COPY, y=[11.0] * 8 + [12.0])

    def test_the_dependence_through_another_column_is_kept(self):
        plain = maximum_entropy(self.tables(), ("a", "b"))
        assert np.allclose(plain.counts, 25)
        wide = bridged(self.tables(), ("a", "b"))
        assert wide == ("a", "b", "x")
        # Equal with probability 0.9² + 0.1².
        assert np.allclose(maximum_entropy(self.tables(), wide).project(("a", "b")).counts, [[41, 9], [9, 41]])

    def test_nothing_is_added_that_does_not_help_or_does_not_fit(self):
        assert bridged(self.tables(), ("a", "x")) == ("a", "x")
        assert bridged(self.tables(), ("y",)) == ("y",)
        assert bridged(self.tables(), ("a", "y")) == ("a", "y")
        assert bridged(self.tables(), ("a", "b"), cells=7) == ("a", "b")
        useless = marginals(self.CHAIN, ax=[[25.0, 25.0], [25.0, 25.0]], xb=self.COPY)
        assert bridged(useless, ("a", "b")) == ("a", "b")


@SOLVERS
def test_what_cannot_be_answered_is_refused(solve):
    wide = Domain({"a": 3000, "b": 3000, "c": 2})
    tables = marginals(wide, a=np.ones(3000), b=np.ones(3000))
    with pytest.raises(ModelTooLarge, match=r"a \(3000\), b \(3000\) has 9,000,000 cells"):
        solve(tables, ("a", "b"))
    with pytest.raises(SchemaError, match="no table contains c"):
        solve(tables, ("a", "c"))
