"""Choose pairs of columns: the noise of measuring them is weighed against the dependence that skipping them loses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.selection import Selection
from sfumato.learn import Known, Learned
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder


@dataclass(frozen=True)
class DensePairs:
    """PrivSyn's DenseMarg: noisy InDif scores, a greedy choice of pairs, and cliques of pairs combined into one table.

    Args:
        clique_cells: combined tables have at most this many cells (gamma in the paper).
        pair_cells: a pair of columns with more cells is never a candidate.
    """

    clique_cells: int = 5_000
    pair_cells: int = 1_000_000

    def __call__(self, holder: Holder, known: Known, share: Share, ahead: Share) -> Learned:
        """The cliques to measure; columns in none of them are left to their one-way tables."""
        domain = holder.domain
        pairs = [pair for pair in combinations(domain.names, 2) if domain.cells(pair) <= self.pair_cells]
        if not pairs:
            return Learned(Selection((), too_large=domain.pairs_above(self.pair_cells)))
        found = holder.dependence(pairs, share)
        cells = np.array([domain.cells(pair) for pair in pairs], dtype=np.float64)
        chosen = [pairs[index] for index in choose_pairs(found.scores, cells, holder.variance(ahead))]
        cliques = combine(domain, chosen, self.clique_cells)
        return Learned(Selection(cliques, too_large=domain.pairs_above(self.pair_cells)), found.tables)


def choose_pairs(
    scores: NDArray[np.float64],
    cells: NDArray[np.float64],
    variance: float,
    fits: Callable[[list[int]], bool] = lambda chosen: True,
) -> list[int]:
    """Greedy minimisation of noise error plus dependence left out, both in rows (Algorithm 2 of the PrivSyn report).

    With rho split in proportion to cells^(2/3), chosen tables have a total expected L1 noise of
    (sum of cells^(2/3))^(3/2) sqrt(2 variance / pi), where `variance` is that of a table which gets all of rho. So a
    trial is one addition, and the best next pair is found in one line.

    A pair that does not fit to those chosen before it is passed over for good, as if it had never been offered: the
    error of the choice so far and of every trial is less by its score, so the order of what is left stays the same.
    """
    weight = cells ** (2 / 3)
    noise = sqrt(2 * variance / pi)
    chosen: list[int] = []
    spent, left_out = 0.0, float(scores.sum())
    error = left_out
    open_pairs = np.ones(len(scores), dtype=bool)
    while open_pairs.any():
        trial = (spent + weight) ** 1.5 * noise + left_out - scores
        best = int(np.argmin(np.where(open_pairs, trial, np.inf)))
        if trial[best] >= error:
            break
        open_pairs[best] = False
        left_out -= float(scores[best])
        if not fits([*chosen, best]):
            error -= float(scores[best])
            continue
        error = float(trial[best])
        spent += float(weight[best])
        chosen.append(best)
    return chosen


def combine(domain: Domain, pairs: Sequence[Clique], limit: int) -> tuple[Clique, ...]:
    """Replace pairs by the cliques they form (Algorithm 3), and keep every pair that no clique covers.

    Larger cliques come first; a clique is taken if it shares at most two columns with all that were taken before and
    has at most `limit` cells.
    """
    taken: list[frozenset[str]] = []
    columns: set[str] = set()
    for clique in _cliques_by_size(pairs):
        if len(columns & clique) <= 2 and domain.cells(clique) <= limit:
            taken.append(clique)
            columns |= clique
    kept = [frozenset(pair) for pair in pairs if not any(set(pair) <= clique for clique in taken)]
    return tuple(domain.canonical(clique) for clique in taken + kept)


def _cliques_by_size(pairs: Sequence[Clique], most: int = 200_000) -> list[frozenset[str]]:
    """Cliques of at least three columns, largest first, at most `most` of them (the smallest are found first)."""
    import networkx as nx  # on demand: it takes as long to load as a small run

    graph: nx.Graph[str] = nx.Graph()
    graph.add_edges_from((one, other) for one, other in pairs)
    found = []
    for clique in nx.enumerate_all_cliques(graph):
        if len(clique) >= 3:
            found.append(frozenset(clique))
        if len(found) >= most:
            break
    return sorted(found, key=lambda clique: (-len(clique), sorted(clique)))
