from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import BudgetError, MethodError
from sfumato.privacy.accountant import concentrated_cost, pure_cost
from sfumato.privacy.budget import ZCDP, ApproxDP, PureDP, Share, budget_from_dict, budget_of
from sfumato.privacy.events import Noisy, Sensitivity

weights = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=200)
amounts = st.fractions(Fraction(1, 10**9), Fraction(10**4))


@given(amounts, weights)
def test_parts_of_a_share_are_exactly_the_share(amount, parts):
    assert sum(part.amount for part in Share("rho", amount).split(parts)) == amount


@given(amounts, st.integers(1, 50), st.booleans())
def test_calibrated_noise_costs_at_most_its_share_and_hardly_less(amount, bound, gaussian):
    sensitivity = Sensitivity.single(bound)
    if gaussian:
        cost = concentrated_cost(Noisy("q", Share("rho", amount).gaussian(sensitivity), sensitivity))
    else:
        cost = pure_cost(Noisy("q", Share("epsilon", amount).laplace(sensitivity), sensitivity))
    assert cost <= amount
    assert float(cost) == pytest.approx(float(amount), rel=1e-6)


@given(amounts)
def test_calibrated_widths_have_few_bits(amount):
    sigma = Share("rho", amount).gaussian(Sensitivity.single(1)).sigma
    assert sigma.denominator & (sigma.denominator - 1) == 0  # dyadic
    assert sigma.numerator.bit_length() <= 28


def test_a_tenth_is_a_tenth():
    assert PureDP(0.1).epsilon == Fraction(1, 10)
    assert ApproxDP("0.1", 1e-9).delta == Fraction(1, 10**9)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "abc", 1e-5, 1e5])
def test_meaningless_epsilon_is_refused(epsilon):
    with pytest.raises(BudgetError, match="epsilon is"):
        budget_of(epsilon, 1e-9)


@pytest.mark.parametrize("delta", [1, 2.0, -1e-9, float("nan"), 0.5])
def test_meaningless_delta_is_refused(delta):
    with pytest.raises(BudgetError, match="delta is"):
        budget_of(1.0, delta)


def test_no_delta_means_pure():
    assert isinstance(budget_of(1, None), PureDP)
    assert isinstance(budget_of(1, 0), PureDP)
    assert isinstance(budget_of(1, 1e-9), ApproxDP)


def test_noise_of_the_wrong_kind_is_refused():
    with pytest.raises(MethodError, match="Gaussian noise was asked for under pure DP"):
        PureDP(1).total.gaussian(Sensitivity.single(1))
    with pytest.raises(MethodError, match="Laplace noise was asked for under approximate DP"):
        ApproxDP(1, 1e-9).total.laplace(Sensitivity.single(1))


def test_splitting_by_nothing_or_by_zero_is_refused():
    for bad in ([], [1.0, 0.0], [-1.0]):
        with pytest.raises(BudgetError, match="positive weights"):
            PureDP(1).total.split(bad)


@pytest.mark.parametrize("budget", [PureDP("0.3"), ZCDP("0.01"), ApproxDP("2.5", "1e-7")])
def test_budgets_survive_json(budget):
    assert budget_from_dict(budget.to_dict()) == budget


def test_an_unknown_kind_of_budget_is_refused():
    with pytest.raises(BudgetError, match="kind 'magic'"):
        budget_from_dict({"kind": "magic"})
