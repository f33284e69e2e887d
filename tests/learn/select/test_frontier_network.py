"""Networks from noisy tables: what they find with a large budget, what they ask for, what they spend."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from helpers_entropy import ScriptedEntropy
from helpers_holders import holder_of
from helpers_select import chosen, learned
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.errors import MethodError
from sfumato.learn.select.candidate_network import CandidateNetwork
from sfumato.learn.select.frontier_network import FrontierNetwork, spanning_tree
from sfumato.privacy.budget import ApproxDP, Currency, PureDP, Share


class TablesOnly:
    """A holder that answers with noisy tables only, as a federation does, maybe with more noise than asked."""

    def __init__(self, holder, excess=1.0):
        self._holder = holder
        self._excess = excess
        self.domain, self.neighbours = holder.domain, holder.neighbours
        self.rounds = []

    def variance(self, part):
        return self._holder.variance(part) * self._excess

    def measure(self, cliques, parts):
        self.rounds.append(tuple(cliques))
        tables = self._holder.measure(cliques, parts)
        return tuple(replace(one, variance=one.variance * self._excess) for one in tables)


def holding(columns, budget, excess=1.0, sizes=None):
    sizes = sizes or {name: int(max(codes)) + 1 for name, codes in columns.items()}
    records = Records(Domain(sizes), [np.asarray(codes) for codes in columns.values()])
    holder, ledger = holder_of(records, budget, entropy=ScriptedEntropy(5))
    return TablesOnly(holder, excess), ledger


def epsilon_of(amount):
    return Share(Currency.EPSILON, Fraction(amount))


def tree_of(rows=20_000, length=7, codes=3, flip=0.2):
    """Columns of which each copies the one at half its place, except for some rows."""
    rng = np.random.default_rng(0)
    columns = {"c0": rng.integers(0, codes, rows)}
    for place in range(1, length):
        parent = columns[f"c{(place - 1) // 2}"]
        columns[f"c{place}"] = np.where(rng.random(rows) < flip, rng.integers(0, codes, rows), parent)
    return columns


def two_causes(rows=20_000):
    """Two coins that do not depend on each other until one sees the column that copies now one and now the other."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    near = np.where(rng.random(rows) < 0.3, b, a)
    return {"a": a, "b": b, "near": near, "coin": rng.integers(0, 2, rows)}


PAIRS = 1_900.0
"""With this theta, 20,000 rows and epsilon 10 for 7 tables, pairs of 9 cells are useful, and triples are not."""

EDGES = {frozenset((f"c{(place - 1) // 2}", f"c{place}")) for place in range(1, 7)}


@pytest.mark.parametrize("score", ["R", "I"])
@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_with_a_large_budget_the_tree_is_found(score, rounds):
    holder, _ = holding(tree_of(), PureDP(10))
    selection = chosen(FrontierNetwork(rounds=rounds, score=score, theta=PAIRS), holder, epsilon_of(10))
    assert {frozenset(clique) for clique in selection.cliques} == EDGES
    assert len(holder.rounds) == 1 + rounds


def test_candidates_find_the_tree_too():
    holder, _ = holding(tree_of(), PureDP(10))
    selection = chosen(CandidateNetwork(theta=PAIRS), holder, epsilon_of(10))
    assert {frozenset(clique) for clique in selection.cliques} == EDGES
    assert holder.rounds[0] == ((),)
    assert len(holder.rounds) == 2


@pytest.mark.parametrize("select", [FrontierNetwork(score="I"), CandidateNetwork(score="I")])
def test_parents_of_two_columns_are_found(select):
    holder, _ = holding(two_causes(), PureDP(100))
    families = chosen(select, holder, epsilon_of(50)).structure.families
    assert any({"a", "b", "near"} <= {one.column, *one.parents} for one in families)


