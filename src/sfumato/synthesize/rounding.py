"""Turn fractions of rows into whole rows, at random and without bias."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def round_counts(quotas: NDArray[np.float64], total: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Whole numbers with the given total, each next to its share of it and right on average (systematic rounding).

    Deterministic rounding would drop every cell whose quota is below one half; this keeps it in its proportion. Quotas
    that are all zero count as equal.
    """
    if total == 0:
        return np.zeros(len(quotas), dtype=np.int64)
    cumulative = np.cumsum(quotas if quotas.any() else np.ones(len(quotas)), dtype=np.float64)
    edges = np.floor(cumulative / cumulative[-1] * total + rng.random()).astype(np.int64)
    edges[-1] = total
    np.minimum(edges, total, out=edges)
    return np.asarray(np.diff(edges, prepend=0), dtype=np.int64)


def draw_given(
    parent: NDArray[np.integer], conditional: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.uint32]:
    """A child code for every row, with the conditional distribution of its parent cell.

    Rows of one parent cell are put in random order and given equally spaced quantiles, so that child counts are within
    one of what they should be, while nothing ties a row's child to its other columns.

    Args:
        parent: the parent cell of each row.
        conditional: one row of child probabilities for each parent cell; each row sums to one.
        rng: randomness of the synthesis.
    """
    order = np.lexsort((rng.random(len(parent)), parent))
    counts = np.bincount(parent, minlength=len(conditional))
    start = np.cumsum(counts) - counts
    cell = parent[order].astype(np.int64)
    quantile = (np.arange(len(parent)) - start[cell] + rng.random(len(conditional))[cell]) / counts[cell]
    steps = np.cumsum(conditional, axis=1)
    steps[:, -1] = 1.0
    thresholds = (np.arange(len(conditional))[:, None] + steps).ravel()
    found = np.searchsorted(thresholds, cell + quantile, side="right") - cell * conditional.shape[1]
    child = np.empty(len(parent), dtype=np.uint32)
    child[order] = np.clip(found, 0, conditional.shape[1] - 1)
    return child
