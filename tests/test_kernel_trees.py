"""Both implementations of the kernels of trees keep one contract."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import kernels
from sfumato.data.domain import Domain
from sfumato.kernels import fallback_trees
from sfumato.models.junction_tree import graph_of, junction_tree
from sfumato.models.tree_room import GrowingTree

IMPLEMENTATIONS = [fallback_trees]
if kernels.COMPILED:
    from sfumato.kernels import compiled_trees

    IMPLEMENTATIONS.append(compiled_trees)

both = pytest.mark.parametrize("kernel", IMPLEMENTATIONS, ids=lambda module: module.__name__)


@both
def test_each_parent_gets_its_children(kernel):
    rng = np.random.default_rng(1)
    parent = rng.integers(0, 50, 5_000).astype(np.uint16)
    counts = np.zeros((51, 7), dtype=np.int64)
    for cell, rows in enumerate(np.bincount(parent, minlength=51)):
        counts[cell] = rng.multinomial(rows, np.ones(7) / 7)
    child = kernel.deal(parent, counts, rng)
    found = np.zeros_like(counts)
    np.add.at(found, (parent, child), 1)
    assert np.array_equal(found, counts)


@both
def test_every_way_to_deal_is_equally_likely(kernel):
    rng = np.random.default_rng(2)
    hands = 20_000  # of children 0, 1, 1, 2: twelve orders
    child = kernel.deal(np.repeat(np.arange(hands), 4), np.tile([[1, 2, 1]], (hands, 1)), rng).reshape(-1, 4)
    orders, times = np.unique(child, axis=0, return_counts=True)
    expected = hands / 12
    assert len(orders) == 12
    assert ((times - expected) ** 2 / expected).sum() < 50  # chi-square with 11 degrees: one in a million is 49


@both
def test_too_few_or_too_many_children_are_refused(kernel):
    with pytest.raises(ValueError, match="2 children were given for 3 rows"):
        kernel.deal(np.zeros(3, dtype=np.uint8), np.array([[1, 1]]), np.random.default_rng())


@given(st.data())
def test_both_eliminate_alike(data):
    d = data.draw(st.integers(1, 70))
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=d, max_size=d))
    domain = Domain({f"c{place}": size for place, size in enumerate(sizes)})
    names = st.sampled_from(domain.names)
    cliques = data.draw(st.lists(st.lists(names, min_size=1, max_size=3, unique=True).map(tuple), max_size=30))
    graph = graph_of(domain, cliques)
    for most_fill in (1.0, inf):
        found = [kernel.eliminate(sizes, graph, most_fill, inf) for kernel in IMPLEMENTATIONS]
        assert all(np.array_equal(found[0], other) for other in found)
        inside = np.unpackbits(found[0].view(np.uint8), axis=1, bitorder="little")[:, :d].astype(bool)
        cells = sum(int(np.prod(np.array(sizes)[line])) for line in inside)
        for kernel in IMPLEMENTATIONS:
            assert kernel.eliminate(sizes, graph, most_fill, cells) is not None
            assert kernel.eliminate(sizes, graph, most_fill, cells - 1) is None


@given(st.lists(st.tuples(st.sampled_from("abcdefg"), st.sampled_from("abcdefg")), max_size=20), st.integers(10, 400))
def test_a_tree_grows_as_if_it_were_built_anew(pairs, limit):
    domain = Domain(dict(zip("abcdefg", (2, 3, 5, 4, 3, 6, 2), strict=True)))
    tree, held = GrowingTree(domain, limit), []
    for pair in pairs:
        fits = junction_tree(domain, [*held, pair]).cells <= limit
        assert tree.admits(pair) == fits
        if fits:
            held.append(pair)
