"""Choose pairs of columns that a graphical model can hold: a spanning tree, or all that a junction tree has room for.

Both take the pairs in the order in which they lower the expected error (`choose_pairs`), and pass over those that do
not fit. Only the scores cost budget; what fits is decided from them and from public facts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain, components
from sfumato.data.selection import Selection
from sfumato.learn import Known, Learned
from sfumato.learn.select.dense_pairs import choose_pairs
from sfumato.models.tree_room import GrowingTree
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder

Fits = Callable[[Sequence[Clique]], bool]
"""Whether a model can hold all of these pairs. It is asked of the pairs that were held, and one more at the end."""


@dataclass(frozen=True)
class SpanningTree:
    """A maximum spanning tree of noisy dependences (Kruskal), without pairs whose noise would outweigh them.

    Args:
        pair_cells: a pair of columns with more cells is never a candidate.
    """

    pair_cells: int = 1_000_000

    def __call__(self, holder: Holder, known: Known, share: Share, ahead: Share) -> Learned:
        """Pairs without a cycle; where no pair is worth its noise, the tree falls apart."""
        return _noisy_choice(holder, share, ahead, self.pair_cells, is_forest)


@dataclass(frozen=True)
class TreeLimitedPairs:
    """PrivSyn's pairs, as far as the junction tree of all of them stays within a limit.

    Args:
        limit: the most cells that all tables of the junction tree may have together.
    """

    limit: int = 1_000_000

    def __call__(self, holder: Holder, known: Known, share: Share, ahead: Share) -> Learned:
        """Pairs; columns in none of them are left to their one-way tables."""
        tree = GrowingTree(holder.domain, self.limit)
        return _noisy_choice(holder, share, ahead, self.limit, lambda pairs: tree.admits(pairs[-1]))


def is_forest(pairs: Sequence[Clique]) -> bool:
    """Whether pairs of columns, as edges of a graph, have no cycle."""
    edges = set(map(frozenset, pairs))
    return len(edges) == len(frozenset().union(*edges)) - len(components(edges))


def choose_fitting(
    domain: Domain, pairs: Sequence[Clique], scores: NDArray[np.float64], variance: float, fits: Fits
) -> list[Clique]:
    """The greedy choice of `choose_pairs` where a pair that does not fit to those before it is passed over for good."""
    cells = np.array([domain.cells(pair) for pair in pairs], dtype=np.float64)
    chosen = choose_pairs(scores, cells, variance, lambda some: fits([pairs[index] for index in some]))
    return [pairs[index] for index in chosen]


def _noisy_choice(holder: Holder, share: Share, ahead: Share, most: int, fits: Fits) -> Learned:
    """Ask for the dependence of all pairs of at most this many cells, with noise, and choose."""
    domain = holder.domain
    pairs = [pair for pair in combinations(domain.names, 2) if domain.cells(pair) <= most]
    too_large = domain.pairs_above(most)
    if not pairs:
        return Learned(Selection((), too_large=too_large))
    found = holder.dependence(pairs, share)
    chosen = choose_fitting(domain, pairs, found.scores, holder.variance(ahead), fits)
    return Learned(Selection(tuple(chosen), too_large=too_large), found.tables)
