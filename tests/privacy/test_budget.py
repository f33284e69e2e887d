from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import BudgetError
from sfumato.privacy.budget import ZCDP, ApproxDP, Currency, PureDP, Share, SkellamDP, budget_from_dict, budget_of

weights = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=200)
amounts = st.fractions(Fraction(1, 10**9), Fraction(10**4))


@given(amounts, weights)
def test_parts_of_a_share_are_exactly_the_share(amount, parts):
    assert sum(part.amount for part in Share(Currency.RHO, amount).split(parts)) == amount


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


def test_splitting_by_nothing_or_by_zero_is_refused():
    for bad in ([], [1.0, 0.0], [-1.0]):
        with pytest.raises(BudgetError, match="positive weights"):
            PureDP(1).total.split(bad)


@pytest.mark.parametrize("budget", [PureDP("0.3"), ZCDP("0.01"), ApproxDP("2.5", "1e-7"), SkellamDP("2.5", "1e-7")])
def test_budgets_survive_json(budget):
    assert budget_from_dict(budget.to_dict()) == budget


def test_an_unknown_kind_of_budget_is_refused():
    with pytest.raises(BudgetError, match="kind 'magic'"):
        budget_from_dict({"kind": "magic"})
