"""Levels: what is measured, what it costs, and how bins follow from noise."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers_auto import records_of, schema_of
from helpers_entropy import ScriptedEntropy
from helpers_holders import holder_of
from sfumato.encode.smoothing import deconvolved, smoothed
from sfumato.encode.supported_levels import SupportedLevels
from sfumato.models.nonnegative import norm_sub
from sfumato.privacy.budget import ApproxDP, PureDP

COLUMNS = {"age": 200, "a": 30, "b": 3}


def encoded(columns=COLUMNS, rows=5000, budget=None, **more):
    records = records_of(columns, rows)
    holder, ledger = holder_of(records, budget or ApproxDP(1, "1e-9"), entropy=ScriptedEntropy())
    share = ledger.budget.total.part(Fraction(1, 2))
    found = SupportedLevels()(holder, schema_of(columns, **more), share)
    return found, ledger, share


@pytest.mark.parametrize("budget", [ApproxDP("0.01", "1e-9"), ApproxDP(5, "1e-9"), PureDP(1)], ids=str)
@pytest.mark.parametrize("rows", [0, 1, 5000])
def test_it_never_spends_more_than_its_share_and_weights_split_every_bin(budget, rows):
    found, ledger, share = encoded(rows=rows, budget=budget)
    spent = ledger.budget.total.amount - ledger.left
    assert share.amount * Fraction(20, 101) < spent <= share.amount
    assert [one.clique for one in found.tables] == [(), ("age",), ("a",), ("b",)]
    for merging, size in zip(found.recoding.mergings, COLUMNS.values(), strict=True):
        assert len(merging.to) == size
        assert (merging.weight > 0).all()
    assert found.recoding.domain["b"] == 3


def test_more_noise_makes_fewer_bins():
    sizes = [encoded(budget=ApproxDP(epsilon, "1e-9"))[0].recoding.domain["age"] for epsilon in ("0.05", "1", "20")]
    assert sizes[0] < sizes[1] < sizes[2]


@given(st.floats(1, 1e7), st.floats(0.1, 1e4), st.integers(2, 300), st.booleans())
def test_bins_are_bounded(rows, noise, columns, ordered):
    most = SupportedLevels().most_bins(rows, noise, columns, ordered)
    assert 4 <= most <= 512
    assert most <= max(4, (200_000_000 / (columns * (columns - 1) / 2)) ** 0.5)
    assert most <= SupportedLevels().most_bins(10 * rows, noise, columns, ordered)
    assert most <= SupportedLevels().most_bins(rows, noise, columns, ordered=False)


def test_a_single_column_is_not_merged():
    found, _, _ = encoded({"age": 500}, rows=100, budget=ApproxDP("0.1", "1e-9"))
    assert found.recoding.domain["age"] == 500


@given(arrays(np.float64, st.integers(1, 100), elements=st.floats(-1e4, 1e4)), st.floats(0.1, 1e3))
@settings(max_examples=50, deadline=None)
def test_smoothing_without_noise_changes_nothing_and_keeps_the_length(noisy, sigma):
    assert smoothed(noisy, sigma).shape == noisy.shape
    np.testing.assert_allclose(smoothed(noisy, 1e-9), noisy, atol=1e-3)


def test_smoothing_takes_noise_away_and_leaves_steps():
    rng = np.random.default_rng(0)
    real = np.repeat([100.0, 400.0, 50.0, 250.0], 32)
    noise = 20 * rng.standard_normal(len(real))
    assert np.abs(smoothed(real + noise, 20.0) - real).mean() < 0.6 * np.abs(noise).mean()


@given(arrays(np.float64, st.integers(0, 200), elements=st.floats(-1e4, 1e4)), st.floats(0.1, 1e3), st.booleans())
@settings(max_examples=50, deadline=None)
def test_deconvolving_keeps_the_order_of_codes_and_what_stands_out(noisy, sigma, laplace):
    """More rows seen never means fewer expected: both kinds of noise have monotone likelihood ratios."""
    found = deconvolved(noisy, sigma, laplace=laplace)
    if len(noisy) < 32:
        assert found is noisy
        return
    heavy = noisy >= 5 * sigma
    assert np.array_equal(found[heavy], noisy[heavy])
    assert (found[~heavy] >= 0).all()
    assert (found[~heavy] <= 6 * sigma).all()
    assert (np.diff(found[~heavy][np.argsort(noisy[~heavy])]) >= -1e-9 * sigma).all()


@pytest.mark.parametrize("laplace", [False, True])
def test_deconvolving_takes_noise_off_many_codes_of_few_rows(laplace):
    """500 codes of 3 rows, or of none, and ten of 1,000: with noise of 20 the likeliest is that most have few."""
    rng = np.random.default_rng(0)
    real = np.concatenate([np.full(500, 3.0), np.zeros(500), np.full(10, 1000.0)])
    noise = rng.laplace(0, 20 / 2**0.5, len(real)) if laplace else rng.normal(0, 20, len(real))
    noisy = real + noise
    before, right, wrong = (
        np.abs(norm_sub(counts, real.sum()) - real).sum()
        for counts in (noisy, *(deconvolved(noisy, 20.0, laplace=told) for told in (laplace, not laplace)))
    )
    assert right < 0.65 * before
    assert right < 0.9 * wrong


def test_deconvolving_leaves_codes_apart_that_noise_leaves_apart():
    """Half of the codes have 0 and half 4 sigma: their means are what they are, not one in between."""
    rng = np.random.default_rng(1)
    real = np.repeat([0.0, 400.0], 400)
    found = deconvolved(real + rng.normal(0, 100, len(real)), 100.0)
    assert np.abs(found - real).mean() < 0.5 * 100 * (2 / np.pi) ** 0.5
