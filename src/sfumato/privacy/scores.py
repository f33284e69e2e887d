"""Scores for a column and a set of parents: how much the parents say about the column, and how far one row moves that.

A score is an integer function of the exact table of counts, one line for each code of the column and one column for
each cell of the parents. The number of rows is private here, so scores are in rows and never divided by it. Proofs of
the bounds: `docs/proofs/choice.md`; tests/privacy/test_scores.py computes the largest change over small tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import MethodError

GRID = 1024
"""Scores that are not whole numbers are rounded down to multiples of 1/GRID, so that integer noise serves them too."""

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Score:
    """A score, and how far it can move.

    Args:
        of: the score of a table, in units of 1/GRID.
        added: the most that one row, added or removed, moves the exact score.
        replaced: the most that one row, exchanged for another, moves the exact score.
        rounding: the most, in units of 1/GRID, that rounding adds to the difference of two scores.
        binary: whether it is defined for columns of two codes only.
    """

    name: str
    of: Callable[[Counts], int]
    added: Fraction
    replaced: Fraction
    rounding: int
    binary: bool = False

    def sensitivity(self, rows: int, replace: bool) -> int:
        """Units of 1/GRID by which a person with at most `rows` rows, added, removed or replaced, moves the score.

        A person who is replaced by one with fewer rows is some rows exchanged and some removed, at most `rows` in all.
        """
        each = max(self.added, self.replaced) if replace else self.added
        return ceil(rows * each * GRID) + self.rounding


def distance_to_independence(counts: Counts) -> int:
    """R: half the L1 distance between the table and the product of its margins, in rows; exact, then rounded down."""
    rows = int(counts.sum())
    if rows == 0:
        return 0
    product = np.multiply.outer(counts.sum(axis=1), counts.sum(axis=0))
    if rows < 1 << 31:  # no term, and no sum of all of them, is above 2 rows² < 2^63
        distance = int(np.abs(rows * counts - product).sum())
    else:
        distance = int(np.abs(rows * counts.astype(object) - product.astype(object)).sum())
    return distance * GRID // (2 * rows)


def information(counts: Counts) -> int:
    """I: the mutual information of all rows together, in units of the most that one further row could bring.

    n I = sum of x log x over all cells, minus the same over both margins, plus n log n. It is divided by
    (n + 1) log (n + 1) - n log n. Without that, one row could move it by as much as log n, and n is private.
    """
    rows = int(counts.sum())
    if rows == 0:
        return 0
    bits = _self_information(counts) - _self_information(counts.sum(axis=0)) - _self_information(counts.sum(axis=1))
    bits += rows * log(rows)
    return floor(max(bits, 0.0) / ((rows + 1) * log(rows + 1) - rows * log(rows)) * GRID)


def _self_information(counts: Counts) -> float:
    positive = counts[counts > 0].astype(np.float64)
    return float((positive * np.log(positive)).sum())


def near_to_function(counts: Counts) -> int:
    """F: minus half the L1 distance to the nearest table in which the parents determine a balanced binary column.

    Every cell of the parents is given to one of the two codes. With K_0 and K_1 rows that agree, the distance is
    (n/2 - K_0)^+ + (n/2 - K_1)^+; a knapsack finds the gifts that make it least.
    """
    if counts.shape[0] != 2:
        raise MethodError(f"score F wants columns of 2 codes; one has {counts.shape[0]}; use score R")
    half = -(-int(counts.sum()) // 2)
    most = np.full(half + 1, -1, dtype=np.int64)  # by K_0, cut at n/2 (more is of no use): the largest K_1
    most[0] = 0
    for zero, one in zip(counts[0].tolist(), counts[1].tolist(), strict=True):
        if zero == 0:
            most[most >= 0] += one
            continue
        kept = np.where(most >= 0, most + one, -1)
        moved = np.full_like(most, -1)
        if zero <= half:
            moved[zero:] = most[: half + 1 - zero]
        moved[half] = max(int(moved[half]), int(most[max(half - zero, 0) :].max()))
        most = np.maximum(kept, moved)
    reached = np.flatnonzero(most >= 0)
    rows = int(counts.sum())
    lack = np.maximum(rows - 2 * reached, 0) + np.maximum(rows - 2 * most[reached], 0)
    return -int(lack.min()) * GRID // 2


SCORES = {
    score.name: score
    for score in (
        Score("R", distance_to_independence, Fraction(2), Fraction(17, 5), rounding=1),
        Score("I", information, Fraction(5, 4), Fraction(5, 2), rounding=2),
        Score("F", near_to_function, Fraction(1), Fraction(1), rounding=0, binary=True),
    )
}


def score_named(name: str) -> Score:
    """The score of that name; an unknown name is an error that lists the known ones."""
    if name not in SCORES:
        raise MethodError(f"score {name!r} is unknown; known scores are {', '.join(SCORES)}")
    return SCORES[name]
