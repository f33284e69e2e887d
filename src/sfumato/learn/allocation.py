"""Which tables to measure, and how precisely: the error that a table would take away, weighed against its cost.

The model's error in a cell of m rows is taken as normal with variance v = a m, with a such that the expected L1
distance is the one that was measured. A table of precision p (one over its variance), shrunken as is best, takes

    G(p) = k sum over cells [ sqrt(v) - sqrt(v / (1 + v p)) ],    k = sqrt(2 / pi),

off that distance. G is concave, so the best precisions with a given sum are those of one common slope (water-filling);
a table whose slope at 0 is less gets nothing.
"""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

K = sqrt(2 / pi)
STEPS, LOWEST = 64, 2.0**-8
"""Cells are sorted by their counts, in this many steps of sqrt(2) from the lowest on."""

LEVELS = LOWEST * 2.0 ** (np.arange(STEPS) / 2)
POINTS = 48
"""Precisions at which gains are computed, from 1e-5 of all to all."""


def profile(expected: Array) -> Array:
    """How many cells of a table have about which count."""
    place = np.rint(2 * np.log2(np.maximum(expected.ravel(), LOWEST) / LOWEST)).astype(np.int64)
    return np.bincount(np.minimum(place, STEPS - 1), minlength=STEPS).astype(np.float64)


class Gains:
    """What each of several tables would take off the distance, for any part of a budget.

    Args:
        profiles: of the tables the model expects, one line each.
        distances: of the model to each table, in rows.
        worth: a factor for each table.
        precision: of a table that gets the whole budget.
        power: the precision of a part f of the budget is f^power of that: 1 for Gaussian noise, 2 for Laplace noise.
    """

    def __init__(self, profiles: Array, distances: Array, worth: Array, precision: float, power: int):
        root = distances / np.maximum(K * profiles @ np.sqrt(LEVELS), 1e-12)
        variances = np.maximum(root, 0)[:, None] ** 2 * LEVELS
        self.distances = worth * np.maximum(distances, 0)
        self.grid = np.geomspace(1e-5, 1, POINTS)
        gains = np.empty((len(profiles), POINTS))
        for point, part in enumerate(self.grid):
            left = 1 - 1 / np.sqrt(1 + variances * (precision * part**power))
            gains[:, point] = (K * profiles * np.sqrt(variances) * left).sum(axis=1)
        self.gain = worth[:, None] * gains
        self.slope = _falling(np.diff(self.gain, axis=1, prepend=0.0) / np.diff(self.grid, prepend=0.0), self.grid)

    def parts(self, tables: NDArray[np.int64]) -> Array:
        """Parts of the budget that sum to 1, for some tables; 0 for all others."""
        keep = np.zeros(len(self.gain), dtype=np.bool_)
        keep[tables] = True
        slopes = self.slope[keep]
        low, high = (np.log(max(float(bound), 1e-300)) for bound in (slopes.min(), slopes.max()))
        equal: Array = np.where(keep, 1 / keep.sum(), 0.0)
        if not high > low:
            return equal
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if np.where(keep, self._at(middle), 0).sum() > 1 else (low, middle)
        found: Array = np.where(keep, self._at(high), 0.0)
        return found / found.sum() if found.sum() > 0 else equal

    def taken(self, parts: Array) -> Array:
        """The gain of each table for its part."""
        return np.array(
            [np.interp(part, self.grid, line) if part > 0 else 0.0 for part, line in zip(parts, self.gain, strict=True)]
        )

    def _at(self, slope: float) -> Array:
        """The part of each table at which its slope has this logarithm; 0 if it is never so steep."""
        place = (np.log(self.slope + 1e-300) > slope).sum(axis=1)  # slopes fall along the grid
        low, high = np.maximum(place - 1, 0), np.minimum(place, POINTS - 1)
        lines = np.arange(len(self.slope))
        above, below = np.log(self.slope[lines, low] + 1e-300), np.log(self.slope[lines, high] + 1e-300)
        between = np.clip((above - slope) / np.maximum(above - below, 1e-12), 0, 1)
        return np.where(place > 0, self.grid[low] ** (1 - between) * self.grid[high] ** between, 0.0)


def _falling(slopes: Array, grid: Array) -> Array:
    """Slopes that never rise.

    With Laplace noise a small part buys next to nothing: up to the point where it pays best, the mean slope counts.
    """
    mean = np.cumsum(slopes * np.diff(grid, prepend=0.0), axis=1) / grid
    start = np.arange(len(grid)) <= mean.argmax(axis=1)[:, None]
    return np.asarray(np.minimum.accumulate(np.where(start, mean.max(axis=1, keepdims=True), slopes), axis=1))
