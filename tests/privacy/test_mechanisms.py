"""What every mechanism keeps: it costs what it says, draws what it charges for, and its shares add up to it.

A new mechanism needs one line in `LAWS`, which says what its draws should look like.
"""

from fractions import Fraction
from itertools import product
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import chisquare, skellam

from helpers_entropy import ScriptedEntropy
from helpers_noise import fit, gaussian_probability, laplace_probability
from sfumato.errors import BudgetError, MethodError
from sfumato.privacy.accountant import gaussian_delta
from sfumato.privacy.events import Choice, Noisy, event_from_dict
from sfumato.privacy.mechanisms import NOISES, Gaussian, Laplace, Skellam
from sfumato.privacy.mechanisms.exponential import Exponential, Race
from sfumato.privacy.sensitivity import Notion, Sensitivity

DRAWS = 100_000


def skellam_probability(values, deviation):
    """P(x) of the difference of two Poisson numbers, by its standard deviation."""
    return skellam.pmf(values, deviation**2 / 2, deviation**2 / 2)


LAWS = {
    Laplace: (Notion.PURE, lambda scale: Laplace(scale), laplace_probability),
    Gaussian: (Notion.GAUSSIAN, lambda scale: Gaussian(scale), gaussian_probability),
    Skellam: (Notion.RENYI, lambda scale: Skellam(scale**2), skellam_probability),
}
"""For each noise the notion that it is made for, the noise of a scale, and P(x) of that scale."""

every_noise = pytest.mark.parametrize("kind", NOISES.values(), ids=list(NOISES))
every_scale = pytest.mark.parametrize("scale", [Fraction(3, 2), Fraction(20)], ids=str)
amounts = st.fractions(Fraction(1, 10**6), Fraction(10**3)).filter(lambda amount: amount > 0)
sensitivities = st.tuples(st.integers(1, 5000), st.integers(1, 500)).map(
    lambda case: Sensitivity.single(case[0]).repeated(case[1])
)


def noise_of(kind, scale):
    return LAWS[kind][1](scale)


def priced(noise, sensitivity):
    """What an answer costs in each notion that has a price for it."""
    found = {}
    for notion in Notion:
        try:
            found[notion] = noise.cost(sensitivity, notion)
        except BudgetError:
            continue
    return found


def test_every_mechanism_has_a_law_here():
    assert set(LAWS) == set(NOISES.values())
    assert all(kind == noise.kind for kind, noise in NOISES.items())
    assert len({noise.width_name for noise in NOISES.values()}) == len(NOISES)


# ------------------------------------------------------------------------------------------------- what it costs


@every_noise
@settings(max_examples=50)
@given(amount=amounts, sensitivity=sensitivities)
def test_calibrated_noise_costs_no_more_than_it_was_given_and_hardly_less(kind, amount, sensitivity):
    cost = kind.calibrate(amount, sensitivity).cost(sensitivity, LAWS[kind][0])
    assert amount * (1 - Fraction(1, 10**6)) < cost <= amount


@every_noise
@settings(max_examples=30)
@given(scale=st.fractions(Fraction(1, 10), Fraction(1000)), sensitivity=sensitivities)
def test_wider_noise_costs_less_and_a_larger_sensitivity_more(kind, scale, sensitivity):
    prices = priced(noise_of(kind, scale), sensitivity)
    assert LAWS[kind][0] in prices
    assert min(prices.values()) > 0
    wider, further = (
        priced(noise_of(kind, 2 * scale), sensitivity),
        priced(noise_of(kind, scale), sensitivity.repeated(2)),
    )
    for notion, price in prices.items():
        assert wider[notion] < price < further[notion]


def losses(noise, shift):
    """log P(x) / P(x - shift) and P(x) for all x that matter, by the exact law of a noise."""
    scale = sqrt(noise.mu) if isinstance(noise, Skellam) else float(noise.width)
    reach = int(30 * scale) + 3 * shift + 5
    values = np.arange(-reach, reach + 1)
    probability = LAWS[type(noise)][2]
    here, there = (probability(values - move, scale) for move in (0, shift))
    seen = (here > 1e-280) & (there > 1e-280)
    return np.log(here[seen] / there[seen]), here[seen]


@every_noise
@pytest.mark.parametrize(("scale", "shift"), list(product([Fraction(3, 4), Fraction(4), Fraction(25)], [1, 3])))
def test_no_notion_is_cheaper_than_the_loss_of_privacy(kind, scale, shift):
    """The worst case of one person who moves one cell by `shift`, by the exact probabilities of the noise."""
    noise, sensitivity = noise_of(kind, scale), Sensitivity.single(shift)
    loss, weight = losses(noise, shift)
    for notion, price in priced(noise, sensitivity).items():
        cost = float(price) * (1 + 1e-6)
        match notion:
            case Notion.PURE:
                assert np.abs(loss).max() <= cost
            case Notion.CONCENTRATED | Notion.RENYI:
                for order in (2, 3, 8):
                    assert logsumexp((order - 1) * loss, b=weight) / (order - 1) <= order * cost
            case Notion.GAUSSIAN:
                for epsilon in (0.0, 0.2, 1.0, 4.0):
                    delta = (weight * np.clip(1 - np.exp(epsilon - loss), 0, None)).sum()
                    assert delta <= gaussian_delta(epsilon, sqrt(2 * cost)) + 1e-12


# ------------------------------------------------------------------------------------------------- what it draws


@every_noise
@every_scale
def test_draws_have_the_law_that_is_charged_and_not_one_that_is_30_percent_off(kind, scale):
    probability = LAWS[kind][2]
    assert fit(noise_of(kind, scale).draw(DRAWS, ScriptedEntropy(1)), probability, float(scale)) > 1e-4
    for factor in (Fraction(7, 10), Fraction(13, 10)):
        other = noise_of(kind, scale * factor).draw(DRAWS, ScriptedEntropy(2))
        assert fit(other, probability, float(scale)) < 1e-6


