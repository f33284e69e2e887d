"""Maximal sets of parents, against a search over all sets."""

from itertools import product
from math import prod

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato.learn.select import parent_sets
from sfumato.learn.select.parent_sets import GrowingSearch, maximal_sets


@st.composite
def columns(draw):
    """Up to five columns with up to three levels, finest first."""
    found = []
    for place in range(draw(st.integers(0, 5))):
        sizes = sorted(draw(st.sets(st.integers(2, 12), min_size=1, max_size=3)), reverse=True)
        found.append([(f"c{place} at {size}", size) for size in sizes])
    return found


def by_brute_force(options, limit):
    """Sets within the limit such that neither one more column nor one finer level is."""
    maximal = set()
    for levels in product(*(range(len(one) + 1) for one in options)):  # the last number: left out
        sizes = [one[level][1] if level < len(one) else 1 for one, level in zip(options, levels, strict=True)]
        if prod(sizes) > limit:
            continue
        finer = (
            prod(sizes) // size * one[level - 1][1]
            for one, level, size in zip(options, levels, sizes, strict=True)
            if level > 0
        )
        if all(cells > limit for cells in finer):
            chosen = (one[level][0] for one, level in zip(options, levels, strict=True) if level < len(one))
            maximal.add(frozenset(chosen))
    return maximal


@given(columns(), st.integers(1, 400))
@example([[("a at 3", 3), ("a at 2", 2)], [("b at 3", 3), ("b at 2", 2)], [("c at 11", 11), ("c at 5", 5)]], 99)
def test_all_maximal_sets_are_found_once(options, limit):
    found = maximal_sets(options, limit, 10**6, np.random.default_rng(0))
    assert len({frozenset(one) for one in found}) == len(found)
    assert {frozenset(one) for one in found} == by_brute_force(options, limit)


@given(columns(), st.integers(1, 400), st.integers(1, 5))
def test_no_more_than_asked_for(options, limit, most):
    found = maximal_sets(options, limit, most, np.random.default_rng(0))
    assert len(found) == min(most, len(by_brute_force(options, limit)))


def test_random_sets_where_there_are_too_many():
    options = [[(f"c{place}", 2)] for place in range(64)]
    found = maximal_sets(options, 2**7, 50, np.random.default_rng(0))
    assert len(found) == 50
    assert all(len(set(one)) == 7 for one in found)


def test_more_columns_than_calls_nest():
    options = [[(f"c{place}", 2)] for place in range(3_000)]
    found = maximal_sets(options, 2**7, 5, np.random.default_rng(0))
    assert [len(set(one)) for one in found] == [7] * 5


def test_a_search_that_was_given_up_is_not_made_again(monkeypatch):
    calls = []
    real = parent_sets._all_maximal_sets
    monkeypatch.setattr(parent_sets, "_all_maximal_sets", lambda *given: calls.append(given[1]) or real(*given))
    options = [[(f"c{place}", 2)] for place in range(64)]
    search = GrowingSearch()
    for columns_then in (3, 60, 61, 64):
        for limit in (2**7, 2):
            assert search.maximal_sets(options[:columns_then], limit, 10, np.random.default_rng(0))
    assert calls.count(2**7) == 2  # with 3 columns, and with 60, where it took too long
    assert calls.count(2) == 4


@given(columns(), st.integers(1, 400))
def test_random_sets_are_within_the_limit_and_take_no_more_columns(options, limit):
    sizes = {name: size for one in options for name, size in one}
    chosen = parent_sets._random_set(options, limit, np.random.default_rng(1))
    cells = prod(sizes[name] for name in chosen)
    assert cells <= limit
    out = [one for one in options if not any(name in chosen for name, _ in one)]
    assert all(cells * one[-1][1] > limit for one in out)
