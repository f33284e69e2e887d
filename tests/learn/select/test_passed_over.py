"""A pair that does not fit is passed over in one run of the greedy choice: the same pairs as choosing anew."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.domain import Domain
from sfumato.learn.select.dense_pairs import choose_pairs
from sfumato.learn.select.spanning_tree import choose_fitting, is_forest
from sfumato.models.junction_tree import junction_tree


def chosen_anew(domain, pairs, scores, variance, fits):
    """By definition: offer all pairs that were not refused, again and again."""
    cells = np.array([domain.cells(pair) for pair in pairs], dtype=np.float64)
    offered = np.arange(len(pairs))
    checked = 0
    while True:
        order = offered[choose_pairs(scores[offered], cells[offered], variance)]
        while checked < len(order) and fits([pairs[index] for index in order[: checked + 1]]):
            checked += 1
        if checked == len(order):
            return [pairs[index] for index in order]
        offered = offered[offered != order[checked]]


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(2, 9), min_size=2, max_size=7),
    seed=st.integers(0, 999),
    variance=st.sampled_from([1e-3, 1.0, 100.0, 1e4]),
    limit=st.sampled_from([20, 100, 1000]),
    forest=st.booleans(),
)
def test_the_same_pairs_as_choosing_anew(sizes, seed, variance, limit, forest):
    domain = Domain([(f"a{place}", size) for place, size in enumerate(sizes)])
    pairs = list(combinations(domain.names, 2))
    scores = np.random.default_rng(seed).integers(0, 10_000, len(pairs)).astype(float)
    fits = is_forest if forest else lambda some: junction_tree(domain, some).cells <= limit
    assert choose_fitting(domain, pairs, scores, variance, fits) == chosen_anew(domain, pairs, scores, variance, fits)
