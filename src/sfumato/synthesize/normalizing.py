"""Consistency-aware normalization (DPView, IV-E3): whole counts with one total, on which neighbouring views agree."""

from __future__ import annotations

from functools import reduce
from itertools import zip_longest
from math import log, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.data.constraints import Constraints
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.data.selection import Chain
from sfumato.models.rounding import round_counts

Counts = NDArray[np.int64]
Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

EMPTY = 1e-9
"""A slice of a table with fewer rows than this has none: what is left is rounding error."""


def path(chain: Chain) -> tuple[Clique, ...]:
    """The views in the order in which they are linked: b1, c1, b2, c2, …; upper cross views take no part."""
    return tuple(view for pair in zip_longest(chain.base, chain.cross) for view in pair if view is not None)


def normalize(
    marginals: Marginals, chain: Chain, rows: int, rng: np.random.Generator, confidence: float = 0.95
) -> tuple[Marginal, ...]:
    """The views along the path of a chain as whole counts that sum to `rows`; neighbours agree exactly.

    The most concentrated view is rounded first, and every other view is made to agree with its neighbour that was done
    before. On a path each view has one such neighbour, so nothing that is decided is ever touched again.
    """
    views = path(chain)
    if not views:
        return ()
    first = initial_view(marginals, views, confidence)
    zeros = marginals.constraints or Constraints(marginals.domain)
    start = Marginal(Domain({}), np.array(rows))
    whole = {first: conform(marginals.project(views[first]), start, rng, zeros.allowed(views[first]))}
    rightward = [(here, here + 1) for here in range(first, len(views) - 1)]
    leftward = [(here, here - 1) for here in range(first, 0, -1)]
    for here, there in rightward + leftward:
        shared = tuple(name for name in views[there] if name in views[here])
        fixed = whole[here].project(shared)
        whole[there] = conform(marginals.project(views[there]), fixed, rng, zeros.allowed(views[there]))
    return tuple(whole[place] for place in range(len(views)))


def initial_view(marginals: Marginals, views: tuple[Clique, ...], confidence: float) -> int:
    """The place of the view with the highest concentration; the first of several."""
    scales = dict(zip(map(frozenset, marginals.cliques), marginals.scales, strict=False))
    found = [concentration(marginals.project(view), scales.get(frozenset(view), 0.0), confidence) for view in views]
    return int(np.argmax(found))


def concentration(table: Marginal, scale: float, confidence: float) -> float:
    """The sum of the counts above rho = -ln(1 - confidence) / epsilon.

    Laplace noise lies within rho of 0 with that confidence, so counts above it are likely to be more than noise.

    Args:
        table: the counts.
        scale: the standard deviation of the noise in a cell, which is sqrt(2) / epsilon.
        confidence: gamma in the paper.
    """
    rho = -log(1 - confidence) * scale / sqrt(2)
    return float(table.counts[table.counts > rho].sum())


def conform(view: Marginal, fixed: Marginal, rng: np.random.Generator, allowed: Mask | None = None) -> Marginal:
    """The view as whole counts whose marginal over the columns of `fixed` is `fixed`.

    Each slice of the view (one value of the fixed columns) is scaled to its fixed count and rounded by largest
    remainders. A slice that is empty but has rows to take gets them from the product of the one-way tables of the
    view's other columns, in cells that are `allowed`, if any of the slice is.
    """
    other = tuple(name for name in view.clique if name not in fixed.clique)
    ordered = view.project((*fixed.clique, *other))
    slices = np.maximum(ordered.counts, 0).astype(np.float64).reshape(fixed.counts.size, -1)
    totals = fixed.counts.ravel().astype(np.int64)
    sums = slices.sum(axis=1)
    filled = sums > EMPTY
    whole = np.zeros(slices.shape, dtype=np.int64)
    shares = slices[filled] * (totals[filled] / sums[filled])[:, None]
    whole[filled] = largest_remainder(shares, totals[filled], rng)
    product, lines = _product(view, other), None
    if allowed is not None:
        lines = allowed.transpose([view.clique.index(name) for name in ordered.clique]).reshape(slices.shape)
    for empty in np.flatnonzero(~filled & (totals > 0)):
        left = product if lines is None or not (product * lines[empty]).any() else product * lines[empty]
        whole[empty] = round_counts(left, int(totals[empty]), rng)
    return Marginal(ordered.domain, whole.reshape(ordered.domain.shape)).project(view.clique)


def largest_remainder(values: Array, totals: ArrayLike, rng: np.random.Generator) -> Counts:
    """Whole numbers with the given total: integer parts, and one more where the decimal parts are largest.

    Ties (decimal parts that differ by less than a billionth) are broken at random. Works along the last axis.

    >>> largest_remainder(np.array([0.4, 3.3, 1.3]), 5, np.random.default_rng())
    array([1, 3, 1])

    Args:
        values: what to round, not negative; their sum should be near the total.
        totals: the total of each row of values.
        rng: breaks ties.
    """
    whole = np.floor(values)
    priority = np.rint((values - whole) * 1e9) + rng.random(values.shape)
    counts = whole.astype(np.int64)
    missing = np.asarray(totals, dtype=np.int64) - counts.sum(axis=-1)
    every, some = np.divmod(missing, values.shape[-1])
    rank = np.argsort(np.argsort(-priority, axis=-1), axis=-1)
    counts += every[..., None] + (rank < some[..., None])
    return counts


def _product(view: Marginal, names: Clique) -> Array:
    """The product of the one-way tables over `names`, as probabilities; a table without rows counts as uniform."""
    factors = [np.ones(1)]
    for name in names:
        counts = np.maximum(view.project((name,)).counts, 0).astype(np.float64)
        factors.append(counts / counts.sum() if counts.sum() > EMPTY else np.full(len(counts), 1 / len(counts)))
    return reduce(lambda left, right: np.multiply.outer(left, right).ravel(), factors)
