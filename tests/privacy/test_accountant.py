from fractions import Fraction
from math import exp, inf, log, sqrt

import dp_accounting
import pytest
from dp_accounting.pld import PLDAccountant
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from sfumato.errors import BudgetError
from sfumato.privacy.accountant import gaussian_budget, gaussian_delta, gaussian_epsilon, membership_advantage
from sfumato.privacy.conversions import gaussian_of_pure
from sfumato.privacy.events import Free, Noisy
from sfumato.privacy.mechanisms import Gaussian, Laplace
from sfumato.privacy.sensitivity import Notion, Sensitivity

ONE = Sensitivity.single(1)
GRID = [(0.1, 1e-9), (0.2, 1e-5), (1.0, 1e-9), (1.0, 1e-5), (5.0, 1e-9), (5.0, 1e-6)]


def textbook_budget(epsilon, delta):
    return (sqrt(epsilon + log(1 / delta)) - sqrt(log(1 / delta))) ** 2


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_calibration_agrees_with_dp_accounting_and_lands_on_the_private_side(epsilon, delta):
    rho = gaussian_budget(epsilon, delta)
    accountant = PLDAccountant(value_discretization_interval=1e-4 * min(epsilon, 1))
    accountant.compose(dp_accounting.GaussianDpEvent(1 / sqrt(2 * float(rho))))
    theirs = accountant.get_epsilon(delta)  # an upper bound, with a small discretisation loss
    assert theirs == pytest.approx(epsilon, rel=2e-3)
    assert gaussian_epsilon(rho, delta) <= epsilon
    assert gaussian_epsilon(rho, delta) == pytest.approx(epsilon, rel=1e-6)


def test_many_unequal_gaussians_cost_what_dp_accounting_says():
    sigmas = [20.0, 30.0, 45.0, 50.0, 80.0]
    accountant = PLDAccountant(value_discretization_interval=1e-5)
    for sigma in sigmas:
        accountant.compose(dp_accounting.GaussianDpEvent(sigma))
    rho = sum(Gaussian(Fraction(sigma)).cost(ONE, Notion.GAUSSIAN) for sigma in sigmas)
    assert gaussian_epsilon(rho, 1e-6) == pytest.approx(accountant.get_epsilon(1e-6), rel=1e-2)
    assert gaussian_epsilon(rho, 1e-6) <= accountant.get_epsilon(1e-6)


@given(st.floats(1e-4, 1e4), st.floats(1e-12, 1e-2))
def test_budget_and_epsilon_invert_each_other_on_the_private_side(epsilon, delta):
    rho = gaussian_budget(epsilon, delta)
    assert rho > 0
    spent = gaussian_epsilon(rho, delta)
    assert spent <= epsilon
    assert spent >= epsilon * (1 - 1e-5) - 1e-7


@given(st.floats(0.05, 20), st.floats(0.05, 4))
def test_delta_is_the_gaussian_formula(epsilon, mu):
    direct = norm.cdf(mu / 2 - epsilon / mu) - exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert gaussian_delta(epsilon, mu) == pytest.approx(direct, rel=1e-6, abs=1e-14)


def test_exact_accounting_is_worth_two_fifths_more_budget_than_the_textbook_formula():
    gain = float(gaussian_budget(1, 1e-9)) / textbook_budget(1, 1e-9)
    assert gain == pytest.approx(1.41, abs=0.01)


def concentrated_epsilon(rho, delta):
    """An epsilon such that rho-zCDP is (epsilon, delta)-DP: the bound of Canonne, Kamath and Steinke, minimised."""
    r = float(rho)

    def bound(order):
        return r * order + (log(1 / (order * delta)) + (order - 1) * log(1 - 1 / order)) / (order - 1)

    best, order = inf, 1.0
    for step in range(1, 20_000):  # a fine geometric grid: every point is a valid bound
        order = 1 + 1e-6 * exp(step / 500)
        best = min(best, bound(order))
        if order > 1e12:
            break
    return max(0.0, best)


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_zcdp_conversion_is_valid_but_looser_than_the_exact_gaussian_curve(epsilon, delta):
    rho = gaussian_budget(epsilon, delta)
    loose = concentrated_epsilon(rho, delta)
    assert epsilon < loose < epsilon * 1.15
    accountant = dp_accounting.rdp.RdpAccountant()
    accountant.compose(dp_accounting.ZCDpEvent(float(rho)))
    assert loose <= accountant.get_epsilon(delta) * (1 + 1e-6)


def test_costs_of_single_events():
    laplace = Noisy("q", Laplace(Fraction(4)), Sensitivity.single(2))
    gaussian = Noisy("q", Gaussian(Fraction(5)), Sensitivity.single(2).repeated(3))
    assert laplace.cost(Notion.PURE) == Fraction(1, 2)
    assert laplace.cost(Notion.CONCENTRATED) == Fraction(1, 8)
    assert gaussian.cost(Notion.CONCENTRATED) == gaussian.cost(Notion.GAUSSIAN) == Fraction(12, 50)
    with pytest.raises(BudgetError, match="no cost in pure DP"):
        gaussian.cost(Notion.PURE)
    assert {Free("q", "public").cost(notion) for notion in Notion} == {0}


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0, 6.0])
def test_the_mu_of_a_pure_mechanism_dominates_randomised_response(epsilon):
    # The worst epsilon-DP mechanism is randomised response: its trade-off curve must lie above the Gaussian one.
    mu = sqrt(2 * float(gaussian_of_pure(Fraction(epsilon))))
    for alpha in [1e-6, 1e-3, 0.05, 0.3, 1 / (1 + exp(epsilon)), 0.9]:
        randomised_response = max(0, 1 - exp(epsilon) * alpha, exp(-epsilon) * (1 - alpha))
        assert norm.cdf(norm.ppf(1 - alpha) - mu) <= randomised_response + 1e-9


def test_advantage_of_an_attacker_is_bounded_as_the_definition_says():
    assert membership_advantage(0.0, 0.0) == 0
    assert membership_advantage(log(3), 0.0) == pytest.approx(0.5)
    assert membership_advantage(1e4, 0.0) == 1


@pytest.mark.parametrize("epsilon", ["599.9", "600", "601", "700", "745", "800", "5000", "1e6", "1e400"])
def test_a_pure_answer_of_any_epsilon_has_a_gaussian_cost(epsilon):
    """e^-800 is 0 in floats, and its cost was an OverflowError. Costs grow with epsilon and stay below 4 epsilon."""
    exact = Fraction(epsilon)
    less, cost = (
        Laplace(Fraction(1)).cost(Sensitivity(part * exact, exact**2), Notion.GAUSSIAN) for part in (Fraction(9, 10), 1)
    )
    assert exact < less < cost <= 4 * exact
