"""Shares of noise: what the parties' shares add up to, and what fewer of them do not."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from helpers_entropy import ScriptedEntropy
from sfumato.errors import BudgetError
from sfumato.privacy import shares
from sfumato.privacy.accountant import renyi_budget, renyi_epsilon
from sfumato.privacy.mechanisms import Gaussian, Laplace, Skellam
from sfumato.privacy.sensitivity import Notion, Sensitivity
from sfumato.privacy.shares import polya_share, skellam_share

DRAWS = 100_000


def fit(drawn, pmf):
    """The p-value of a chi-square test of integers against a symmetric law that falls off from 0 on both sides."""
    reach = next(x for x in range(1, 10**6) if DRAWS * pmf(x) < 25)
    inside = np.clip(drawn, -reach, reach) + reach
    probability = np.array([pmf(x) for x in range(-reach + 1, reach)])
    tail = (1 - probability.sum()) / 2
    expected = drawn.size * np.array([tail, *probability, tail])
    observed = np.bincount(inside, minlength=2 * reach + 1)
    return stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue


def laplace_pmf(scale):
    ratio = math.exp(-1 / scale)
    return lambda x: (1 - ratio) / (1 + ratio) * ratio ** abs(x)


def summed(draw, width, honest, count, seed=0):
    entropy = ScriptedEntropy(seed)
    return sum(draw(Fraction(width), honest, DRAWS, entropy) for _ in range(count))


@pytest.mark.parametrize(("scale", "honest"), [("1/3", 2), (1, 1), (2, 3), ("7/2", 9), (40, 4)])
def test_any_h_shares_add_up_to_discrete_laplace_noise_and_one_less_does_not(scale, honest):
    pmf = laplace_pmf(float(Fraction(scale)))
    assert fit(summed(polya_share, scale, honest, honest), pmf) > 1e-3
    assert honest == 1 or fit(summed(polya_share, scale, honest, honest - 1), pmf) < 1e-9
    assert fit(summed(polya_share, scale, honest, honest + 1), pmf) < 1e-9


@pytest.mark.parametrize(("mu", "honest"), [("1/2", 1), (3, 2), (50, 3), (400, 9)])
def test_any_h_shares_add_up_to_skellam_noise_and_one_less_does_not(mu, honest):
    pmf = stats.skellam(float(Fraction(mu)) / 2, float(Fraction(mu)) / 2).pmf
    assert fit(summed(skellam_share, mu, honest, honest), pmf) > 1e-3
    assert honest == 1 or fit(summed(skellam_share, mu, honest, honest - 1), pmf) < 1e-9


@pytest.mark.parametrize(("draw", "width", "variance"), [
    (polya_share, 10**6, 2e12), (polya_share, 2**39, 2 * 4.0**39),
    (skellam_share, 10**9, 1e9), (skellam_share, 2**40, 2.0**40),
])  # fmt: skip
def test_wide_noise_has_its_variance(draw, width, variance):
    total = summed(draw, width, 3, 3)
    assert total.var() == pytest.approx(variance, rel=0.05)
    assert abs(total.mean()) < 5 * math.sqrt(variance / DRAWS)


widths = st.fractions(Fraction(1, 50), 10**6, max_denominator=1000)


@pytest.mark.parametrize("digits", [30, 60, 120])
def test_the_logarithm_of_gamma_has_all_its_digits(digits):
    """Against factorials, and against Gamma(n + 1/2) = (2n)! / (4^n n!) times the root of pi."""
    pi = Decimal(
        "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798"
    )
    for n in (0, 1, 5, 63, 64, 200, 1000):
        with localcontext(prec=digits):
            whole, half = shares._log_gamma(Fraction(n + 1)), shares._log_gamma(n + Fraction(1, 2))
        with localcontext(prec=digits + 20):
            room = Decimal(10) ** -(digits - 8)
            assert abs(whole - Decimal(math.factorial(n)).ln()) < room
            exact = (Decimal(math.factorial(2 * n)) / (4**n * math.factorial(n))).ln() + pi.ln() / 2
            assert abs(half - exact) < max(room, Decimal("1e-94"))


@settings(max_examples=40, deadline=None)
@given(widths, st.integers(1, 12), st.floats(0, 1))
def test_floating_point_is_far_closer_to_a_polya_probability_than_the_margin(scale, honest, place):
    law = shares._polya(scale, honest)
    number = int(law.starts[-1] ** place)
    with localcontext(prec=80):
        error = Decimal(float(law.law.log_mass(np.array([number]))[0])) - law.law.exact_log_mass(number)
    assert abs(error) < shares.MARGIN / 100


@settings(max_examples=40, deadline=None)
@given(widths, st.floats(0, 1))
def test_floating_point_is_far_closer_to_a_poisson_probability_than_the_margin(mean, place):
    law = shares._poisson(mean)
    number = int(law.starts[0] + place * (law.starts[-1] - law.starts[0]))
    with localcontext(prec=80):
        error = Decimal(float(law.law.log_mass(np.array([number]))[0])) - law.law.exact_log_mass(number)
    assert abs(error) < shares.MARGIN / 100


@settings(deadline=None)
@given(widths, st.integers(1, 12), st.integers(0, 2**32))
def test_every_step_is_above_all_its_probabilities(width, honest, seed):
    rng = np.random.default_rng(seed)
    for law in (shares._polya(width, honest), shares._poisson(width)):
        step = rng.integers(len(law.starts), size=50)
        number = law.starts[step] + (rng.random(50) * 2.0 ** law.bits[step]).astype(np.int64)
        weight = np.log(np.array(law.weights[: len(law.starts)], dtype=float))[step] - law.bits[step] * math.log(2)
        assert (law.law.log_mass(number) + law.constant + shares.MARGIN / 10 <= weight).all()
        assert sum(law.weights) <= 1 << 62


@settings(deadline=None, max_examples=30)
@given(widths, st.integers(1, 12), st.floats(0.5, 60), st.integers(0, 2**32))
def test_the_ends_are_above_all_their_probabilities(width, honest, tail, seed):
    rng = np.random.default_rng(seed)
    for law in (shares._polya(width, honest, tail), shares._poisson(width, tail)):
        steps, below = len(law.starts), int(law.starts[0])
        with localcontext(prec=60):
            for away in (0, 1, int(rng.integers(1000)), int(float(law.scale) * 50)):
                assert law._log_chance(law.stop + away, steps + 1) <= 0
            for number in {0, below // 2, below - 1} if below else ():
                assert law._log_chance(number, steps) <= 0
        assert (law.weights[steps] == 0) == (below == 0)


SMALL = [
    shares._polya(Fraction(3, 2), 3, 1.0),
    shares._polya(Fraction(1, 3), 2, 0.5),
    shares._polya(Fraction(20), 1, 0.7),
    shares._poisson(Fraction(7, 2), 0.3),
    shares._poisson(Fraction(90), 1.5),
]
"""Laws whose steps are cut off so early that their ends are drawn all the time."""


def proposed(law, number):
    """The probability that a number is proposed, and the step that proposes it; exact but for 60 digits."""
    step = int(np.searchsorted(law.starts, number, side="right")) - 1
    if number >= law.stop:
        step = len(law.starts) + 1
        rate = Decimal(law.scale.denominator) / law.scale.numerator
        inside = (1 - (-rate).exp()) * (-rate * (number - law.stop)).exp()
    elif number < law.starts[0]:
        step = len(law.starts)
        inside = 1 / Decimal(1 << int(law.starts[0]).bit_length())
    else:
        inside = 1 / Decimal(1 << int(law.bits[step]))
    return Decimal(law.weights[step]) / 2**62 * inside, step


@pytest.mark.parametrize("law", SMALL)
def test_every_number_is_drawn_and_kept_in_proportion_to_its_probability(law):
    """Also those beyond the steps: no tail is cut off."""
    with localcontext(prec=60):
        ratios = []
        for number in range(law.stop + 60):
            chance, step = proposed(law, number)
            ratios.append((chance.ln() + law._log_chance(number, step)) - law.law.exact_log_mass(number))
        assert max(ratios) - min(ratios) < Decimal("1e-40")


@pytest.mark.parametrize("law", SMALL)
@pytest.mark.parametrize("margin", [shares.MARGIN, 1.0], ids=["floats", "exact"])
def test_numbers_of_steps_and_ends_have_their_law(law, margin):
    drawn = law.draw(4000 if margin < 1 else 400, ScriptedEntropy(5), margin)
    assert (drawn >= law.stop).any()
    mass = np.exp(law.law.log_mass(np.arange(law.stop + 2000)))
    below = np.cumsum(mass) / mass.sum()
    edges = np.unique([0, *np.searchsorted(below, np.arange(1, 12) / 12) + 1, law.stop, mass.size])  # a dozen bars
    expected = np.diff(np.concatenate([[0], below])[edges]) * drawn.size
    seen = np.histogram(drawn, edges)[0]
    assert stats.chisquare(seen, expected).pvalue > 1e-3


class Words:
    """Entropy that answers each request with the words of a list."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def words(self, count):
        found = np.array(self.answers.pop(0), dtype=np.uint64)
        assert found.size == count
        return found


