import numpy as np
import pytest
from scipy.optimize import minimize

from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.measure.gaussian import GaussianTables
from sfumato.measure.laplace import LaplaceTables
from sfumato.privacy.budget import ZCDP, PureDP
from sfumato.privacy.holder import LocalHolder, Neighbours
from sfumato.privacy.ledger import Ledger

DOMAIN = Domain({"a": 4, "b": 50, "c": 3})
CLIQUES = [("a",), ("a", "b"), ("b", "c"), ("a", "b", "c")]
CELLS = np.array([DOMAIN.cells(clique) for clique in CLIQUES], dtype=float)


def costs(measure, budget):
    ledger = Ledger(budget, "test")
    holder = LocalHolder(Records(DOMAIN, [np.zeros(3, int)] * 3), Neighbours(), ledger)
    measured = measure(holder, CLIQUES, budget.total)
    assert [one.clique for one in measured] == CLIQUES
    return np.array([float(budget.cost(event)) for _, event in ledger.statement().entries]), measured


def best(error):
    """The split of one unit that a numerical solver finds."""
    start = np.full(len(CELLS), 1 / len(CELLS))
    simplex = {"type": "eq", "fun": lambda parts: parts.sum() - 1}
    scale = error(start)  # of order one, so that the solver's tolerance means something
    found = minimize(lambda x: error(x) / scale, start, bounds=[(1e-4, 1)] * 4, constraints=simplex, tol=1e-12)
    assert found.success
    return found.x


def test_gaussian_shares_minimise_the_sum_of_expected_l1_errors():
    found, measured = costs(GaussianTables(), ZCDP(1))
    assert found == pytest.approx(best(lambda rho: (CELLS / np.sqrt(rho)).sum()), abs=1e-3)
    assert [one.variance for one in measured] == pytest.approx(1 / (2 * found) + 1 / 12, rel=0.05)


def test_laplace_shares_minimise_the_sum_of_variances():
    found, measured = costs(LaplaceTables(), PureDP(1))
    assert found == pytest.approx(best(lambda epsilon: (2 * CELLS / epsilon**2).sum()), abs=1e-3)
    assert found == pytest.approx(CELLS ** (1 / 3) / (CELLS ** (1 / 3)).sum(), rel=1e-6)
    assert [one.variance for one in measured] == pytest.approx(2 / found**2, rel=0.05)


def test_equal_shares_are_power_zero():
    found, _ = costs(LaplaceTables(power=0), PureDP(1))
    assert found == pytest.approx(np.full(4, 0.25), rel=1e-6)


@pytest.mark.parametrize(("measure", "budget"), [(GaussianTables(), ZCDP(1)), (LaplaceTables(), PureDP(1))])
def test_nothing_to_measure_costs_nothing(measure, budget):
    ledger = Ledger(budget, "test")
    holder = LocalHolder(Records(DOMAIN, [np.zeros(3, int)] * 3), Neighbours(), ledger)
    assert measure(holder, [], budget.total) == ()
    assert ledger.left == budget.total.amount
