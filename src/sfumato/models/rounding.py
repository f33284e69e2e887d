"""Turn fractions of rows into whole rows, at random and without bias."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato import kernels


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

    Within each parent cell the child counts are within one of what they should be: they are rounded at random and
    without bias, and dealt to the rows in random order, so nothing ties a row's child to its other columns. An
    impossible child (probability 0) gets no row.

    Args:
        parent: the parent cell of each row.
        conditional: one line of weights of child codes for each parent cell; a cell that has rows has some weight.
        rng: randomness of the synthesis.
    """
    rows = np.bincount(parent, minlength=len(conditional))[:, None]
    steps = np.cumsum(conditional, axis=1)
    # Divided by itself, the last step is exactly 1: no row can fall behind it, into cells that must stay empty.
    steps = np.divide(steps, steps[:, -1:], out=np.ones_like(steps), where=steps[:, -1:] > 0)
    edges = np.floor(steps * rows + rng.random(rows.shape)).astype(np.int64)
    counts = np.diff(np.minimum(edges, rows), axis=1, prepend=0)
    return kernels.deal(parent, counts, rng)
