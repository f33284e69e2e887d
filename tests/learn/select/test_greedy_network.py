"""The greedy network: its limits, what it finds with a large budget, what it spends, what it refuses."""

from fractions import Fraction

import numpy as np
import pytest

from helpers_entropy import ScriptedEntropy
from helpers_holders import holder_of
from helpers_select import chosen, halvings, learned
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.records import Records
from sfumato.errors import BudgetError, MethodError
from sfumato.learn import Known
from sfumato.learn.select.greedy_network import MOST_CELLS, GreedyNetwork, laplace_scale, useful_cells
from sfumato.privacy.budget import Currency, PureDP, Share


def holding(columns, epsilon, sizes=None):
    sizes = sizes or {name: int(max(codes)) + 1 for name, codes in columns.items()}
    records = Records(Domain(sizes), [np.asarray(codes) for codes in columns.values()])
    return holder_of(records, PureDP(epsilon), entropy=ScriptedEntropy(5))


def network(select, holder, share, known=Known()):  # noqa: B008  # it is frozen
    """What it chooses if four times the share will measure the tables, as in PrivBayes."""
    return chosen(select, holder, share, share.part(Fraction(4)), known)


def chain_of(rows=20_000, length=5, codes=3, flip=0.1):
    """Columns of which each copies the one before, except for a few rows."""
    rng = np.random.default_rng(0)
    columns = {"c0": rng.integers(0, codes, rows)}
    for place in range(1, length):
        before = columns[f"c{place - 1}"]
        columns[f"c{place}"] = np.where(rng.random(rows) < flip, rng.integers(0, codes, rows), before)
    return columns


def test_theta_usefulness_of_the_papers():
    # Binary, replace-one: largest k with n eps / ((d - k) 2^(k+2)) >= theta. The noise of one table is 2 / eps.
    assert useful_cells([2] * 16, 21_574 * 0.7 / 2, 4) == 2 ** (6 + 1)
    for degree, enough in ((6, True), (7, False)):
        assert (21_574 * 0.7 / ((16 - degree) * 2 ** (degree + 2)) >= 4) == enough
    # General: |x| |parents| <= n eps / (2 d theta).
    assert useful_cells([2, 3, 10], 45_000 * 0.7 / 2, 4) == int(45_000 * 0.7 / (2 * 3 * 4))
    assert useful_cells([2] * 8, 1.0, 4) == 2  # nothing is useful: single columns
    assert useful_cells([2, 3], 1e12, 4) == MOST_CELLS


@pytest.mark.parametrize("score", ["R", "I"])
def test_with_a_large_budget_neighbours_in_a_chain_are_parents(score):
    holder, ledger = holding(chain_of(), 10_000)
    share = ledger.budget.total
    theta = 20_000 / (5 * 15 * laplace_scale(holder, share))  # 15 cells: pairs of 9 are allowed, triples are not
    selection = chosen(GreedyNetwork(score, theta=theta), holder, share)
    assert {frozenset(clique) for clique in selection.cliques} == {frozenset((f"c{i}", f"c{i + 1}")) for i in range(4)}


def test_f_finds_the_chain_of_binary_columns():
    holder, ledger = holding(chain_of(codes=2), 10_000)
    share = ledger.budget.total
    theta = 20_000 / (4 * 5 * laplace_scale(holder, share))  # degree 1 wants 16 thetas, degree 2 wants 24
    selection = chosen(GreedyNetwork("F", theta=theta), holder, share)
    assert {frozenset(clique) for clique in selection.cliques} == {frozenset((f"c{i}", f"c{i + 1}")) for i in range(4)}


def test_parents_come_first_and_every_column_once():
    columns = chain_of() | {"same": np.zeros(20_000, dtype=int)}
    holder, ledger = holding(columns, 5)
    selection = network(GreedyNetwork(), holder, ledger.budget.total)
    seen: list[str] = []
    for family in selection.structure.families:
        assert set(family.parents) <= set(seen)
        seen.append(family.column)
    assert sorted(seen) == sorted(columns)
    assert all("same" in clique for clique in selection.cliques)  # it costs no cells
    assert not any(set(a) < set(b) for a in selection.cliques for b in selection.cliques)


