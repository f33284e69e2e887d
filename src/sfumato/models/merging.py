"""How to merge the codes of a column, from its counts: runs of about equal mass, and the heaviest codes alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FEW = 4
"""A column of at most this many codes is left as it is."""


def merged(counts: Array, ordered: int, most: int, rare: float = 0.0) -> NDArray[np.int64]:
    """From code to bin: about `most` bins, or two more than there are codes without order.

    Never more than `most`, if there is no order. With one, heavy codes cut runs short, which at worst gives twice as
    many and one.

    The first `ordered` codes have an order and are cut into runs of about equal mass, heavy codes alone. Of a column
    without order the heaviest stay alone, and the rest is one bin. No bin has less than `rare` rows where that can be.
    Where a column has an order, its other codes (such as a missing value) stay alone; if these are many, the order is
    given up.
    """
    size = len(counts)
    if size <= FEW:
        return np.arange(size)
    unordered = size - ordered
    if ordered == 0 or unordered > most // 2:
        heavy = np.flatnonzero(counts >= rare)
        if size <= most and size - len(heavy) < 2:
            return np.arange(size)
        heavy = np.sort(heavy[np.argsort(-counts[heavy], kind="stable")[: most - 1]])
        to = np.full(size, len(heavy))
        to[heavy] = np.arange(len(heavy))
        return to
    runs = max(2, most - unordered)
    step = max(_run_mass(counts[:ordered], runs) if ordered > runs else 0.0, rare, 1e-9)
    to, place, mass, fresh = np.zeros(size, dtype=np.int64), 0, 0.0, True
    for code, count in enumerate(counts[:ordered].tolist()):
        if not fresh and (count >= step or mass + count / 2 > step):
            place, mass = place + 1, 0.0
        to[code], mass, fresh = place, mass + count, False
        if count >= step:
            place, mass, fresh = place + 1, 0.0, True
    to[:ordered] = np.unique(to[:ordered], return_inverse=True)[1]
    to[ordered:] = to[:ordered].max() + 1 + np.arange(unordered)
    return to


def _run_mass(counts: Array, runs: int) -> float:
    """The mass of a run: codes that are heavier stand alone, and the others fill the runs that are left."""
    falling = np.sort(counts)[::-1]
    left = np.concatenate([[counts.sum()], counts.sum() - np.cumsum(falling)])  # without the heaviest 0, 1, 2, … codes
    steps = left[:runs] / (runs - np.arange(runs))
    light = np.flatnonzero(falling[:runs] < steps)
    return float(steps[light[0]]) if len(light) else 0.0
