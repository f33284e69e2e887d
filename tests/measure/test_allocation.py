import numpy as np
import pytest
from scipy.optimize import minimize

from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.data.selection import Selection
from sfumato.errors import BudgetError, MethodError
from sfumato.measure.gaussian import GaussianTables
from sfumato.measure.laplace import LaplaceTables
from sfumato.measure.least_noise import LeastNoise
from sfumato.privacy.budget import ZCDP, ApproxDP, PureDP
from sfumato.privacy.events import Gaussian, Laplace
from sfumato.privacy.holder import LocalHolder, Neighbours
from sfumato.privacy.ledger import Ledger

DOMAIN = Domain({"a": 4, "b": 50, "c": 3})
CLIQUES = (("a",), ("a", "b"), ("b", "c"), ("a", "b", "c"))
CELLS = np.array([DOMAIN.cells(clique) for clique in CLIQUES], dtype=float)

every_measure = pytest.mark.parametrize(
    ("measure", "budget"),
    [
        (GaussianTables(), ZCDP(1)),
        (LaplaceTables(), PureDP(1)),
        (LeastNoise(), PureDP(1)),
        (LeastNoise(), ZCDP(1)),
        (LeastNoise(), ApproxDP(1, "1e-9")),
    ],
    ids=repr,
)


def holder_of(budget):
    ledger = Ledger(budget, "test")
    return LocalHolder(Records(DOMAIN, [np.zeros(3, int)] * 3), Neighbours(), ledger), ledger


def costs(measure, budget, weights=()):
    """The part of the budget that each table got, and the tables."""
    holder, ledger = holder_of(budget)
    measured = measure(holder, Selection(CLIQUES, weights=weights), budget.total)
    assert [one.clique for one in measured] == list(CLIQUES)
    spent = [budget.cost(event) / budget.total.amount for _, event in ledger.statement().entries]
    return np.array(spent, dtype=float), measured


def best(error):
    """The split of one unit that a numerical solver finds."""
    start = np.full(len(CELLS), 1 / len(CELLS))
    simplex = {"type": "eq", "fun": lambda parts: parts.sum() - 1}
    scale = error(start)  # of order one, so that the solver's tolerance means something
    found = minimize(lambda x: error(x) / scale, start, bounds=[(1e-4, 1)] * 4, constraints=simplex, tol=1e-12)
    assert found.success
    return found.x


@pytest.mark.parametrize("measure", [GaussianTables(), LeastNoise()], ids=repr)
def test_gaussian_shares_minimise_the_sum_of_expected_l1_errors(measure):
    found, measured = costs(measure, ZCDP(1))
    assert found == pytest.approx(best(lambda rho: (CELLS / np.sqrt(rho)).sum()), abs=1e-3)
    assert [one.variance for one in measured] == pytest.approx(1 / (2 * found) + 1 / 12, rel=0.05)


@pytest.mark.parametrize("measure", [LaplaceTables(), LeastNoise()], ids=repr)
def test_laplace_shares_minimise_the_sum_of_variances(measure):
    found, measured = costs(measure, PureDP(1))
    assert found == pytest.approx(best(lambda epsilon: (2 * CELLS / epsilon**2).sum()), abs=1e-3)
    assert found == pytest.approx(CELLS ** (1 / 3) / (CELLS ** (1 / 3)).sum(), rel=1e-6)
    assert [one.variance for one in measured] == pytest.approx(2 / found**2, rel=0.05)


@pytest.mark.parametrize(
    ("measure", "budget"),
    [
        (LaplaceTables(power=0), PureDP(1)),
        (LeastNoise(laplace_power=0), PureDP(1)),
        (LeastNoise(gaussian_power=0), ZCDP(1)),
    ],
    ids=repr,
)
def test_equal_shares_are_power_zero(measure, budget):
    found, _ = costs(measure, budget)
    assert found == pytest.approx(np.full(4, 0.25), rel=1e-6)


@every_measure
def test_weights_of_the_selection_are_the_parts_of_the_budget(measure, budget):
    found, measured = costs(measure, budget, weights=(5.0, 1.0, 1.0, 3.0))
    assert found == pytest.approx([0.5, 0.1, 0.1, 0.3], rel=1e-6)
    assert measured[0].variance < measured[3].variance < measured[1].variance == measured[2].variance


@every_measure
def test_the_whole_share_is_spent_and_no_more(measure, budget):
    for weights in ((), (5.0, 1.0, 1.0, 3.0)):
        assert 1 - 1e-6 < costs(measure, budget, weights)[0].sum() <= 1


@every_measure
def test_nothing_to_measure_costs_nothing(measure, budget):
    holder, ledger = holder_of(budget)
    assert measure(holder, Selection(()), budget.total) == ()
    assert ledger.left == budget.total.amount


@every_measure
def test_weights_that_are_not_positive_are_refused_before_anything_is_spent(measure, budget):
    holder, ledger = holder_of(budget)
    with pytest.raises(BudgetError, match="positive weights"):
        measure(holder, Selection(CLIQUES, weights=(1.0, 0.0, 1.0, 1.0)), budget.total)
    assert ledger.left == budget.total.amount


@pytest.mark.parametrize(("budget", "kind"), [(PureDP(1), Laplace), (ZCDP(1), Gaussian), (ApproxDP(1, 1e-9), Gaussian)])
def test_the_unit_of_the_share_decides_the_noise(budget, kind):
    holder, ledger = holder_of(budget)
    LeastNoise()(holder, Selection(CLIQUES), budget.total)
    assert all(isinstance(event.noise, kind) for _, event in ledger.statement().entries)


@pytest.mark.parametrize(("measure", "budget"), [(GaussianTables(), PureDP(1)), (LaplaceTables(), ZCDP(1))])
def test_noise_of_the_other_kind_is_refused(measure, budget):
    holder, ledger = holder_of(budget)
    with pytest.raises(MethodError, match="noise was asked for under"):
        measure(holder, Selection(CLIQUES), budget.total)
    assert ledger.left == budget.total.amount
