from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers_select import PublicHolder, chosen
from sfumato.data.domain import Domain
from sfumato.errors import MethodError, ModelTooLarge
from sfumato.learn.select.covering import Covering
from sfumato.learn.select.covering_planes import _field, plane_design
from sfumato.learn.select.covering_search import Cover, Task, complete, fewest, search, shorten
from sfumato.privacy.budget import ApproxDP, PureDP
from sfumato.privacy.neighbours import Neighbours


def domain_of(sizes):
    return Domain({f"c{place}": size for place, size in enumerate(sizes)})


def task_of(sizes, limit, strength=2):
    return Task(np.array(sizes), limit, strength)


def held(views, strength):
    return {subset for view in views for subset in combinations(sorted(view), strength)}


@pytest.mark.parametrize(
    ("columns", "width", "strength", "known"),
    [
        (8, 4, 2, 6),  # the concept paper's example, and the covering number C(8, 4, 2)
        (12, 8, 2, 3),  # the NIST paper's Example 1
        (64, 8, 2, 72),  # the NIST paper's 72 views: the affine plane of order 8
        (57, 8, 2, 57),  # the projective plane of order 7
        (32, 8, 2, 20),
        (9, 3, 2, 12),
        (8, 4, 3, 14),
        (6, 4, 3, 6),
        (10, 5, 3, 17),
    ],
)
def test_the_papers_designs_and_known_covering_numbers_are_reached(columns, width, strength, known):
    views = search(task_of([2] * columns, 2**width, strength))
    assert held(views, strength) == set(combinations(range(columns), strength))
    assert max(map(len, views)) <= width
    assert len(views) <= known


sizes_of_columns = st.lists(st.integers(1, 40), min_size=1, max_size=9)


@settings(deadline=None, max_examples=60)
@given(sizes_of_columns, st.integers(1, 400), st.sampled_from([2, 3]))
def test_every_set_is_held_within_the_limit_and_no_view_lies_inside_another(sizes, cells, strength):
    domain = domain_of(sizes)
    views = Covering(cells=cells).views(domain, strength)
    for subset in combinations(domain.names, min(strength, len(domain))):
        assert any(set(subset) <= set(view) for view in views)
    for view in views:
        assert view == domain.canonical(view)
        assert domain.cells(view) <= cells or sum(domain[name] > 1 for name in view) <= strength
    for one, other in combinations(views, 2):
        assert not set(one) <= set(other)
        assert not set(other) <= set(one)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(2, 20), min_size=3, max_size=8), st.integers(4, 300), st.sampled_from([2, 3]))
def test_a_column_of_a_view_holds_something_that_no_other_view_holds(sizes, cells, strength):
    views = search(task_of(sizes, cells, strength))
    for number, view in enumerate(views):
        others = held([other for index, other in enumerate(views) if index != number], strength)
        own = held([view], strength) - others
        assert {column for subset in own for column in subset} == set(view)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(2, 12), min_size=2, max_size=7), st.integers(4, 200), st.sampled_from([2, 3]))
def test_no_covering_goes_below_the_bound(sizes, cells, strength):
    assert len(search(task_of(sizes, cells, strength))) >= fewest(sizes, cells, strength)


