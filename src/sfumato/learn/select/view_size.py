"""How many columns a view should have: the guideline of DPView, section IV-C7, made precise.

The paper asks that a hypothetical table of d columns, shaped like a standard Gaussian, stand out from its noise. Our
reading: every column has D^(1/m) codes, where D is the product of the m sizes, rounded to a whole number k, which cut
the range of plus and minus three standard deviations into cells of equal width. A table of d columns is a product of d
such columns; it has k^d cells, about D^(d/m). Laplace noise stays within rho = scale · ln(1 / (1 − gamma)) with
probability gamma, where the budget is shared equally by all views that d columns need. The size is the largest d for
which at least a part tau of the rows lies in cells that hold more than rho of n rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp, floor, log
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.select.chains import Layout

CONFIDENCE = 0.95
"""Gamma: how likely noise stays within rho."""
VISIBLE = 0.5
"""Tau: the part of the rows that must lie in cells above the noise."""
RANGE = 3.0
"""Half the width of the range of a column, in standard deviations."""
STEP = 1 / 512
"""Logarithms of cell probabilities are rounded to multiples of this."""


def view_size(sizes: Sequence[int], scale: float, rows: int, upper: bool = False) -> int:
    """The largest number of columns for which a typical view stands out from its noise; 2 if there is none.

    Args:
        sizes: the sizes of all columns.
        scale: the scale that Laplace noise would have if one table were measured with the whole budget.
        rows: a public guess of the number of rows; a wrong one costs accuracy, not privacy.
        upper: whether upper cross views share the budget too.
    """
    most = len(sizes)
    codes = round(exp(fmean(map(log, sizes)))) if sizes else 1
    best = 2
    for width, table in enumerate(_gaussian_tables(codes, most), start=1):
        if _mass_above(table, _noise(scale, 1) / rows) < VISIBLE:
            break  # Not even with the whole budget; more columns only make cells smaller.
        if _mass_above(table, _noise(scale, Layout(most, width).views(upper)) / rows) >= VISIBLE:
            best = max(best, width)
    return min(best, most)


def visible(codes: int, columns: int, threshold: float) -> float:
    """The part of a Gaussian table, over columns of this many codes, that lies in cells of at least `threshold`."""
    *_, table = _gaussian_tables(codes, columns)
    return _mass_above(table, threshold)


def _noise(scale: float, views: int) -> float:
    """Rho: the noise of one of this many views that share the budget equally."""
    return -log(1 - CONFIDENCE) * scale * views


def _mass_above(table: NDArray[np.float64], threshold: float) -> float:
    return float(table[: max(floor(-log(threshold) / STEP) + 1, 0)].sum())


def _gaussian_tables(codes: int, most: int) -> Iterator[NDArray[np.float64]]:
    """For 1, 2, … `most` columns: the mass of all cells whose probability is exp(-STEP · place), for every place."""
    from scipy.special import ndtr  # on demand: it takes as long to load as a small run

    edges = ndtr(np.linspace(-RANGE, RANGE, codes + 1))
    cells = np.diff(edges) / (edges[-1] - edges[0])
    column = np.bincount(np.rint(-np.log(cells) / STEP).astype(np.int64), weights=cells)
    table = np.ones(1)
    for _ in range(most):
        table = np.convolve(table, column)
        yield table
