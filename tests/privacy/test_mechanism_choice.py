from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import MethodError
from sfumato.privacy.budget import ZCDP, ApproxDP, PureDP, SkellamDP
from sfumato.privacy.mechanism_choice import choose_mechanism, planned_noise
from sfumato.privacy.mechanisms import Gaussian, Laplace
from sfumato.privacy.neighbours import Neighbours


@settings(max_examples=40, deadline=None)
@given(st.floats(0.05, 20), st.floats(3, 14), st.integers(1, 60), st.integers(1, 5), st.booleans())
def test_the_chosen_budget_pays_for_the_lesser_noise(epsilon, power, tables, rows, replace):
    budget, neighbours = ApproxDP(epsilon, 10**-power), Neighbours(rows, replace)
    sensitivity = neighbours.marginal
    laplace = sqrt(2) * float(sensitivity.l1) * tables / float(budget.epsilon)
    gaussian = sqrt(float(sensitivity.l2_squared) * tables / (2 * float(budget.total.amount)))
    if min(laplace, gaussian) < 3 or abs(laplace / gaussian - 1) < 0.05:
        return  # integers blur small widths, and near the crossing either is right
    chosen = choose_mechanism(budget, tables, neighbours)
    assert chosen == (PureDP(budget.epsilon) if laplace < gaussian else budget)


def test_the_currency_decides_the_noise():
    sensitivity = Neighbours().marginal
    assert isinstance(planned_noise(PureDP(1).total, sensitivity), Laplace)
    assert isinstance(planned_noise(ApproxDP(1, 1e-6).total, sensitivity), Gaussian)


@pytest.mark.parametrize("budget", [PureDP(1), ZCDP(1)], ids=repr)
def test_a_budget_without_a_delta_has_no_other_mechanism(budget):
    assert choose_mechanism(budget, 1, Neighbours()) is budget


def test_many_parties_take_laplace_noise_too_where_it_is_less():
    assert choose_mechanism(SkellamDP(1, 1e-6), 1, Neighbours()) == PureDP(1)
    assert choose_mechanism(SkellamDP(1, 1e-6), 1000, Neighbours()) == SkellamDP(1, 1e-6)


@pytest.mark.parametrize("tables", [0, -1])
def test_no_tables_are_refused(tables):
    with pytest.raises(MethodError, match="give 1 or more"):
        choose_mechanism(ApproxDP(1, 1e-9), tables, Neighbours())
