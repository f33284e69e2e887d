"""Noisy histograms of ordered columns, smoothed where neighbours differ by no more than noise."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FEW = 8
"""A histogram of fewer codes is not smoothed: there is next to nothing to average over."""

THRESHOLD = 0.5
"""Of the universal threshold sigma sqrt(2 log N), which is known to be too high for the L2 and L1 error."""


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
