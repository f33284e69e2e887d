"""Theorem 4 of the DP-SUBN paper (every pair of columns in exactly one view), and that no design has less error."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers_holders import holder_of
from helpers_select import chosen
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.errors import MethodError
from sfumato.learn.select.non_overlapping import Limits, NonOverlapping, Tree, best_design
from sfumato.privacy.budget import Currency, PureDP


def domain_of(sizes):
    return Domain([(f"c{place}", size) for place, size in enumerate(sizes)])


def pairs_of(views):
    return [frozenset(pair) for view in views for pair in combinations(view, 2)]


@given(st.integers(1, 200), st.integers(2, 12), st.booleans())
@example(52, 12, False)
@example(200, 12, False)
@example(200, 2, True)
@settings(max_examples=10, deadline=None)
def test_every_pair_of_binary_columns_is_in_exactly_one_view(columns, widest, equal):
    domain = domain_of([2] * columns)
    views = NonOverlapping(cells=2**widest, equal=equal).views(domain)
    pairs = pairs_of(views)
    assert len(pairs) == len(set(pairs)) == comb(columns, 2)
    assert all(len(view) <= max(2, widest) for view in views)
    assert {name for view in views for name in view} == set(domain)
    assert all(view == domain.canonical(view) for view in views)


@given(st.lists(st.integers(2, 60), min_size=1, max_size=40), st.integers(4, 2000), st.integers(4, 4000))
@settings(max_examples=60, deadline=None)
def test_every_pair_that_may_be_measured_is_in_exactly_one_view_of_any_domain(sizes, cells, most_cells):
    domain = domain_of(sizes)
    views = NonOverlapping(cells=cells, most_cells=most_cells).views(domain)
    pairs = pairs_of(views)
    wanted = {frozenset(pair) for pair in combinations(domain.names, 2) if domain.cells(pair) <= max(cells, most_cells)}
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == wanted
    assert all(domain.cells(view) <= cells or len(view) <= 2 for view in views)
    assert {name for view in views for name in view} == set(domain)


def root(columns):
    return (2**columns * comb(columns, 2)) ** (1 / 3)


def every_design(columns, most_cells):
    """All trees of parameters, one by one, as (views, cells, sum of the cube roots of pairs times cells)."""
    found = {(1, 2**columns, root(columns))} if columns > 1 else {(0, 0, 0.0)}
    if columns < 3:
        return found
    found = found if 2**columns <= most_cells else set()
    for prime in (n for n in range(2, columns) if all(n % factor for factor in range(2, n))):
        rows = -(-columns // prime)
        if rows > prime:
            continue
        short = columns - (rows - 1) * prime
        lines = [rows if j < short else rows - 1 for _ in range(prime) for j in range(prime)]
        lines = [size for size in lines if size > 1]
        if max(lines) > 2 and 2 ** max(lines) > most_cells:
            continue
        here = {(len(lines), sum(2**s for s in lines), sum(map(root, lines)))}
        for width in [prime] * (rows - 1) + [short]:
            below = every_design(width, most_cells)
            here = {tuple(a + b for a, b in zip(one, other, strict=True)) for one in here for other in below}
        found |= here
    return found


@pytest.mark.parametrize("columns", range(2, 24))
def test_no_tree_of_parameters_has_less_error(columns):
    designs = every_design(columns, 64)
    equal = best_design((2,) * columns, Limits(cells=64, most_cells=64, equal=True))
    assert equal.views**2 * equal.error == min(one[0] ** 2 * one[1] for one in designs)
    shared = best_design((2,) * columns, Limits(cells=64, most_cells=64, equal=False))
    assert shared.error == pytest.approx(min(one[2] for one in designs))


@pytest.mark.parametrize(("rows", "prime", "columns"), [(4, 13, 52), (5, 11, 52), (4, 17, 60), (3, 19, 50)])
def test_the_cells_of_lines_are_those_of_the_corrected_equation_6(rows, prime, columns):
    leaves = tuple(Tree(1, 0) for _ in range(rows))
    views = Tree(0, 0, prime, leaves).lay_out(range(columns))
    lines = views[:-rows] if columns - prime * (rows - 1) > 1 else views[: -rows + 1]
    counted = sum(2 ** len(line) for line in lines)
    assert counted == 2 ** (rows - 1) * (prime * columns - prime**2 * rows + 2 * prime**2)
    assert counted != 2**rows * (prime * columns - prime * rows + 2 * prime**2)  # as printed


def error_of_pairs(domain, part):
    """The sum of squared errors of all tables of two columns for a budget of 1, up to a factor."""
    views = part.views(domain)
    weights = part.weights(domain, views, Currency.EPSILON)
    return sum(
        domain.cells(view) * comb(len(view), 2) * (sum(weights) / weight) ** 2
        for view, weight in zip(views, weights, strict=True)
    )


def test_the_design_of_52_columns():
    domain = domain_of([2] * 52)
    views = NonOverlapping(equal=True).views(domain)
    assert (len(views), sum(map(domain.cells, views))) == (126, 11_792)
    pairs = len(list(combinations(domain, 2))) ** 3 * 4
    assert error_of_pairs(domain, NonOverlapping()) < error_of_pairs(domain, NonOverlapping(equal=True)) / 8 < pairs / 8


@given(st.lists(st.integers(2, 30), min_size=2, max_size=25))
@settings(max_examples=30, deadline=None)
def test_shared_parts_never_have_more_error_than_equal_ones(sizes):
    domain = domain_of(sizes)
    shared, equal = (error_of_pairs(domain, NonOverlapping(equal=equal)) for equal in (False, True))
    assert shared <= equal * (1 + 1e-9)


def test_nothing_is_read_or_spent():
    rng = np.random.default_rng(0)
    records = Records(domain_of([2] * 20), [rng.integers(0, 2, 50) for _ in range(20)])
    holder, ledger = holder_of(records, PureDP(1))
    selection = chosen(NonOverlapping(), holder, PureDP(1).total)
    assert ledger.left == 1
    assert len(pairs_of(selection.cliques)) == comb(20, 2)
    assert len(selection.weights) == len(selection.cliques)


def test_columns_of_one_code_are_in_every_view_and_may_be_alone():
    domain = Domain({"a": 2, "same": 1, "b": 3, "c": 2})
    assert all("same" in view for view in NonOverlapping().views(domain))
    assert NonOverlapping().views(Domain({"same": 1})) == (("same",),)
    assert NonOverlapping().views(Domain({"a": 5})) == (("a",),)
    assert NonOverlapping().views(Domain({})) == ()


@pytest.mark.parametrize("limit", ["cells", "most_cells"])
def test_limits_below_one_are_refused(limit):
    with pytest.raises(MethodError, match=f"{limit} is 0; give at least 1"):
        NonOverlapping(**{limit: 0})
