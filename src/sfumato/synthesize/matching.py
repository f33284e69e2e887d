"""Which partial records to link, where not every pair is allowed (DPView, IV-F): graphs of classes of equal records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Graph:
    """Partial records on two sides, and which of them may be linked.

    Equal records are one class. An edge joins a class on the left to a class on the right: any record of the one may
    be linked to any record of the other.

    Args:
        left: the number of records in each class on the left.
        right: the same on the right.
        source: the left class of each edge; ascending.
        target: the right class of each edge; ascending where the left class is the same.
    """

    left: Ints
    right: Ints
    source: Ints
    target: Ints


def fit_edges(graph: Graph, group: Ints, wanted: Array, sweeps: int = 10) -> Array:
    """How many links each edge should have: iterative proportional fitting to three sets of sums in turn.

    It starts from links at random, and fits the sums over groups of edges to `wanted`, and over the edges of each class
    to its records. What cannot be fitted at once is left in balance.

    Args:
        graph: the classes and edges.
        group: the group of each edge.
        wanted: how many links each group should have.
        sweeps: how often the three sets are visited.
    """
    left, right = graph.left.astype(np.float64), graph.right.astype(np.float64)
    links = left[graph.source] * right[graph.target]
    for _ in range(sweeps):
        for member, sums in ((group, wanted), (graph.source, left), (graph.target, right)):
            found = np.bincount(member, weights=links, minlength=len(sums))
            links *= np.divide(sums, found, out=np.zeros_like(sums), where=found > 1e-200)[member]
    return links


def priority_links(graph: Graph, weights: Array, rng: np.random.Generator) -> Ints:
    """The number of links along each edge by the priority heuristic (IV-F2); no record is linked twice.

    Whole links of the weights are made first. Then every record that is left names a partner class at random, by the
    weights; where too many name one class, records of the more frequent left classes go first; and who was refused
    names another partner, until nobody has one left to name.
    """
    wanted = _within(graph, weights)
    links = np.floor(wanted).astype(np.int64)
    left = graph.left - np.bincount(graph.source, weights=links, minlength=len(graph.left)).astype(np.int64)
    right = graph.right - np.bincount(graph.target, weights=links, minlength=len(graph.right)).astype(np.int64)
    live = np.flatnonzero(weights > 0)
    rest = np.maximum(wanted - links, 1e-6 * weights)  # an edge that has its links is a last resort
    while len(live := live[(left[graph.source[live]] > 0) & (right[graph.target[live]] > 0)]):
        named = live[_draw(graph.source[live], rest[live], left, rng)]
        order = np.lexsort((rng.random(len(named)), -graph.left[graph.source[named]], graph.target[named]))
        named = named[order]
        chosen = named[rank(graph.target[named]) < right[graph.target[named]]]
        np.add.at(links, chosen, 1)
        left -= np.bincount(graph.source[chosen], minlength=len(left))
        right -= np.bincount(graph.target[chosen], minlength=len(right))
    return links


def maximum_links(graph: Graph, rng: np.random.Generator) -> Ints:
    """The number of links along each edge in a matching with as many links as possible: a maximum flow over classes.

    Classes come in random order, so none is favoured where several matchings are as large.
    """
    if not len(graph.source):
        return np.zeros(0, dtype=np.int64)
    from scipy.sparse import csr_array  # on demand: it takes as long to load as a small run
    from scipy.sparse.csgraph import maximum_flow

    ends = len(graph.left), len(graph.right)
    left, right = rng.permutation(ends[0]), ends[0] + rng.permutation(ends[1])
    first, last = sum(ends), sum(ends) + 1
    tails = np.concatenate([np.full(ends[0], first), left[graph.source], right])
    heads = np.concatenate([left, right[graph.target], np.full(ends[1], last)])
    most = np.minimum(graph.left[graph.source], graph.right[graph.target])
    room = np.concatenate([graph.left, most, graph.right]).astype(np.int32)
    network = csr_array((room, (tails, heads)), shape=(last + 1, last + 1))
    flow = maximum_flow(network, first, last).flow
    return np.asarray(flow[left[graph.source], right[graph.target]], dtype=np.int64).ravel()


def _within(graph: Graph, weights: Array) -> Array:
    """The weights, made smaller where they ask a class for more links than it has records."""
    wanted = weights.astype(np.float64)
    for member, records in ((graph.source, graph.left), (graph.target, graph.right)):
        found = np.bincount(member, weights=wanted, minlength=len(records))
        wanted *= np.minimum(1.0, np.divide(records, found, out=np.ones(len(records)), where=found > 0))[member]
    return wanted


def _draw(source: Ints, weights: Array, records: Ints, rng: np.random.Generator) -> Ints:
    """An edge for every record of the classes in `source`, at equally spaced quantiles of the weights of its class."""
    classes, begins = np.unique(source, return_index=True)
    cumulative = np.cumsum(weights)
    ends = np.append(begins[1:], len(source)) - 1
    low = np.concatenate([[0.0], cumulative])[begins]
    owner = np.repeat(np.arange(len(classes)), records[classes])
    quantile = (rank(owner) + rng.random(len(classes))[owner]) / records[classes][owner]
    found = np.searchsorted(cumulative, low[owner] + quantile * (cumulative[ends] - low)[owner], side="right")
    return np.asarray(np.clip(found, begins[owner], ends[owner]), dtype=np.int64)


def rank(sorted_labels: Ints) -> Ints:
    """The place of each element among those with the same label, which stand side by side."""
    if not len(sorted_labels):
        return np.zeros(0, dtype=np.int64)
    starts = np.flatnonzero(np.concatenate([[True], sorted_labels[1:] != sorted_labels[:-1]]))
    return np.arange(len(sorted_labels)) - np.repeat(starts, np.diff(np.append(starts, len(sorted_labels))))
