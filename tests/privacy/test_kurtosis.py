"""The excess kurtosis that mechanisms state is that of their law."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import skellam

from sfumato.privacy.mechanisms import Gaussian, Laplace, Skellam


@pytest.mark.parametrize("scale", ["0.3", "1", "7/2", "40"])
def test_discrete_laplace(scale):
    numbers = np.arange(-2_000, 2_001, dtype=float)
    law = np.exp(-np.abs(numbers) / float(Fraction(scale)))
    law /= law.sum()
    variance = (law * numbers**2).sum()
    excess = (law * numbers**4).sum() / variance**2 - 3
    assert Laplace(Fraction(scale)).excess_kurtosis == pytest.approx(excess, rel=1e-6)


def test_skellam_and_gaussian():
    assert Skellam(Fraction(5)).excess_kurtosis == pytest.approx(float(skellam.stats(2.5, 2.5, moments="k")))
    assert Gaussian(Fraction(5)).excess_kurtosis == 0
