"""What noise should look like: exact probabilities, and a test of draws against them."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import chi2, chi2_contingency


def laplace_probability(values: NDArray[np.int64], scale: float) -> NDArray[np.float64]:
    """P(x) of the discrete Laplace."""
    return np.tanh(1 / (2 * scale)) * np.exp(-np.abs(values) / scale)


def gaussian_probability(values: NDArray[np.int64], sigma: float) -> NDArray[np.float64]:
    """P(x) of the rounded Gaussian, from the lower tail, where differences keep their accuracy."""
    distance = np.abs(values)
    return ndtr((0.5 - distance) / sigma) - ndtr((-0.5 - distance) / sigma)


def fit(draws: NDArray[np.int64], probability, scale: float) -> float:
    """The chi-square p-value of draws against exact probabilities; no bar expects fewer than 10 draws."""
    reach = int(np.ceil(45 * scale)) + 3
    width = max(1, int(scale / 8))  # wide scales are compared in bars
    values = np.arange(-reach, reach + 1)
    bars = (values + reach) // width
    expected = np.bincount(bars, weights=probability(values, scale)) * draws.size
    observed = np.bincount((np.clip(draws, -reach, reach) + reach) // width, minlength=expected.size)
    kept = expected >= 10
    observed = np.append(observed[kept], observed[~kept].sum())
    expected = np.append(expected[kept], draws.size - expected[kept].sum())
    if expected[-1] < 1e-6 * draws.size and observed[-1] == 0:
        observed, expected = observed[:-1], expected[:-1]
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), expected.size - 1))


def alike(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """The chi-square p-value of two sets of draws from one distribution, in 40 bars of like weight."""
    pooled = np.sort(np.concatenate([first, second]))
    edges = np.unique(pooled[np.linspace(0, pooled.size - 1, 41).astype(int)])
    edges = np.append(edges, edges[-1] + 1)
    table = np.array([np.histogram(draws, bins=edges)[0] for draws in (first, second)])
    return float(chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue)