EDGES = [
    (shares._polya(Fraction(9), 3), 5),
    (shares._polya(Fraction(3000), 2), 1234),
    (shares._poisson(Fraction(200)), 190),
    (shares._poisson(Fraction(7, 2), 0.3), 30),
    (shares._poisson(Fraction(90), 1.5), 20),
]


@pytest.mark.parametrize("words", [2, 3, 4, 6])
@pytest.mark.parametrize(("law", "number"), EDGES)
def test_a_coin_on_the_edge_is_decided_by_the_bit_that_decides_it(law, number, words):
    """Its first bits are those of the probability; only bit 65, 129 or later tells whether it is below."""
    with localcontext(prec=200):
        _, step = proposed(law, number)
        chance = int(law._log_chance(number, step).exp() * 2 ** (64 * words))
    digits = [chance >> 64 * place & (2**64 - 1) for place in reversed(range(words))]
    assert 0 < digits[-1] < 2**64 - 1
    for nudge, kept in ((-1, True), (1, False)):
        last = [[digit] for digit in (*digits[1:-1], digits[-1] + nudge)]
        entropy = Words(*last)
        assert law._is_kept(number, step, digits[0], entropy) is kept
        assert entropy.answers == []


@pytest.mark.parametrize(("law", "number"), EDGES[:3])
def test_floats_do_not_decide_on_the_edge(law, number):
    with localcontext(prec=200):
        _, step = proposed(law, number)
        chance = int(law._log_chance(number, step).exp() * 2**128)
    place = (sum(law.weights[:step]) + law.weights[step] // 2) << 2
    start = [place, number - int(law.starts[step]), chance >> 64]
    last = chance & (2**64 - 1)
    assert law.draw(1, Words(start, [last - 1])).tolist() == [number]
    assert law.draw(1, Words(start, [last + 1])).tolist() == []


@pytest.mark.parametrize("law", [shares._polya(Fraction(9), 3), shares._polya(Fraction(3000), 1)])
def test_exact_arithmetic_decides_as_floats_do(law):
    # With a margin of 1 every decision is left to the exact one.
    assert (law.draw(60, ScriptedEntropy(4)) == law.draw(60, ScriptedEntropy(4), margin=1.0)).all()


@pytest.mark.parametrize("width", ["1/100", "1/3", "5", "40", "3000", "1000000", "1099511627776"])
def test_less_than_two_to_the_minus_128_lies_beyond_the_steps(width):
    """Ends are drawn slowly, one number at a time, so they must be all but impossible. Both laws sum to 1 or more."""
    for law in (shares._polya(Fraction(width), 3), shares._poisson(Fraction(width))):
        first = int(law.starts[0])
        with localcontext(prec=120):
            # A geometric series lies above either end.
            ratio = (-Decimal(law.scale.denominator) / law.scale.numerator).exp()
            beyond = law.law.exact_log_mass(law.stop).exp() / (1 - ratio)
            if first:
                beyond += law.law.exact_log_mass(first - 1).exp() / (1 - Decimal(first) / Decimal(width))
            assert 0 < beyond < Decimal(2) ** -128


@pytest.mark.parametrize(("draw", "words"), [(polya_share, "Laplace noise"), (skellam_share, "Skellam noise")])
def test_widths_and_numbers_of_parties_that_make_no_sense_are_refused(draw, words):
    for width in (Fraction(0), Fraction(-1), Fraction(2**41), 1.5):
        with pytest.raises(BudgetError, match=f"{words} of width"):
            draw(width, 1, 5, ScriptedEntropy())
    with pytest.raises(BudgetError, match="at least one party must be honest"):
        draw(Fraction(1), 0, 5, ScriptedEntropy())


def skellam_pmf(mu, x):
    return special.ive(np.abs(x), mu)  # the library's own skellam law loses its digits in the tails


def divergence(mu, shift, order):
    """The Renyi divergence of order `order` between Skellam noise and itself shifted, summed up term by term."""
    x = np.arange(-int(12 * math.sqrt(mu)) - 20, int(order * shift + 12 * math.sqrt(mu)) + 20)
    here, there = skellam_pmf(mu, x), skellam_pmf(mu, x + shift)
    seen = (here > 1e-290) & (there > 1e-290)
    return float(np.logaddexp.reduce(order * np.log(here[seen]) + (1 - order) * np.log(there[seen]))) / (order - 1)


@pytest.mark.parametrize("mu", [2.0, 10.0, 60.0, 400.0])
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_the_cost_of_skellam_noise_bounds_its_exact_divergence(mu, shift):
    cost = Skellam(Fraction(mu)).cost(Sensitivity.single(shift), Notion.RENYI)
    for order in (2, 3, 5, 8, 16):
        for away in (shift, -shift):
            exact = divergence(mu, away, order)
            assert mu < 10 or order * shift**2 / (2 * mu) * 0.2 < exact
            assert exact <= order * float(cost) * (1 + 1e-9)


@given(st.fractions(Fraction(1, 10**6), 10**4), st.integers(1, 5), st.integers(1, 40))
def test_skellam_noise_costs_what_it_was_made_for_and_hardly_less(rho, bound, cells):
    sensitivity = Sensitivity.single(bound).repeated(cells)
    noise = Skellam.calibrate(rho, sensitivity)
    assert noise.cost(sensitivity, Notion.RENYI) <= rho
    less = Skellam(noise.mu * Fraction(999_999, 1_000_000))
    assert less.cost(sensitivity, Notion.RENYI) > rho * Fraction(99_999, 100_000)


def test_skellam_noise_is_hardly_wider_than_gaussian_noise_of_the_same_cost():
    sensitivity = Sensitivity.single(1)
    rho = Gaussian(Fraction(20)).cost(sensitivity, Notion.CONCENTRATED)
    assert Skellam.calibrate(rho, sensitivity).variance == pytest.approx(400, rel=0.01)


@settings(deadline=None)
@given(st.floats(0.01, 20), st.sampled_from([1e-4, 1e-6, 1e-9]))
def test_a_renyi_budget_can_be_spent_to_the_end(epsilon, delta):
    rho = renyi_budget(epsilon, delta)
    assert epsilon * 0.99 <= renyi_epsilon(rho, delta) <= epsilon
    assert renyi_epsilon(Fraction(0), delta) == 0


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-4), (1.0, 1e-6), (3.0, 1e-6)])
def test_skellam_noise_of_a_whole_budget_has_the_promised_delta(epsilon, delta):
    # One number with sensitivity 1: delta is the sum of what P has above e^epsilon times Q.
    mu = float(Skellam.calibrate(renyi_budget(epsilon, delta), Sensitivity.single(1)).mu)
    x = np.arange(-int(30 * math.sqrt(mu)) - 30, int(30 * math.sqrt(mu)) + 30)
    exact = np.maximum(skellam_pmf(mu, x) - math.exp(epsilon) * skellam_pmf(mu, x - 1), 0).sum()
    assert 0 < exact <= delta


def test_skellam_noise_has_no_cost_in_zcdp():
    for notion in set(Notion) - {Notion.RENYI}:
        with pytest.raises(BudgetError, match="open the ledger with SkellamDP"):
            Skellam(Fraction(10)).cost(Sensitivity.single(1), notion)
    assert Laplace(Fraction(2)).cost(Sensitivity.single(1), Notion.RENYI) == Fraction(1, 8)
