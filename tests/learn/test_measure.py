"""How a share is spread over chosen tables: the best way there is, or as the selection says, and all of it."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from helpers_holders import holder_of
from sfumato.data.coding import Level
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.data.selection import Family, Network, Selection
from sfumato.errors import BudgetError
from sfumato.learn.measure import Tables
from sfumato.privacy.budget import ZCDP, ApproxDP, PureDP, SkellamDP
from sfumato.privacy.mechanisms import Gaussian, Laplace, Skellam

DOMAIN = Domain({"a": 4, "b": 50, "c": 3})
CLIQUES = (("a",), ("a", "b"), ("b", "c"), ("a", "b", "c"))
CELLS = np.array([DOMAIN.cells(clique) for clique in CLIQUES], dtype=float)

every_budget = pytest.mark.parametrize(
    "budget", [PureDP(1), ZCDP(1), ApproxDP(1, "1e-9"), SkellamDP(1, "1e-9")], ids=lambda one: type(one).__name__
)


def holder_with(budget):
    return holder_of(Records(DOMAIN, [np.zeros(3, int)] * 3), budget)


def costs(measure, budget, weights=()):
    """The part of the budget that each table got, and the tables."""
    holder, ledger = holder_with(budget)
    measured = measure(holder, Selection(CLIQUES, weights=weights), budget.total)
    assert [one.clique for one in measured] == list(CLIQUES)
    assert [one.event for one in measured] == [0, 1, 2, 3]
    assert {one.coding for one in measured} == {holder.coding}
    spent = [event.cost(budget.notion) / budget.total.amount for _, event in ledger.statement().entries]
    return np.array(spent, dtype=float), measured


def best(error):
    """The split of one unit that a numerical solver finds."""
    start = np.full(len(CELLS), 1 / len(CELLS))
    simplex = {"type": "eq", "fun": lambda parts: parts.sum() - 1}
    scale = error(start)  # of order one, so the solver's tolerance means something
    found = minimize(lambda x: error(x) / scale, start, bounds=[(1e-4, 1)] * 4, constraints=simplex, tol=1e-12)
    assert found.success
    return found.x


def test_gaussian_shares_minimise_the_sum_of_expected_l1_errors():
    found, measured = costs(Tables(), ZCDP(1))
    assert found == pytest.approx(best(lambda rho: (CELLS / np.sqrt(rho)).sum()), abs=1e-3)
    assert [one.variance for one in measured] == pytest.approx(1 / (2 * found) + 1 / 12, rel=0.05)


def test_laplace_shares_minimise_the_sum_of_variances():
    found, measured = costs(Tables(), PureDP(1))
    assert found == pytest.approx(best(lambda epsilon: (2 * CELLS / epsilon**2).sum()), abs=1e-3)
    assert found == pytest.approx(CELLS ** (1 / 3) / (CELLS ** (1 / 3)).sum(), rel=1e-6)
    assert [one.variance for one in measured] == pytest.approx(2 / found**2, rel=0.05)


def test_laplace_shares_by_roots_minimise_the_sum_of_expected_l1_errors():
    found, _ = costs(Tables(epsilon_power=1 / 2), PureDP(1))
    assert found == pytest.approx(best(lambda epsilon: (CELLS / epsilon).sum()), abs=1e-3)


@pytest.mark.parametrize(("measure", "budget"), [(Tables(epsilon_power=0), PureDP(1)), (Tables(rho_power=0), ZCDP(1))])
def test_equal_shares_are_power_zero(measure, budget):
    found, _ = costs(measure, budget)
    assert found == pytest.approx(np.full(4, 0.25), rel=1e-6)


@every_budget
def test_weights_of_the_selection_are_the_parts_of_the_budget(budget):
    found, measured = costs(Tables(), budget, weights=(5.0, 1.0, 1.0, 3.0))
    assert found == pytest.approx([0.5, 0.1, 0.1, 0.3], rel=1e-6)
    assert measured[0].variance < measured[3].variance < measured[1].variance == measured[2].variance


@every_budget
def test_the_whole_share_is_spent_and_no_more(budget):
    for weights in ((), (5.0, 1.0, 1.0, 3.0)):
        assert 1 - 1e-6 < costs(Tables(), budget, weights)[0].sum() <= 1


@every_budget
def test_nothing_to_measure_costs_nothing(budget):
    holder, ledger = holder_with(budget)
    assert Tables()(holder, Selection(()), budget.total) == ()
    assert ledger.left == budget.total.amount


@every_budget
def test_weights_that_are_not_positive_are_refused_before_anything_is_spent(budget):
    holder, ledger = holder_with(budget)
    with pytest.raises(BudgetError, match="positive weights"):
        Tables()(holder, Selection(CLIQUES, weights=(1.0, 0.0, 1.0, 1.0)), budget.total)
    assert ledger.left == budget.total.amount


@pytest.mark.parametrize(
    ("budget", "kind"),
    [(PureDP(1), Laplace), (ZCDP(1), Gaussian), (ApproxDP(1, 1e-9), Gaussian), (SkellamDP(1, 1e-9), Skellam)],
)
def test_the_budget_decides_the_noise(budget, kind):
    holder, ledger = holder_with(budget)
    Tables()(holder, Selection(CLIQUES), budget.total)
    assert {type(event.noise) for _, event in ledger.statement().entries} == {kind}


def test_a_share_of_another_currency_is_refused():
    holder, ledger = holder_with(PureDP(1))
    with pytest.raises(BudgetError, match="a part of rho was given; the ledger counts epsilon"):
        Tables()(holder, Selection(CLIQUES), ZCDP(1).total)
    assert ledger.left == 1


def test_levels_of_the_selection_are_measured_as_attributes_of_their_own():
    level = Level("b", tuple(code // 10 for code in range(50)))
    network = Network((Family("b", ()), Family("a", (level.name,))), (level,))
    holder, ledger = holder_with(PureDP(1))
    selection = Selection((("b",), ("a", level.name)), network)
    one, two = Tables()(holder, selection, ledger.budget.total)
    assert one.domain == Domain({"b": 50})
    assert two.domain == Domain({"a": 4, "b in 5": 5})
    assert one.coding == two.coding
    assert two.coding.lookup("b in 5")[0] == "b"
    assert 0 <= ledger.left < Fraction(1, 10**6)
