"""Conditional distributions that constraints have cut, with the margin that they had before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

Ruling = Sequence[tuple[NDArray[np.int64], NDArray[np.bool_]]]
"""For each constraint, a number for each row, and which codes may follow each number."""

FITTING = 30
"""Steps of proportional fitting where constraints cut the lines of a column."""


def allowed_lines(parent: NDArray[np.int64], lines: Array, ruling: Ruling) -> tuple[NDArray[np.int64], Array]:
    """Parent cells and their lines of probabilities, where a row gets none of the codes that are not allowed to it.

    Args:
        parent: the parent cell of each row.
        lines: probabilities of codes, one line for each parent cell.
        ruling: for each constraint, a number for each row, and which codes each number leaves.
    """
    for number, allowed in ruling:
        if allowed.all():
            continue
        cells, parent = np.unique(parent * len(allowed) + number, return_inverse=True)
        before, left = lines[cells // len(allowed)], allowed[cells % len(allowed)]
        kept = np.where(left, before, 0.0)
        # Where nothing that is allowed has a share, all of it has; where nothing is allowed, the last redraw helps.
        kept = np.where(kept.sum(axis=1, keepdims=True) > 0, kept, left)
        kept = np.where(kept.sum(axis=1, keepdims=True) > 0, kept, before)
        rows = np.bincount(parent, minlength=len(kept))[:, None]
        lines = _with_margin(kept, rows, (before * rows).sum(axis=0))
    return parent, lines


def _with_margin(lines: Array, rows: NDArray[np.int64], wanted: Array) -> Array:
    """Lines of probabilities in the same proportions, scaled by code: all rows together have `wanted` of each code.

    What is not allowed to some rows is so made up for by others. Proportional fitting, as far as it goes in few steps.
    """
    for _ in range(FITTING):
        lines = lines / lines.sum(axis=1, keepdims=True)
        found = (lines * rows).sum(axis=0)
        factors = np.divide(wanted, found, out=np.ones_like(found), where=found > 0)
        scaled = lines * np.where(factors > 0, factors, 1e-9)
        lines = np.where(scaled.sum(axis=1, keepdims=True) > 0, scaled, lines)
    return lines