def schoenheim(columns, width, strength):
    return -(-columns * (schoenheim(columns - 1, width - 1, strength - 1) if strength > 1 else 1) // width)


def test_the_bound_is_schoenheims_for_equal_columns():
    for columns, width in [(8, 4), (12, 8), (20, 6), (64, 8), (13, 4)]:
        for strength in (2, 3):
            assert fewest([2] * columns, 2**width, strength) == schoenheim(columns, width, strength)


def test_local_search_does_better_than_the_greedy_start():
    task = task_of([2] * 20, 64)
    start = complete(Cover(task), np.random.default_rng(0))
    shorter, moves = shorten(start, 2_000, np.random.default_rng(0))
    assert len(shorter.views) == len(start.views) - 1
    assert 0 <= moves < 2_000
    assert held(shorter.views, 2) == set(combinations(range(20), 2))


def test_a_cover_that_cannot_be_shortened_is_given_up_after_the_moves():
    plane = Cover(task_of([2] * 7, 8), plane_design(range(7), 3))
    assert shorten(plane, 30, np.random.default_rng(0)) == (None, 30)


def test_the_views_follow_from_the_seed():
    task = task_of([2, 3, 4, 5, 6] * 3, 100)
    assert search(task, seed=1, moves=100) == search(task, seed=1, moves=100)
    assert search(task, seed=1, moves=100) != search(task, seed=2, moves=100)


def test_planes_hold_every_pair_and_lines_of_different_groups_meet_once():
    for points, width in [(3, 2), (8, 4), (13, 4), (30, 8), (65, 8), (100, 8)]:
        blocks = plane_design(range(points), width)
        assert held(blocks, 2) == set(combinations(range(points), 2))
        assert max(map(len, blocks)) <= width
    for points, width in [(7, 3), (9, 3), (16, 4), (25, 5), (57, 8), (64, 8), (73, 9)]:
        blocks = plane_design(range(points), width)
        assert sum(comb(len(block), 2) for block in blocks) == comb(points, 2)  # each pair exactly once


@pytest.mark.parametrize("order", [2, 3, 4, 5, 8, 9, 16, 25, 27])
def test_the_tables_of_a_field_obey_its_laws(order):
    add, multiply = _field(order)
    a, b, c = np.meshgrid(*[np.arange(order)] * 3, indexing="ij")
    assert (add[a, b] == add[b, a]).all()
    assert (multiply[a, b] == multiply[b, a]).all()
    assert (add[add[a, b], c] == add[a, add[b, c]]).all()
    assert (multiply[multiply[a, b], c] == multiply[a, multiply[b, c]]).all()
    assert (multiply[a, add[b, c]] == add[multiply[a, b], multiply[a, c]]).all()
    assert all(sorted(row) == list(range(order)) for row in add)
    assert all(sorted(row) == list(range(order)) for row in multiply[1:])


def test_there_is_no_field_of_six():
    with pytest.raises(ValueError, match="no field with 6 elements"):
        _field(6)


def test_pairs_above_the_limit_become_views_of_their_own():
    domain = Domain({"age": 74, "hours": 99, "sex": 2, "income": 2})
    views = Covering(cells=256).views(domain, 2)
    assert ("age", "hours") in views
    assert ("age", "sex", "income") not in views  # 296 cells
    assert all(domain.cells(view) <= 256 for view in views if view != ("age", "hours"))


def test_a_pair_that_nobody_should_measure_is_left_out_but_no_column_is():
    domain = Domain({"address": 17_704, "sex": 2, "box": 2_089})
    assert Covering().views(domain, 2) == (("address", "sex"), ("sex", "box"))
    assert Covering(most_cells=30_000).views(domain, 2) == (("address",), ("sex", "box"))
    assert Covering().views(domain.project(("address", "box")), 2) == (("address",), ("box",))
    assert Covering(most_cells=17_703).views(Domain({"address": 17_704}), 2) == (("address",),)


@pytest.mark.parametrize(
    ("sizes", "views"),
    [
        ([], ()),
        ([5], (("c0",),)),
        ([1], (("c0",),)),
        ([1, 1, 1], (("c0", "c1", "c2"),)),
        ([1, 5], (("c0", "c1"),)),
        ([2, 1, 500], (("c0", "c1", "c2"),)),
        ([20, 1, 20, 20], (("c0", "c1", "c2"), ("c0", "c1", "c3"), ("c1", "c2", "c3"))),
    ],
)
def test_few_columns_and_columns_with_one_code(sizes, views):
    assert Covering(cells=256).views(domain_of(sizes), 2) == views


@pytest.mark.parametrize(
    "option", [{"strength": 1}, {"strength": 4}, {"cells": 0}, {"most_cells": 0}, {"rows_guess": 0}]
)
def test_options_that_make_no_sense_are_refused(option):
    with pytest.raises(MethodError, match=r"wanted|at least 1"):
        Covering(**option)


def noise(views, epsilon, rows):
    """What a view of 256 cells is expected to be off by: views sqrt(2 cells) / (epsilon rows)."""
    return views * np.sqrt(2 * 256) / (epsilon * rows)


def measured_with_all(select, holder):
    """What is chosen for nothing if the whole budget will measure it."""
    return chosen(select, holder, holder.budget.total.part(Fraction(0)), holder.budget.total)


def test_triples_are_covered_where_their_noise_is_a_thousandth_of_the_rows():
    domain = domain_of([2] * 12)
    triples = len(Covering(strength=3).views(domain, 3))
    enough = noise(triples, 1, 50_000) / 0.001
    for epsilon, strength in [(0.95 * enough, 2), (1.05 * enough, 3)]:
        holder = PublicHolder(domain, PureDP(f"{epsilon:.4f}"))
        selection = measured_with_all(Covering(), holder)
        assert held(selection.cliques, strength) >= set(combinations(sorted(domain.names), strength))
        assert len(selection.cliques) == (3 if strength == 2 else triples)
        assert [question for question, _ in holder.notes] == [
            f"choose {len(selection.cliques)} views that hold every {'pair' if strength == 2 else 'triple'} of columns "
            "with at most 100,000 cells"
        ]


def test_the_rule_knows_gaussian_noise_and_replaced_persons():
    domain = domain_of([2] * 12)
    added, replaced = Neighbours(), Neighbours(replace=True)
    for budget, neighbours, views in [
        (ApproxDP("0.1", "1e-9"), added, 3),
        (ApproxDP("100", "1e-9"), added, 6),
        (PureDP(3), added, 6),
        (PureDP(3), replaced, 3),
    ]:
        assert len(measured_with_all(Covering(), PublicHolder(domain, budget, neighbours)).cliques) == views


def test_triples_are_not_covered_where_one_of_them_is_too_large():
    domain = domain_of([3, 3, 3, 100, 100, 100])
    holder = PublicHolder(domain, PureDP(10_000))
    views = measured_with_all(Covering(most_cells=100_000, rows_guess=10**12), holder).cliques
    assert max(map(domain.cells, views)) == 10_000
    with pytest.raises(ModelTooLarge, match="c3"):
        measured_with_all(Covering(strength=3, most_cells=100_000), holder)


def test_wide_tables_are_covered_too():
    views = search(task_of([2] * 120, 256), moves=50)
    assert held(views, 2) == set(combinations(range(120), 2))
    assert max(map(len, views)) <= 8
    assert len(views) < 330  # the bound is 255
