from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import MethodError
from sfumato.privacy.budget import ApproxDP, PureDP
from sfumato.privacy.events import Gaussian, Laplace
from sfumato.privacy.holder import Neighbours
from sfumato.privacy.narrowing import less_noise


@settings(max_examples=40, deadline=None)
@given(st.floats(0.05, 20), st.floats(3, 14), st.integers(1, 60), st.integers(1, 5), st.booleans())
def test_the_chosen_budget_pays_for_the_lesser_noise(epsilon, power, tables, rows, replace):
    budget, neighbours = ApproxDP(epsilon, 10**-power), Neighbours(rows, replace)
    sensitivity = neighbours.marginal
    laplace = sqrt(2) * float(sensitivity.l1) * tables / float(budget.epsilon)
    gaussian = sqrt(float(sensitivity.l2_squared) * tables / (2 * float(budget.total.amount)))
    if min(laplace, gaussian) < 3 or abs(laplace / gaussian - 1) < 0.05:
        return  # integers blur small widths, and near the crossing either is right
    chosen = less_noise(budget, tables, neighbours)
    assert chosen == (PureDP(budget.epsilon) if laplace < gaussian else budget)


def test_the_unit_decides_the_noise():
    sensitivity = Neighbours().marginal
    assert isinstance(PureDP(1).total.noise(sensitivity), Laplace)
    assert isinstance(ApproxDP(1, 1e-6).total.noise(sensitivity), Gaussian)


@pytest.mark.parametrize("tables", [0, -1])
def test_no_tables_are_refused(tables):
    with pytest.raises(MethodError, match="give 1 or more"):
        less_noise(ApproxDP(1, 1e-9), tables, Neighbours())
