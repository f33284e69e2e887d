"""Scores for a column and a set of parents: how much the parents say about the column, and how far one row moves that.

A score is an integer function of the exact table of counts, one line for each code of the column and one column for
each cell of the parents. The number of rows is private here, so scores are in rows and never divided by it. Proofs of
the bounds: `docs/proofs/choice.md`; tests/privacy/test_scores.py computes the largest change over small tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log, log1p

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import MethodError

GRID = 1024
"""Scores that are not whole numbers are rounded down to multiples of 1/GRID, so integer noise serves them too."""

MOST_ROWS = 1 << 50
"""Scores in units of 1/GRID of tables with fewer rows fit in 64 bits with room for noise."""

MOST_ROWS_OF_INFORMATION = 10**10
"""Up to here the rounding of score I is bounded by half a step (docs/proofs/choice.md)."""

MOST_ROWS_OF_KNAPSACK = 10**8
"""Score F keeps lists of half as many numbers as there are rows."""

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


def independence_difference(counts: Counts) -> int:
    """InDif: the L1 distance between the table and the product of its margins, in rows; exact, then rounded down."""
    rows, distance = _distance_times_rows(counts)
    return distance * GRID // rows


def distance_to_independence(counts: Counts) -> int:
    """R: half the L1 distance between the table and the product of its margins, in rows; exact, then rounded down."""
    rows, distance = _distance_times_rows(counts)
    return distance * GRID // (2 * rows)


def distance_to(counts: Counts, expected: NDArray[np.float64]) -> int:
    """The L1 distance of a table to a public one, in units of 1/GRID; the public one is rounded to the grid first."""
    if counts.shape != expected.shape:
        raise MethodError(f"a table of shape {counts.shape} cannot be compared with one of shape {expected.shape}")
    if not (int(counts.sum()) < MOST_ROWS and float(np.abs(expected).sum()) < MOST_ROWS):
        raise MethodError(f"a table of {MOST_ROWS:,} rows or more was given; scores of that many do not fit in 64 bits")
    return int(np.abs(counts * GRID - np.rint(expected * GRID).astype(np.int64)).sum())


def _distance_times_rows(counts: Counts) -> tuple[int, int]:
    """The number n of rows, and n times the L1 distance between the table and the product of its margins."""
    rows = int(counts.sum())
    if rows == 0:
        return 1, 0
    if rows >= MOST_ROWS:
        raise MethodError(f"a table of {MOST_ROWS:,} rows or more was given; scores of that many do not fit in 64 bits")
    if rows >= 1 << 31:  # a term may be as large as rows², and the sum of all terms twice that: Python's own integers
        counts = counts.astype(object)
    product = np.multiply.outer(counts.sum(axis=1), counts.sum(axis=0))
    return rows, int(np.abs(rows * counts - product).sum())


def information(counts: Counts) -> int:
    """I: the mutual information of all rows together, in units of the most that one further row could bring.

    n I = sum of x log x over all cells, minus the same over both margins, plus n log n. It is divided by
    (n + 1) log (n + 1) - n log n. Without that, one row could move it by as much as log n, and n is private.
    """
    rows = int(counts.sum())
    if rows == 0:
        return 0
    if rows > MOST_ROWS_OF_INFORMATION:
        raise MethodError(
            f"score I was asked for a table of more than {MOST_ROWS_OF_INFORMATION:,} rows, where its rounding is not "
            "bounded; use score R"
        )
    bits = _self_information(counts) - _self_information(counts.sum(axis=0)) - _self_information(counts.sum(axis=1))
    bits += rows * log(rows)
    return floor(max(bits, 0.0) / one_more_row(rows) * GRID)


def one_more_row(rows: int) -> float:
    """(n + 1) log (n + 1) - n log n, in a form in which nothing cancels."""
    return log(rows + 1) + rows * log1p(1 / rows)


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
    if int(counts.sum()) > MOST_ROWS_OF_KNAPSACK:
        raise MethodError(
            f"score F was asked for a table of more than {MOST_ROWS_OF_KNAPSACK:,} rows, for which its list of sums is "
            "too long; use score R"
        )
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
