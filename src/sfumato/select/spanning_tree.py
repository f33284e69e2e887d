"""Choose pairs of columns that a graphical model can hold: a spanning tree, or all that a junction tree has room for.

Both take the pairs in the order in which they lower the expected error (`choose_pairs`), and pass over those that do
not fit. Only the scores cost budget; what fits is decided from them and from public facts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.junction_tree import junction_tree
from sfumato.data.selection import Selection
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder
from sfumato.select.dense_pairs import choose_pairs, combine

Fits = Callable[[Sequence[Clique]], bool]
"""Whether a model can hold all of these pairs."""


@dataclass(frozen=True)
class SpanningTree:
    """A maximum spanning tree of noisy dependences (Kruskal), without pairs whose noise would outweigh them.

    Args:
        measure_ratio: the budget that will measure the chosen tables, as a multiple of this stage's own share.
        pair_cells: a pair of columns with more cells is never a candidate.
    """

    measure_ratio: float = 8.0
    pair_cells: int = 1_000_000

    def __call__(self, holder: Holder, share: Share) -> Selection:
        """Pairs without a cycle; where no pair is worth its noise, the tree falls apart."""
        return Selection(tuple(_noisy_choice(holder, share, self.measure_ratio, self.pair_cells, is_forest)))


@dataclass(frozen=True)
class TreeLimitedPairs:
    """PrivSyn's pairs, as far as the junction tree of all of them stays within a limit; cliques become one table.

    Args:
        limit: the most cells that all tables of the junction tree may have together.
        measure_ratio: the budget that will measure the chosen tables, as a multiple of this stage's own share.
        clique_cells: combined tables have at most this many cells.
    """

    limit: int = 1_000_000
    measure_ratio: float = 8.0
    clique_cells: int = 5_000

    def __call__(self, holder: Holder, share: Share) -> Selection:
        """Pairs, and cliques of pairs; columns in none of them are left to their one-way tables."""
        domain = holder.domain

        def fits(pairs: Sequence[Clique]) -> bool:
            return junction_tree(domain, pairs).cells <= self.limit

        chosen = _noisy_choice(holder, share, self.measure_ratio, self.limit, fits)
        return Selection(combine(domain, chosen, self.clique_cells))


def is_forest(pairs: Sequence[Clique]) -> bool:
    """Whether pairs of columns, as edges of a graph, have no cycle."""
    graph: nx.Graph[str] = nx.Graph()
    graph.add_edges_from((one, other) for one, other in pairs)
    return graph.number_of_edges() == graph.number_of_nodes() - nx.number_connected_components(graph)


def choose_fitting(
    domain: Domain, pairs: Sequence[Clique], scores: NDArray[np.float64], rho: float, fits: Fits
) -> list[Clique]:
    """The greedy choice of `choose_pairs` where a pair that does not fit to those before it is passed over for good.

    To pass over a pair is to have never offered it: what was chosen before it stays the same, so that the choice can
    simply be made again without it.
    """
    cells = np.array([domain.cells(pair) for pair in pairs], dtype=np.float64)
    offered = np.arange(len(pairs))
    checked = 0
    while True:
        order = offered[choose_pairs(scores[offered], cells[offered], rho)]
        while checked < len(order) and fits([pairs[index] for index in order[: checked + 1]]):
            checked += 1
        if checked == len(order):
            return [pairs[index] for index in order]
        offered = offered[offered != order[checked]]


def _noisy_choice(holder: Holder, share: Share, measure_ratio: float, most: int, fits: Fits) -> list[Clique]:
    """Ask for the dependence of all pairs of at most so many cells, with noise, and choose."""
    domain = holder.domain
    pairs = [pair for pair in combinations(domain.names, 2) if domain.cells(pair) <= most]
    if not pairs:
        return []
    noise = share.gaussian(holder.neighbours.dependence.repeated(len(pairs)))
    scores = holder.dependence(pairs, noise)
    rho = float(share.amount) * measure_ratio / float(holder.neighbours.marginal.l2_squared)
    return choose_fitting(domain, pairs, scores, rho, fits)
