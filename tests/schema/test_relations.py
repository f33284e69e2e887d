"""Values inside bins: bounds against all values written out, and draws that obey."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.schema.axes import Steps
from sfumato.schema.relations import FAR, Difference, Group, Sum

NAMES = ("x", "y", "z")


@st.composite
def groups(draw, sums=False):
    """Three columns of two bins each, with differences, increments and perhaps a sum."""
    axes = {}
    for name in NAMES:
        cut, end = sorted(draw(st.lists(st.integers(1, 9), min_size=2, max_size=2, unique=True)))
        step = draw(st.sampled_from([1, 1, 2, 3]))
        grid = Steps(np.zeros(0, int), np.zeros(0, int), step)
        starts, ends = np.array([0, cut]), np.array([cut - 1, end])
        axes[name] = Steps(grid.up(starts), grid.down(ends), step)
    relations = []
    for _ in range(draw(st.integers(1, 3))):
        one, two = draw(st.sampled_from([("x", "y"), ("y", "z"), ("x", "z")]))
        low = draw(st.integers(-3, 3))
        relations.append(Difference(one, two, low, draw(st.sampled_from([FAR, low + 2]))))
    if sums:
        relations.append(Sum(("x", "y"), "z"))
    return Group(axes, tuple(relations))


def solutions(group, codes):
    spans = [
        range(int(group.axes[n].first[codes[n]]), int(group.axes[n].last[codes[n]]) + 1, group.axes[n].step)
        for n in NAMES
    ]
    for values in product(*spans):
        row = {name: np.array([value]) for name, value in zip(NAMES, values, strict=True)}
        if all(relation.holds(row)[0] for relation in group.relations):
            yield values


def rows_of(bins):
    codes = {name: np.array([code]) for name, code in zip(NAMES, bins, strict=True)}
    return codes, {name: np.zeros(1, dtype=np.bool_) for name in NAMES}


@settings(max_examples=150, deadline=None)
@given(group=groups())
def test_differences_are_possible_where_some_values_are(group):
    for bins in product((0, 1), repeat=3):
        codes, missing = rows_of(bins)
        exists = any(True for _ in solutions(group, dict(zip(NAMES, bins, strict=True))))
        assert group.possible(codes, missing)[0] == exists
        values, fine = group.draw(codes, missing, np.random.default_rng(0))
        assert fine[0] == exists
        if exists:
            assert tuple(int(values[name][0]) for name in NAMES) in set(
                solutions(group, dict(zip(NAMES, bins, strict=True)))
            )


@settings(max_examples=100, deadline=None)
@given(group=groups(sums=True))
def test_what_is_drawn_with_a_sum_obeys_or_says_that_it_does_not(group):
    for bins in product((0, 1), repeat=3):
        codes, missing = rows_of(bins)
        possible = set(solutions(group, dict(zip(NAMES, bins, strict=True))))
        values, fine = group.draw(codes, missing, np.random.default_rng(0))
        assert not fine[0] or tuple(int(values[name][0]) for name in NAMES) in possible
        if possible:
            assert group.possible(codes, missing)[0]  # bounds never rule out what there is


def test_missing_values_are_tied_to_nothing():
    axis = Steps(np.array([0]), np.array([9]))
    group = Group({"x": axis, "y": axis}, (Difference("x", "y", 20),))
    codes = {"x": np.zeros(2, int), "y": np.zeros(2, int)}
    missing = {"x": np.array([True, False]), "y": np.zeros(2, dtype=np.bool_)}
    assert group.possible(codes, missing).tolist() == [True, False]


def test_draws_reach_every_value_that_is_left():
    axis = Steps(np.array([0]), np.array([3]))
    group = Group({"x": axis, "y": axis}, (Difference("x", "y", 0, FAR),))
    codes = {name: np.zeros(4_000, int) for name in "xy"}
    values, fine = group.draw(codes, {name: np.zeros(4_000, dtype=np.bool_) for name in "xy"}, np.random.default_rng(0))
    assert fine.all()
    assert set(zip(values["x"].tolist(), values["y"].tolist(), strict=True)) == {
        (x, y) for x in range(4) for y in range(x, 4)
    }