def test_exactly_the_share_is_spent():
    holder, ledger = holding(chain_of(), 1)
    share = Share(Currency.EPSILON, Fraction(1, 5))
    found = learned(GreedyNetwork(), holder, share, share.part(Fraction(4)))
    assert [(one.clique, one.event) for one in found.tables] == [((), 0)]  # the count was paid for, and is kept
    assert Fraction(4, 5) <= ledger.left < Fraction(4, 5) + Fraction(1, 10**6)  # noise is rounded up by 27 bits
    kinds = [event.to_dict()["event"] for _, event in ledger.statement().entries]
    assert kinds == ["laplace", *["choice"] * 4]


def test_a_network_without_parents_costs_nothing_but_the_count():
    holder, ledger = holding(chain_of(rows=50), "0.01")
    selection = network(GreedyNetwork(), holder, ledger.budget.total)
    assert all(not family.parents for family in selection.structure.families)
    assert len(ledger.statement().entries) == 1
    assert ledger.left >= ledger.budget.total.amount * Fraction(19, 20) * (1 - Fraction(1, 10**6))


def test_a_count_that_is_known_is_taken_with_the_own_one():
    """The own count has a scale of about 100,000 rows, and says nothing; a known one is exact."""
    share, counted = Share(Currency.EPSILON, Fraction(1, 5000)), Measurement(Marginal(Domain({}), np.array(6000)), 1.0)
    parents = []
    for known in (Known(), Known(tables=(counted,))):
        holder, _ = holding(chain_of(rows=6000), 1)
        network_of = chosen(GreedyNetwork(), holder, share, Share(Currency.EPSILON, Fraction(4999, 5000)), known)
        parents.append(any(family.parents for family in network_of.structure.families))
    assert parents == [False, True]


def test_one_column_needs_no_choice():
    holder, ledger = holding({"a": np.arange(4)}, 1)
    assert network(GreedyNetwork(), holder, ledger.budget.total).cliques == (("a",),)
    assert ledger.left == 1


def test_only_columns_of_one_code():
    holder, ledger = holding({"a": np.zeros(4, dtype=int)}, 1)
    assert network(GreedyNetwork(), holder, ledger.budget.total).cliques == (("a",),)


def test_levels_stand_in_for_columns_that_are_too_fine():
    rng = np.random.default_rng(0)
    age = rng.integers(0, 64, 50_000)
    columns = {"age": age, "retired": (age >= 32).astype(int), "coin": rng.integers(0, 2, 50_000)}
    holder, ledger = holding(columns, 1)
    levels = Known(levels=halvings(holder.domain, "age"))
    first_is_age = next(seed for seed in range(100) if np.random.default_rng(seed).integers(3) == 0)
    selection = network(GreedyNetwork(theta=400.0, price=0.0, seed=first_is_age), holder, ledger.budget.total, levels)
    assert selection.structure.families[0].column == "age"
    parents = {family.column: family.parents for family in selection.structure.families}
    assert any(name.startswith("age in") for name in parents["retired"])
    assert {level.name for level in selection.structure.levels} <= {
        name for family in selection.structure.families for name in family.parents
    }


@pytest.mark.parametrize("wrong", [{"theta": 0.0}, {"price": -0.1}, {"most_candidates": 0}])
def test_senseless_options_are_refused(wrong):
    with pytest.raises(MethodError, match="above 0"):
        GreedyNetwork(**wrong)


def test_what_cannot_be_done_is_refused_before_anything_is_spent():
    holder, ledger = holding(chain_of(), 1)
    with pytest.raises(MethodError, match="bit by bit"):
        network(GreedyNetwork("F"), holder, ledger.budget.total)
    with pytest.raises(MethodError, match="unknown"):
        network(GreedyNetwork("K2"), holder, ledger.budget.total)
    with pytest.raises(BudgetError, match="a part of rho was given; the ledger counts epsilon"):
        network(GreedyNetwork(), holder, Share(Currency.RHO, Fraction(1)))
    assert ledger.left == 1