@every_noise
@every_scale
def test_variance_and_mean_absolute_are_those_of_the_draws(kind, scale):
    noise = noise_of(kind, scale)
    draws = noise.draw(DRAWS, ScriptedEntropy(3))
    assert draws.dtype == np.int64
    assert draws.mean() == pytest.approx(0, abs=5 * sqrt(noise.variance / DRAWS))
    assert draws.var() == pytest.approx(noise.variance, rel=0.04)  # five deviations, for the longest tails
    assert np.abs(draws).mean() == pytest.approx(noise.mean_absolute, rel=0.04 if scale > 10 else 0.1)


@every_noise
def test_narrow_noise_still_has_some_variance_and_is_mostly_nothing(kind):
    noise = noise_of(kind, Fraction(1, 100))
    assert 0 < noise.variance < 1e-3
    assert np.mean(noise.draw(1000, ScriptedEntropy(4)) == 0) > 0.99


@every_noise
def test_draws_come_from_the_given_entropy_alone(kind):
    noise = noise_of(kind, Fraction(20))
    first, again, other = (noise.draw(500, ScriptedEntropy(seed)) for seed in (5, 5, 6))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert noise.draw(0, ScriptedEntropy(5)).shape == (0,)


@every_noise
@every_scale
@pytest.mark.parametrize("honest", [1, 2, 5])
def test_shares_add_up_to_the_noise_and_one_share_less_does_not(kind, scale, honest):
    noise, probability = noise_of(kind, scale), LAWS[kind][2]
    if not kind.divisible:
        with pytest.raises(MethodError, match="shares"):
            noise.draw_share(honest, 3, ScriptedEntropy(7))
        return
    shares = [noise.draw_share(honest, DRAWS, ScriptedEntropy(10 + party)) for party in range(honest)]
    assert fit(sum(shares), probability, float(scale)) > 1e-4
    assert fit(sum(shares[1:], np.zeros(DRAWS, dtype=np.int64)), probability, float(scale)) < 1e-6


# ------------------------------------------------------------------------------------------------- as data


@every_noise
@given(scale=st.fractions(Fraction(1, 10), Fraction(1000)), sensitivity=sensitivities)
def test_an_event_comes_back_from_json_as_it_was(kind, scale, sensitivity):
    event = Noisy("table age", noise_of(kind, scale), sensitivity)
    assert event_from_dict(event.to_dict()) == event
    assert all(type(value) is str for value in event.to_dict().values())


@every_noise
@pytest.mark.parametrize("width", [0, -1])
def test_noise_without_width_is_refused(kind, width):
    with pytest.raises(BudgetError):
        kind(Fraction(width))


# ------------------------------------------------------------------------------------------------- choices


@settings(max_examples=30)
@given(amounts, st.integers(1, 10_000), st.sampled_from(Notion))
def test_a_calibrated_choice_costs_no_more_than_it_was_given_and_hardly_less(amount, sensitivity, notion):
    cost = Exponential.calibrate(amount, sensitivity, notion).cost(sensitivity, notion)
    assert amount * (1 - Fraction(1, 10**6)) < cost <= amount


def winners(scores, rate, runs=6_000):
    entropy = ScriptedEntropy(8)
    return np.bincount(
        [Race.draw(len(scores), entropy).winner(scores, rate) for _ in range(runs)], minlength=len(scores)
    )


def test_choices_have_the_law_that_is_charged_and_not_one_that_is_30_percent_off():
    scores, rate = [0, 300, 500, 900], Fraction(1, 400)
    found = winners(scores, rate)
    for factor, fits in [(1.0, True), (0.7, False), (1.3, False)]:
        law = np.exp(float(rate) * factor * np.array(scores))
        pvalue = chisquare(found, law / law.sum() * found.sum()).pvalue
        assert pvalue > 1e-4 if fits else pvalue < 1e-6


@pytest.mark.parametrize("notion", Notion)
def test_no_notion_is_cheaper_than_the_loss_of_a_choice(notion):
    """Scores that one person moves as far apart as it can: half of them up, half of them down."""
    rate, moved = Fraction(1, 10), 4
    before = np.zeros(6)
    after = np.array([moved, moved, moved, -moved, -moved, -moved])
    one, other = (np.exp(float(rate) * scores) for scores in (before, after))
    one, other = one / one.sum(), other / other.sum()
    loss, cost = np.log(one / other), float(Exponential(rate).cost(moved, notion)) * (1 + 1e-9)
    match notion:
        case Notion.PURE:
            assert np.abs(loss).max() <= cost
        case Notion.CONCENTRATED | Notion.RENYI:
            for order in (2, 3, 8, 40):
                assert logsumexp((order - 1) * loss, b=one) / (order - 1) <= order * cost
        case Notion.GAUSSIAN:
            for epsilon in (0.0, 0.1, 0.4, 1.0):
                assert (one * np.clip(1 - np.exp(epsilon - loss), 0, None)).sum() <= gaussian_delta(
                    epsilon, sqrt(2 * cost)
                ) + 1e-12


@given(st.fractions(Fraction(1, 10**9), Fraction(1000)), st.integers(1, 10**9))
def test_a_choice_comes_back_from_json_as_it_was(rate, sensitivity):
    event = Choice("one of 3 sets of parents, by score R", Exponential(rate), sensitivity)
    assert event_from_dict(event.to_dict()) == event


@pytest.mark.parametrize("rate", [0, -1])
def test_a_choice_without_a_rate_is_refused(rate):
    with pytest.raises(BudgetError):
        Exponential(Fraction(rate))
