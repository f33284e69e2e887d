"""What a measured table should be: its noise is shrunk towards what a model says, and its margins are set."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, reduce
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from sfumato.models.nonnegative import norm_sub

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

SPREADS = 10
"""How often both margins of a table are set where not every cell may hold rows."""

SOME = 0.1
"""Rows that are added for each cell of a table to what a model says."""

EM_STEPS = 50
"""Steps of the search for the size of a model's errors; it stops earlier when it no longer moves."""


def shrunken(
    table: Array, prior: Array, variance: float, mix: float = 1.0, allowed: Mask | None = None
) -> tuple[Array, float]:
    """A noisy pair table nearer to its prior, and the variance that is left in a cell.

    Singular values of the difference that stand out of the noise are shrunk as is best for a low-rank signal (Gavish
    and Donoho, 2017); what lies below them is shrunk as a whole (James and Stein). Margins are left alone.

    Args:
        table: the noisy table.
        prior: what a model says.
        variance: of the noise in each cell.
        mix: from the noisy table (0) to the shrunken one (1).
        allowed: the cells that may hold rows, and have noise; all others are empty.
    """
    if allowed is not None:
        # Noise in some of the cells only has singular values as small as less noise in all of them.
        less = variance * float(allowed.mean())
        signal, uncertain = shrunken(np.where(allowed, table, 0), np.where(allowed, prior, 0), less, mix)
        return np.where(allowed, signal, 0), uncertain
    lines, places = table.shape
    gap = table - prior
    margins = gap.mean(1, keepdims=True) + gap.mean(0, keepdims=True) - gap.mean()
    # Tables are small: several threads only wait for each other, on a busy machine for twenty times as long.
    with _algebra().limit(limits=1, user_api="blas"):
        left, singular, right = np.linalg.svd(gap - margins, full_matrices=False)
    a, b, height = lines - 1, places - 1, singular / sqrt(variance)
    above = height > sqrt(a) + sqrt(b)
    keep = np.zeros_like(singular)
    keep[above] = np.sqrt(np.maximum((height[above] ** 2 - a - b) ** 2 - 4 * a * b, 0)) / height[above] ** 2
    rest = np.where(above, 0.0, singular)
    freedom = max((a - above.sum()) * (b - above.sum()), 1)
    stein = max(0.0, 1 - freedom * variance / max(float(rest @ rest), 1e-9))
    found = (left * (singular * keep + rest * stein)) @ right + margins
    used = (1 - mix) * table.size + mix * (keep.sum() * (a + b) + lines + places)
    return prior + mix * found + (1 - mix) * gap, max(variance * min(1.0, used / table.size), 1.0)


def shrunken_cells(table: Array, prior: Array, variance: float, allowed: Mask | None = None) -> tuple[Array, float]:
    """A noisy table over three or more columns nearer to its prior, cell by cell, and the variance that is left.

    Most cells of such a table are empty or nearly so. The model's error in a cell of m rows is taken as normal with
    variance a m. Every cell gets its conditional mean (empirical Bayes); a is what agrees with these means and what
    they leave open, where cells count by their rows and not alike, as they would by maximum likelihood.

    Cells that are not `allowed` are empty. So a cell in which the model has no row can have some, rows are added to
    what it says: `SOME` for each cell, spread as if columns were independent. As many rows in every cell would bend the
    margins of a table that is mostly empty.
    """
    prior = np.maximum(prior, 0)
    prior = prior + SOME * prior.size * _independent(prior)
    if allowed is not None:
        found = np.zeros(table.shape)
        found[allowed], left = _shrunken_cells(table[allowed], prior[allowed], variance)
        return found, left
    return _shrunken_cells(table, prior, variance)


def _shrunken_cells(table: Array, prior: Array, variance: float) -> tuple[Array, float]:
    gap = table - prior
    size = max(0.0, (float((gap**2).sum()) - gap.size * variance) / float(prior.sum()))
    for _ in range(EM_STEPS):
        if size == 0:
            break
        keep = size * prior / (size * prior + variance)
        better = float(((keep * gap) ** 2 + keep * variance).sum()) / float(prior.sum())
        if abs(better - size) < 1e-3 * size:
            break
        size = better
    keep = size * prior / (size * prior + variance)
    return prior + keep * gap, float((keep * variance).mean())


def _independent(table: Array) -> Array:
    """Parts of a whole, with the margins of a table and no dependence; equal parts where it is empty."""
    if not table.any():
        return np.full(table.shape, 1 / table.size)
    margins = [table.sum(tuple(other for other in range(table.ndim) if other != axis)) for axis in range(table.ndim)]
    return np.asarray(reduce(np.multiply.outer, [margin / table.sum() for margin in margins]), dtype=np.float64)


def with_margins(table: Array, margins: Sequence[Array], allowed: Mask | None = None) -> Array:
    """A pair table with the given margins; what is missing is spread evenly.

    Where only some cells are `allowed`, it is spread over these, and the margins are met nearly.
    """
    cells = np.ones(table.shape) if allowed is None else allowed.astype(np.float64)
    for _ in range(1 if allowed is None else SPREADS):
        for axis, margin in enumerate(margins):
            line = np.maximum(cells.sum(1 - axis), 1)
            table = table + np.expand_dims((margin - table.sum(1 - axis)) / line, 1 - axis) * cells
    return table


def raked(table: Array, rows: float, margins: Sequence[Array], allowed: Mask | None = None, sweeps: int = 10) -> Array:
    """A table without negative cells that has nearly these one-way margins, near the given one.

    Cells that are not `allowed` are empty.
    """
    table = norm_sub(table.ravel(), rows, None if allowed is None else allowed.ravel()).reshape(table.shape)
    for _ in range(sweeps):
        for axis, margin in enumerate(margins):
            others = tuple(other for other in range(table.ndim) if other != axis)
            table = table * np.expand_dims(margin / np.maximum(table.sum(others), 1e-9), others)
    return table


@cache
def _algebra() -> ThreadpoolController:
    """The libraries of linear algebra that are loaded; to look for them takes time."""
    return ThreadpoolController()
