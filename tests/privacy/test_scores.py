"""Scores against their definitions, and their sensitivities over all small tables and neighbours."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sfumato.errors import MethodError
from sfumato.privacy.scores import (
    GRID,
    SCORES,
    distance_to_independence,
    independence_difference,
    information,
    near_to_function,
    one_more_row,
    score_named,
)

SHAPES = [(2, 2), (2, 3), (3, 2), (2, 4), (3, 3)]
MOST_ROWS = {(2, 2): 7, (2, 3): 6, (3, 2): 6, (2, 4): 5, (3, 3): 5}
APPLIES = [(name, shape) for name in SCORES for shape in SHAPES if name != "F" or shape[0] == 2]


def counts_of(table, shape):
    counts = np.zeros(shape, dtype=np.int64)
    for cell in table:
        counts[cell] += 1
    return counts


def every_score(score, shape, most):
    cells = list(product(*map(range, shape)))
    return {
        table: score.of(counts_of(table, shape))
        for rows in range(most + 1)
        for table in combinations_with_replacement(cells, rows)
    }


def neighbours(memo, shape, rows, replace, most):
    """Pairs of a table and all its neighbours; a person may also have fewer rows than `rows`."""
    cells = list(product(*map(range, shape)))
    people = [person for k in range(rows + 1) for person in combinations_with_replacement(cells, k)]
    pairs = list(combinations(people, 2)) if replace else [((), person) for person in people if person]
    for table in memo:
        if len(table) + rows <= most:
            yield from ((tuple(sorted(table + a)), tuple(sorted(table + b))) for a, b in pairs)


@pytest.mark.parametrize(("rows", "replace"), [(1, False), (2, False), (1, True), (2, True)])
@pytest.mark.parametrize(("name", "shape"), APPLIES)
def test_no_neighbour_moves_a_score_by_more_than_its_sensitivity(name, shape, rows, replace):
    score, most = SCORES[name], MOST_ROWS[shape] - (rows > 1)
    memo = every_score(score, shape, most)
    worst = max(abs(memo[a] - memo[b]) for a, b in neighbours(memo, shape, rows, replace, most))
    assert 0 < worst <= score.sensitivity(rows, replace)


@given(arrays(np.int64, st.sampled_from(SHAPES), elements=st.integers(0, 2_000)), st.data())
@pytest.mark.parametrize("name", ["R", "I"])
def test_larger_tables_do_not_move_more(name, counts, data):
    score = SCORES[name]
    cells = st.tuples(*(st.integers(0, size - 1) for size in counts.shape))
    more, other = counts.copy(), counts.copy()
    more[data.draw(cells)] += 1
    other[data.draw(cells)] += 1
    assert abs(score.of(more) - score.of(counts)) <= score.sensitivity(1, replace=False)
    assert abs(score.of(more) - score.of(other)) <= score.sensitivity(1, replace=True)


def test_bounds_for_added_rows_are_nearly_reached_so_no_smaller_ones_would_be_safe():
    off_diagonal = np.array([[0, 5_000], [0, 0]])
    more = off_diagonal + np.array([[0, 0], [1, 0]])
    again = more + np.array([[0, 0], [1, 0]])
    assert distance_to_independence(again) - distance_to_independence(more) > 1.99 * GRID
    assert information(more) - information(off_diagonal) > 0.99 * GRID
    agreeing = np.array([[50, 0], [0, 50]])
    assert near_to_function(agreeing) - near_to_function(agreeing + np.array([[0, 1], [0, 0]])) == GRID


def test_the_step_of_information_is_bounded_by_the_sum_in_the_proof():
    """1 + log n / (g(n) g(n+1)), where g(n) = (n+1) log(n+1) - n log n, stays below 5/4."""
    g = one_more_row
    assert max(1 + log(n) / (g(n) * g(n + 1)) for n in range(1, 2_000)) < 1.25


@given(arrays(np.int64, st.sampled_from(SHAPES), elements=st.integers(0, 60)))
def test_scores_are_what_they_say(counts):
    rows = int(counts.sum())
    if not rows:
        assert distance_to_independence(counts) == information(counts) == 0
        return
    joint = counts / rows
    product_of_margins = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    distance = np.abs(joint - product_of_margins).sum() / 2 * rows
    assert distance_to_independence(counts) == pytest.approx(distance * GRID, abs=1.001)
    inside = joint > 0
    bits = (joint[inside] * np.log(joint[inside] / product_of_margins[inside])).sum() * rows
    one_row = (rows + 1) * log(rows + 1) - rows * log(rows)
    assert information(counts) == pytest.approx(bits / one_row * GRID, abs=1.001)


@given(arrays(np.int64, st.sampled_from([(2, 1), (2, 2), (2, 4), (2, 5)]), elements=st.integers(0, 9)))
def test_the_knapsack_finds_the_nearest_function(counts):
    """F by trying all ways to give the cells of the parents to the two codes."""
    half = Fraction(int(counts.sum()), 2)
    best = min(
        max(half - sum(counts[0, place] for place, code in enumerate(gift) if code == 0), 0)
        + max(half - sum(counts[1, place] for place, code in enumerate(gift) if code == 1), 0)
        for gift in product(range(2), repeat=counts.shape[1])
    )
    assert near_to_function(counts) == -best * GRID


def test_a_perfect_function_has_no_distance_and_full_dependence():
    counts = np.array([[50, 0, 0], [0, 20, 30]])
    assert near_to_function(counts) == 0
    assert distance_to_independence(counts) == 50 * GRID


LARGE = [10**8, 10**9, 2**31 - 1, 2**31, 2**31 + 1, 3_037_000_499, 10**10]
"""Numbers of rows around which products leave 64 bits, and floats lose whole rows; tables of counts, without rows."""


def large_tables(rows):
    """Diagonal, uneven and nearly independent tables of this many rows."""
    half, third = rows // 2, rows // 3
    yield np.array([[half, 0], [0, rows - half]])
    yield np.array([[third, 7, 0], [1, rows - third - 20, 3], [2, 0, 7]])
    yield np.array([[half // 2, half - half // 2], [(rows - half) // 2, rows - half - (rows - half) // 2]])
    yield np.array([[0, rows - 1], [1, 0]])


def neighbours_of(counts):
    """The table with one row more, for each of its cells."""
    for cell in np.ndindex(counts.shape):
        more = counts.copy()
        more[cell] += 1
        yield more


def exact_distance(counts):
    """InDif of a table, in rows, by exact fractions."""
    cells = counts.tolist()
    rows = sum(map(sum, cells))
    columns = [sum(column) for column in zip(*cells, strict=True)]
    return sum(
        abs(Fraction(count) - Fraction(sum(line) * column, rows))
        for line in cells
        for count, column in zip(line, columns, strict=True)
    )


@pytest.mark.parametrize("rows", [*LARGE, 2**40, 2**49])
def test_distances_of_very_large_tables_are_exact(rows):
    """From 3.04·10^9 rows on InDif overflowed, and R lost the product of its margins (finding 10)."""
    for counts in large_tables(rows):
        for table in (counts, *neighbours_of(counts)):
            assert independence_difference(table) == exact_distance(table) * GRID // 1
            assert distance_to_independence(table) == exact_distance(table) * GRID // 2


@pytest.mark.parametrize("rows", LARGE)
@pytest.mark.parametrize("name", ["R", "I"])
def test_one_row_moves_the_score_of_a_very_large_table_by_no_more_than_is_charged(name, rows):
    """The divisor of I cancelled: at 10^9 rows, one row moved it by 114,688 where 1,282 were charged (finding 9)."""
    score = SCORES[name]
    for counts in large_tables(rows - 1):
        moved = [abs(score.of(more) - score.of(counts)) for more in neighbours_of(counts)]
        assert max(moved) <= score.sensitivity(1, replace=False)
        others = [score.of(more) for more in neighbours_of(counts)]
        assert max(others) - min(others) <= score.sensitivity(1, replace=True)


def exact_information(counts):
    """Score I with 60 digits, before it is rounded down."""

    def total(numbers):
        return sum((Decimal(x) * Decimal(x).ln() for x in numbers if x), Decimal(0))

    with localcontext(prec=60):
        rows = int(counts.sum())
        bits = total(counts.ravel().tolist()) - total(counts.sum(axis=0).tolist()) - total(counts.sum(axis=1).tolist())
        bits += total([rows])
        return bits / (total([rows + 1]) - total([rows])) * GRID


@pytest.mark.parametrize("rows", [1, 2, 3, 10, 1000, 10**6, *LARGE])
def test_information_is_off_by_less_than_half_a_step_before_it_is_rounded_down(rows):
    for counts in large_tables(rows) if rows > 100 else [np.array([[rows, 0], [0, 1]])]:
        exact = exact_information(counts)
        assert exact - Decimal("1.5") < information(counts) <= exact + Decimal("0.5")


def test_tables_that_are_larger_than_what_is_proven_are_refused():
    with pytest.raises(MethodError, match=r"more than 10,000,000,000 rows.*use score R"):
        information(np.array([[10**10, 0], [0, 1]]))
    with pytest.raises(MethodError, match=r"more than 100,000,000 rows.*use score R"):
        near_to_function(np.array([[10**8, 0], [0, 1]]))
    for score in (independence_difference, distance_to_independence):
        with pytest.raises(MethodError, match="do not fit in 64 bits"):
            score(np.array([[2**50, 0], [0, 1]]))


def test_what_is_not_known_or_not_binary_is_refused():
    with pytest.raises(MethodError, match="R, I, F"):
        score_named("BIC")
    with pytest.raises(MethodError, match="2 codes"):
        near_to_function(np.ones((3, 2), dtype=np.int64))