@pytest.mark.parametrize("select", [FrontierNetwork(), FrontierNetwork(rounds=2), CandidateNetwork()])
@pytest.mark.parametrize("epsilon", ["0.05", "1", "50"])
def test_parents_come_first_and_every_column_once(select, epsilon):
    columns = tree_of() | {"same": np.zeros(20_000, dtype=int)}
    holder, ledger = holding(columns, PureDP(epsilon))
    selection = chosen(select, holder, ledger.budget.total)
    seen: list[str] = []
    for family in selection.structure.families:
        assert set(family.parents) <= set(seen)
        seen.append(family.column)
    assert sorted(seen) == sorted(columns)
    assert all("same" in clique for clique in selection.cliques)
    assert not any(set(a) < set(b) for a in selection.cliques for b in selection.cliques)
    assert all(
        any({one.column, *one.parents} <= set(c) for c in selection.cliques) for one in selection.structure.families
    )


@pytest.mark.parametrize("select", [FrontierNetwork(), FrontierNetwork(rounds=0), CandidateNetwork()])
def test_no_more_than_the_share_is_spent(select):
    holder, ledger = holding(tree_of(), PureDP(1))
    found = learned(select, holder, epsilon_of("1/2"))
    assert [one.event for one in found.tables] == list(range(len(ledger.statement().entries)))  # all are kept
    spent = 1 - ledger.left
    assert spent <= Fraction(1, 2)
    if not isinstance(select, FrontierNetwork) or select.rounds == 1:
        assert spent > Fraction(1, 2) - Fraction(1, 10**6)


def test_gaussian_noise_serves_too():
    holder, ledger = holding(tree_of(), ApproxDP(8, "1e-9"))
    selection = chosen(FrontierNetwork(theta=150.0), holder, ledger.budget.total)
    assert {frozenset((one.column, *one.parents)) for one in selection.structure.families if one.parents} == EDGES
    assert ledger.left >= 0


def test_more_noise_than_was_asked_for_makes_tables_smaller():
    columns = tree_of(codes=2)
    sizes = []
    for excess in (1.0, 1e4):
        holder, _ = holding(columns, PureDP(1), excess)
        chosen(FrontierNetwork(), holder, epsilon_of("1/2"))
        sizes.append(max(holder.domain.cells(clique) for clique in holder.rounds[1]))
    assert sizes[1] < sizes[0]


def test_the_tree_of_most_gain_leaves_out_what_is_too_large():
    domain = Domain({"a": 2, "b": 10, "c": 2, "d": 10})
    gains = np.array([[0, 5, 4, 1], [5, 0, 3, 9], [4, 3, 0, 0], [1, 9, 0, 0]], dtype=float)
    # b and d would have 100 cells.
    assert spanning_tree(domain, gains, 50) == {"a": (), "b": ("a",), "c": ("a",), "d": ("a",)}
    assert spanning_tree(domain, gains, 100) == {"b": (), "d": ("b",), "a": ("b",), "c": ("a",)}
    assert spanning_tree(domain, np.zeros((4, 4)), 100) == {"a": (), "b": (), "c": (), "d": ()}


@pytest.mark.parametrize("select", [FrontierNetwork(), CandidateNetwork()])
def test_one_column_needs_no_question(select):
    for columns in (
        {"a": np.arange(4)},
        {"a": np.zeros(4, dtype=int)},
        {"a": np.arange(4), "b": np.zeros(4, dtype=int)},
    ):
        holder, ledger = holding(columns, PureDP(1))
        assert chosen(select, holder, ledger.budget.total).cliques == (tuple(columns),)
        assert ledger.left == 1


def test_few_tables_are_asked_for_where_there_are_many_candidates():
    domain = Domain([(f"c{place}", 2) for place in range(30)])
    assert len(CandidateNetwork(most_tables=500).candidates(domain, 16)) == 435  # pairs; 4,060 triples are too many
    assert len(CandidateNetwork(most_tables=5_000).candidates(domain, 16)) == 4_060
    mixed = Domain({"a": 2, "b": 3, "c": 50})
    assert CandidateNetwork().candidates(mixed, 20) == (("a", "b"), ("c",))


def test_what_cannot_be_done_is_refused():
    with pytest.raises(MethodError, match="a part between 0 and 1"):
        FrontierNetwork(view_part=1.0)
    with pytest.raises(MethodError, match="0 or more rounds"):
        FrontierNetwork(rounds=-1)
    holder, ledger = holding(tree_of(), PureDP(1))
    with pytest.raises(MethodError, match="known scores"):
        chosen(FrontierNetwork(score="F"), holder, ledger.budget.total)
