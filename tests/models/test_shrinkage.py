"""Shrunken tables: nothing is made of noise, signal stays, margins stay."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from sfumato.models.shrinkage import raked, shrunken, shrunken_cells, with_margins


@given(st.integers(0, 2**32), st.integers(2, 12), st.integers(2, 12), st.floats(0.5, 50))
@settings(max_examples=50, deadline=None)
def test_a_shrunken_table_lies_between_and_keeps_its_margins(seed, lines, places, sigma):
    rng = np.random.default_rng(seed)
    prior = 100 * rng.random((lines, places))
    table = prior + sigma * rng.standard_normal((lines, places))
    found, left = shrunken(table, prior, sigma**2)
    np.testing.assert_allclose(found.sum(0), table.sum(0), atol=1e-6)
    np.testing.assert_allclose(found.sum(1), table.sum(1), atol=1e-6)
    assert np.linalg.norm(found - prior) <= np.linalg.norm(table - prior) * (1 + 1e-9)
    assert 0 < left <= max(sigma**2, 1) * (1 + 1e-9)
    np.testing.assert_allclose(shrunken(table, prior, sigma**2, mix=0.0)[0], table)


def test_one_thread_decomposes_a_table(monkeypatch):
    """Several would wait for each other, and all of them take time."""
    threads, svd = [], np.linalg.svd

    def noted(*given, **options):
        threads.extend(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
        return svd(*given, **options)

    monkeypatch.setattr(np.linalg, "svd", noted)
    shrunken(np.eye(3), np.ones((3, 3)), 1.0)
    assert set(threads) <= {1}


def test_noise_goes_and_signal_stays():
    rng = np.random.default_rng(0)
    prior = np.full((20, 20), 50.0)
    signal = 40 * np.outer(np.sin(np.arange(20)), np.cos(np.arange(20)))
    noise = 10 * rng.standard_normal((20, 20))
    better = shrunken(prior + signal + noise, prior, 100.0)[0] - prior - signal
    assert np.abs(better).mean() < 0.6 * np.abs(noise).mean()
    assert np.abs(shrunken(prior + noise, prior, 100.0)[0] - prior).mean() < 0.55 * np.abs(noise).mean()


def test_cells_of_large_tables_are_shrunk_one_by_one():
    rng = np.random.default_rng(1)
    prior = np.where(rng.random((6, 7, 8)) < 0.2, 200.0, 0.5)
    real = prior * np.exp(0.3 * rng.standard_normal(prior.shape))
    table = real + 10 * rng.standard_normal(prior.shape)
    found, left = shrunken_cells(table, prior, 100.0)
    assert np.abs(found - real).sum() < min(np.abs(table - real).sum(), np.abs(prior - real).sum())
    assert 0 <= left <= 100
    same, nothing = shrunken_cells(prior, prior, 100.0)
    assert np.abs(same - prior).sum() < 0.1001 * prior.size
    assert nothing == 0


def test_rows_added_to_a_table_that_is_mostly_empty_leave_its_margins():
    prior = np.zeros((2,) * 10)
    prior[(0,) * 10] = 900
    for axis in range(10):
        prior[tuple(int(axis == other) for other in range(10))] = 10
    found, _ = shrunken_cells(prior, prior, 100.0)
    for axis in range(10):
        rare = found.sum(tuple(other for other in range(10) if other != axis))[1] / found.sum()
        assert rare == pytest.approx(0.01)  # as many rows in every cell would make it 0.06
    empty = np.zeros((3, 3, 3))
    np.testing.assert_allclose(shrunken_cells(empty, empty, 100.0)[0], 0.1)


@given(st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_margins_are_set(seed):
    rng = np.random.default_rng(seed)
    margins = [rng.random(4) + 0.1, rng.random(5) + 0.1]
    margins = [1000 * one / one.sum() for one in margins]
    table = rng.normal(50, 30, (4, 5))
    for axis, wanted in enumerate(margins):
        np.testing.assert_allclose(with_margins(table, margins).sum(1 - axis), wanted)
    found = raked(table, 1000.0, margins)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1000)
