from itertools import product
from math import log, pi, prod, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, norm

from helpers_sizes import ADULT, CENSUS_INCOME, KDDCUP99
from sfumato.learn.select.chains import Layout
from sfumato.learn.select.view_size import CONFIDENCE, RANGE, VISIBLE, view_size, visible


def masses(codes):
    edges = norm.cdf(np.linspace(-RANGE, RANGE, codes + 1))
    return np.diff(edges) / (edges[-1] - edges[0])


@given(st.integers(1, 7), st.integers(1, 4), st.floats(1e-6, 0.9))
def test_the_visible_part_is_the_sum_of_all_cells_above_the_threshold(codes, columns, threshold):
    cells = [prod(cell) for cell in product(masses(codes), repeat=columns)]
    # Logarithms are rounded, by less than 1 % for four columns: cells that close to the threshold may count or not.
    low, high = (sum(cell for cell in cells if cell >= bound) for bound in (threshold * 1.01, threshold / 1.01))
    assert low - 1e-12 <= visible(codes, columns, threshold) <= high + 1e-12


@pytest.mark.parametrize(("codes", "columns", "threshold"), [(100, 2, 1e-4), (40, 3, 1e-5), (60, 4, 1e-7)])
def test_fine_tables_come_close_to_the_closed_form(codes, columns, threshold):
    # Cells of width h hold φ(x) h^v; those above the threshold fill the ball |x|² ≤ 2 log((h / √(2π))^v / threshold),
    # and |x|² has a chi-square distribution.
    ball = 2 * log((2 * RANGE / codes / sqrt(2 * pi)) ** columns / threshold)
    assert visible(codes, columns, threshold) == pytest.approx(chi2.cdf(ball, columns), abs=0.02)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 10.0])
def test_equal_cells_are_all_visible_or_none_is(epsilon):
    # Binary columns have cells of 2^-v: the largest v with n / 2^v above the noise of |B| + |C| views, by hand.
    fits = [v for v in range(2, 65) if 50_000 / 2**v >= -log(1 - CONFIDENCE) * Layout(64, v).views(False) / epsilon]
    assert view_size((2,) * 64, 1 / epsilon, 50_000) == max(fits)


@pytest.mark.parametrize(
    ("sizes", "upper", "expected"),
    [
        (ADULT, False, [2, 2, 3, 3, 4]),
        (ADULT, True, [2, 2, 3, 3, 4]),
        (CENSUS_INCOME, False, [2, 2, 3, 3, 4]),
        (CENSUS_INCOME, True, [2, 2, 2, 3, 3]),
        (KDDCUP99, False, [2, 2, 3, 3, 4]),
        (KDDCUP99, True, [2, 2, 2, 3, 3]),
    ],
)
def test_the_view_sizes_of_known_tables(sizes, upper, expected):
    assert [view_size(sizes, 1 / epsilon, 50_000, upper) for epsilon in (0.1, 0.2, 0.5, 1, 2)] == expected


def test_adult_at_epsilon_one_by_hand():
    # Geometric mean 12.1, so 12 codes. Three columns need 9 views, so rho = 3.0 · 9 = 27 of 50,000 rows; four need 7,
    # so rho = 21. Of the Gaussian 0.75 and more lies above the first, and less than a half above the second.
    assert (Layout(15, 3).views(False), Layout(15, 4).views(False)) == (9, 7)
    assert visible(12, 3, -log(0.05) * 9 / 50_000) > 0.75
    assert visible(12, 4, -log(0.05) * 7 / 50_000) < VISIBLE
    assert view_size(ADULT, 1.0, 50_000) == 3


lists = st.lists(st.integers(1, 200), min_size=1, max_size=20)


@given(lists, st.floats(1e-3, 1e3), st.integers(1, 10**7), st.booleans())
def test_more_budget_or_rows_never_give_fewer_columns_and_upper_views_never_give_more(sizes, scale, rows, upper):
    columns = view_size(sizes, scale, rows, upper)
    assert min(2, len(sizes)) <= columns <= len(sizes)
    assert view_size(sizes, scale / 2, rows, upper) >= columns
    assert view_size(sizes, scale, rows * 3, upper) >= columns
    assert view_size(sizes, scale, rows, False) >= columns


def test_edges():
    assert view_size([7], 1.0, 50_000) == 1
    assert view_size([7, 9], 1e9, 50_000) == 2
    assert view_size([1] * 30, 1.0, 50_000) == 30
    assert view_size([17_704] * 3, 1e6, 1) == 2
    assert view_size([2, 3, 4], 1e-3, 50_000) == 3
