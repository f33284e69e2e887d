"""The search frontier: no cycles, no table too large, strongest pairs first; and how many cells are useful."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.domain import Domain
from sfumato.learn.select.frontier import Frontier, Usefulness, search_frontier


def domain_of(sizes):
    return Domain([(f"c{place}", size) for place, size in enumerate(sizes)])


def informations(count, seed):
    half = np.triu(np.random.default_rng(seed).random((count, count)), 1)
    return half + half.T


def plain_csfc(count, parents, information, degree):
    """Algorithm 1 of the paper for binary columns, word by word."""
    parents = {x: set(parents.get(x, ())) for x in range(count)}

    def before(x, y):
        return x in parents[y] or any(before(x, z) for z in parents[y])

    def lower(x):
        return [z for z in range(count) if z == x or before(z, x)]

    def upper(x):
        return [z for z in range(count) if z == x or before(x, z)]

    def product(x, y):
        sparsity = degree * len(lower(x)) - sum(len(parents[z]) for z in lower(x))
        return sparsity * (sum(information[a, b] for a in lower(x) for b in upper(y)) - information[x, y])

    for x, y in sorted(combinations(range(count), 2), key=lambda pair: -information[pair]):
        if x in parents[y] or y in parents[x]:
            continue
        room_x, room_y = len(parents[x]) < degree, len(parents[y]) < degree
        if room_x and room_y:
            if before(x, y):
                parents[y].add(x)
            elif before(y, x) or product(x, y) >= product(y, x):
                parents[x].add(y)
            else:
                parents[y].add(x)
        elif room_x and before(y, x):
            parents[x].add(y)
        elif room_y and before(x, y):
            parents[y].add(x)
    return parents


@given(st.integers(2, 8), st.integers(1, 4), st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_on_binary_columns_it_is_algorithm_1(count, degree, seed):
    information = informations(count, seed)
    start = {x: (x - 1,) for x in range(1, count)} if seed % 2 else {}
    names = {f"c{x}": tuple(f"c{y}" for y in above) for x, above in start.items()}
    found = search_frontier(domain_of([2] * count), names, information, 2 ** (degree + 1))
    wanted = plain_csfc(count, start, information, degree)
    assert {column: set(above) for column, above in found.items()} == {
        f"c{x}": {f"c{y}" for y in above} for x, above in wanted.items()
    }


@given(st.lists(st.integers(2, 9), min_size=1, max_size=12), st.integers(4, 400), st.integers(0, 100))
@settings(max_examples=60, deadline=None)
def test_a_frontier_has_no_cycles_and_no_table_above_the_limit(sizes, cells, seed):
    domain = domain_of(sizes)
    frontier = search_frontier(domain, {}, informations(len(sizes), seed), cells)
    seen: set[str] = set()
    for column, above in frontier.items():
        assert set(above) <= seen
        assert not above or domain.cells((column, *above)) <= cells
        seen.add(column)
    assert seen == set(domain)


def test_it_contains_the_network_it_starts_from():
    domain = domain_of([2] * 5)
    start = {"c0": ("c4",), "c1": ("c0",), "c2": ("c0",)}
    found = search_frontier(domain, start, informations(5, 3), 8)
    assert all(set(above) <= set(found[column]) for column, above in start.items())


def test_room_is_counted_in_binary_digits():
    frontier = Frontier(Domain({"a": 4, "b": 2}), {"b": ("a",)}, 32)
    assert frontier.sparsity(0) == 3  # 32 / 4
    assert frontier.sparsity(1) == 3 + 2  # and 32 / 8
    assert Frontier(Domain({"a": 40}), {}, 32).sparsity(0) == 0


@pytest.mark.parametrize(
    ("epsilon", "degree", "frontier_degree"),
    [(0.05, 1, 2), (0.1, 1, 2), (0.2, 1, 2), (0.4, 1, 3), (0.8, 2, 4), (1.6, 3, 5), (3.2, 5, 6)],
)
def test_degrees_for_adult(epsilon, degree, frontier_degree):
    # n = 45,222, d = 52, a quarter of the budget each, one row replaced: scale 2 tables / epsilon. Degree 0 is lifted.
    useful = Usefulness([2] * 52, 45_222)

    def scale(tables):
        return 2 * tables / (epsilon / 4)

    cells = useful.network_cells(scale)
    assert cells == 2 ** (degree + 1)
    assert useful.frontier_cells(scale, cells) == 2 ** (frontier_degree + 1)


def test_general_domains_have_a_limit_on_cells():
    useful = Usefulness([2, 3, 10], 12_000)
    cells = useful.network_cells(lambda tables: 10.0 * tables)
    assert cells == pytest.approx(12_000 / (6 * 30))
    assert useful.frontier_cells(lambda tables: 10.0 * tables, cells) == pytest.approx(12_000 / (2 * 20))
    assert useful.frontier_cells(lambda tables: 1e6, cells) == pytest.approx(2 * cells)
