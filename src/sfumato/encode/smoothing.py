"""Noisy single columns: smoothed where they have an order, and else what all codes say about each."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FEW = 8
"""A histogram of fewer codes is not smoothed: there is next to nothing to average over."""

THRESHOLD = 0.5
"""Of the universal threshold sigma sqrt(2 log N), which is known to be too high for the L2 and L1 error."""

MANY = 32
"""Fewer codes than this do not tell how many rows codes have."""

FAR, ROUND, STEPS = 5.0, 0.05, 100
"""A count of this many sigma stands out; counts are rounded to this part of one; and steps to the likeliest."""

POSSIBLE = np.arange(0, FAR + 1, 0.25)
"""What a code may have, in sigma."""


def smoothed(noisy: Array, sigma: float) -> Array:
    """Translation-invariant Haar wavelets with the non-negative garrote, the histogram mirrored at its ends.

    Args:
        noisy: the counts, in order.
        sigma: standard deviation of the noise in each.
    """
    if len(noisy) < FEW:
        return noisy
    levels = int(np.ceil(np.log2(len(noisy))))
    size = 1 << levels
    mean = np.resize(np.concatenate([noisy, noisy[::-1]]), 2 * size).astype(np.float64)
    details = []
    for level in range(levels):
        other = np.roll(mean, -(1 << level))
        sigma /= sqrt(2)
        details.append(((mean - other) / 2, (THRESHOLD * sigma) ** 2 * 2 * log(size)))
        mean = (mean + other) / 2
    for level, (detail, threshold) in reversed(list(enumerate(details))):
        kept = detail * np.maximum(1 - threshold / np.maximum(detail**2, 1e-30), 0)
        mean = ((mean + kept) + np.roll(mean - kept, 1 << level)) / 2
    return mean[: len(noisy)]


def deconvolved(noisy: Array, sigma: float, *, laplace: bool = False) -> Array:
    """What each code has, by its own count and by how many codes have about that many (empirical Bayes).

    Most codes of a column with many have few rows or none, and of these only the noisy counts above 0 would stay. How
    many rows codes have is estimated from all noisy counts together, the likeliest distribution by expectation and
    maximisation (Kiefer and Wolfowitz); each code then has its expected count. The order of counts stays, and so do
    those that stand out of the noise. Codes have no order here: what a neighbour has says nothing.

    Args:
        noisy: the counts.
        sigma: standard deviation of the noise in each.
        laplace: whether that is Laplace noise, and not Gaussian.
    """
    if len(noisy) < MANY:
        return noisy
    small = noisy < FAR * sigma
    seen, place, times = np.unique(np.rint(noisy[small] / (sigma * ROUND)), return_inverse=True, return_counts=True)
    away = np.abs(seen[:, None] * ROUND - POSSIBLE)
    loss = sqrt(2) * away if laplace else away**2 / 2
    likelihood = np.exp(loss.min(axis=1, keepdims=True) - loss)
    prior = np.full(len(POSSIBLE), 1 / len(POSSIBLE))
    for _ in range(STEPS):
        given = likelihood * prior
        given /= given.sum(axis=1, keepdims=True)
        prior = times @ given / max(times.sum(), 1)
    found = noisy.copy()
    found[small] = sigma * (given @ POSSIBLE)[place]
    return found
