"""Is the noise the noise we charge for: the right width is accepted, 30 % less and 30 % more are rejected.

Our own draws come from scripted entropy, so a verdict never changes. OpenDP cannot be scripted; the bounds for it
are so wide that a right sampler fails less than once in 10^7 runs: seven comparisons at 10^-8 each.
"""

from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest

from helpers_entropy import ScriptedEntropy
from helpers_noise import alike, fit, gaussian_probability, laplace_probability
from sfumato.privacy.noise import discrete_laplace, rounded_gaussian

SCALES = [Fraction(3, 10), Fraction(1), Fraction(3), Fraction(20), Fraction(700)]
KINDS = [(discrete_laplace, laplace_probability), (rounded_gaussian, gaussian_probability)]
DRAWS = 400_000
OPENDP_DRAWS = 20_000


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize(("draw", "probability"), KINDS)
def test_draws_fit_their_exact_probabilities(draw, probability, scale):
    assert fit(draw(scale, DRAWS, ScriptedEntropy(1)), probability, float(scale)) > 1e-4


@pytest.mark.parametrize("factor", [Fraction(7, 10), Fraction(13, 10)], ids=str)
@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize(("draw", "probability"), KINDS)
def test_draws_of_another_width_do_not_fit(draw, probability, scale, factor):
    assert fit(draw(scale * factor, DRAWS, ScriptedEntropy(2)), probability, float(scale)) < 1e-6


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(20)], ids=str)
@pytest.mark.parametrize(("draw", "probability"), KINDS)
def test_even_one_percent_of_width_is_noticed(draw, probability, scale):
    draws = draw(scale * 101 / 100, 10 * DRAWS, ScriptedEntropy(3))
    assert fit(draws, probability, float(scale)) < 1e-6


@pytest.mark.parametrize(("draw", "probability"), KINDS)
def test_neighbouring_draws_are_independent(draw, probability):
    draws = draw(Fraction(1), DRAWS, ScriptedEntropy(4)).reshape(-1, 16)
    single = probability(np.arange(-60, 61), 1.0)
    both = np.convolve(single, single)

    def sum_of_two(values, _scale):
        return np.interp(values, np.arange(-120, 121), both, 0, 0)

    for lag in (1, 2, 7):
        assert fit(draws[:, 0] + draws[:, lag], sum_of_two, 1.0) > 1e-4


def opendp_draws(metric, measurement, scale: Fraction) -> np.ndarray:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64"), size=OPENDP_DRAWS), metric
    return np.array((space >> measurement(scale=float(scale)))(np.zeros(OPENDP_DRAWS, dtype=np.int64)))


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_discrete_laplace_is_that_of_opendp(scale):
    theirs = opendp_draws(dp.l1_distance(T="i64"), dp.m.then_laplace, scale)
    assert alike(discrete_laplace(scale, DRAWS, ScriptedEntropy(5)), theirs) > 1e-8
    for factor in (Fraction(7, 10), Fraction(13, 10)):
        assert alike(discrete_laplace(scale * factor, DRAWS, ScriptedEntropy(5)), theirs) < 1e-9


@pytest.mark.parametrize("scale", SCALES[3:], ids=str)
def test_rounded_gaussian_is_that_of_opendp_where_rounding_does_not_show(scale):
    # OpenDP draws the discrete Gaussian. Its variance is 1/12 less, which 20 000 draws cannot see here.
    theirs = opendp_draws(dp.l2_distance(T=float), dp.m.then_gaussian, scale)
    assert alike(rounded_gaussian(scale, DRAWS, ScriptedEntropy(6)), theirs) > 1e-8
    for factor in (Fraction(7, 10), Fraction(13, 10)):
        assert alike(rounded_gaussian(scale * factor, DRAWS, ScriptedEntropy(6)), theirs) < 1e-9
