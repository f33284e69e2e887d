"""A Bayesian network from noisy tables alone: nothing is asked that does not add up over many holders of rows.

DP-SUBN (Su et al., section VI) with joint rounds. All pairs of columns are measured in views that do not overlap; the
network starts as the tree of most gain; a frontier of further parents is built around it and measured; parents are
chosen again within the frontier. Each question is a set of tables, so a federation can answer it in one round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Measurement
from sfumato.data.selection import Family, Network, Selection
from sfumato.errors import MethodError
from sfumato.learn import Known, Learned
from sfumato.learn.measure import measure
from sfumato.learn.select.frontier import Usefulness, search_frontier
from sfumato.learn.select.gain import Gain
from sfumato.learn.select.greedy_network import laplace_scale
from sfumato.learn.select.non_overlapping import NonOverlapping
from sfumato.models.noisy_tables import NoisyTables
from sfumato.privacy.budget import Currency, Share
from sfumato.privacy.holder import Holder

Array = NDArray[np.float64]
Parents = dict[str, Clique]

MOST_CELLS = 1 << 14
"""Larger tables are never part of a frontier, however many rows there are."""


@dataclass(frozen=True)
class FrontierNetwork:
    """DP-SUBN's search, with joint rounds instead of one round for each party.

    Args:
        views: which tables measure all pairs of columns.
        rounds: how many times a frontier is built and measured; 0 leaves the network a tree.
        view_part: the part of the share that measures pairs; the rounds get equal parts of the rest.
        score: I (mutual information), which the paper uses, or R (distance to independence); see `Gain`.
        price: the part of a table's expected noise by which its gain is lowered (R only, which is in rows too).
        theta: of the tables of the network; see `Usefulness`.
        frontier_theta: of the tables of the frontier.
    """

    views: NonOverlapping = field(default_factory=NonOverlapping)
    rounds: int = 1
    view_part: float = 1 / 2
    score: str = "R"
    price: float = 1.2
    theta: float = 6.0
    frontier_theta: float = 2.0

    def __post_init__(self) -> None:
        if self.rounds < 0 or not 0 < self.view_part < 1:
            raise MethodError(
                f"{self.rounds} rounds and a part of {self.view_part} for views were asked for; "
                "give 0 or more rounds, and a part between 0 and 1"
            )

    def __call__(self, holder: Holder, known: Known, share: Share, ahead: Share) -> Learned:
        """The tables of the network; those that lie inside another one are not measured again."""
        domain = holder.domain.project([name for name in holder.domain if holder.domain[name] > 1])
        if len(domain) < 2:
            return Learned(network_selection(holder.domain, dict.fromkeys(domain, ())))
        rest = [(1 - self.view_part) / self.rounds] * self.rounds if self.rounds else []
        viewing, *looking = share.split([self.view_part, *rest])
        views = self.views.views(domain)
        tables = ask(holder, views, viewing, self.views.weights(domain, views, share.currency))
        noisy = NoisyTables(domain, tables)
        useful = Usefulness(domain.shape, noisy.rows, self.theta, self.frontier_theta)
        scale = noise_scale(holder, ahead)
        cells = min(useful.network_cells(scale), MOST_CELLS)
        gain = Gain(self.score, self.price * scale(len(domain)) / 2 if self.score == "R" else 0.0)
        gains = gain.pairs(noisy)
        parents = spanning_tree(domain, gains, cells)
        for part in looking:
            wide = min(useful.frontier_cells(noise_scale(holder, part), cells), MOST_CELLS)
            frontier = search_frontier(domain, parents, gains, wide)
            tables += ask(holder, largest(domain, frontier), part)
            noisy = NoisyTables(domain, tables)
            parents = {column: best_parents(noisy, gain, column, frontier[column], cells) for column in frontier}
        chosen = network_selection(holder.domain, parents)
        return Learned(replace(chosen, too_large=domain.pairs_above(cells)), tables)


def ask(
    holder: Holder, cliques: Sequence[Clique], share: Share, weights: Sequence[float] = ()
) -> tuple[Measurement, ...]:
    """Measure tables with the whole share.

    Without weights, the sum of variances of all cells is least: Laplace tables get parts in proportion to cells^(1/3),
    Gaussian ones to cells^(1/2).
    """
    return measure(holder, cliques, share, 1 / 3 if share.currency is Currency.EPSILON else 1 / 2, weights)


def noise_scale(holder: Holder, share: Share) -> Callable[[int], float]:
    """The scale of the noise of each table, if this many tables get equal parts of a share (for Laplace noise)."""
    return lambda tables: laplace_scale(holder, share.part(Fraction(1, tables)))


def spanning_tree(domain: Domain, gains: Array, cells: float) -> Parents:
    """Columns with one parent each, of most gain in all; only pairs within `cells` cells, and not without any gain.

    Trees grow from the column that tells most about the others.
    """
    sizes = np.array(domain.shape, dtype=np.float64)
    allowed = np.where(np.outer(sizes, sizes) <= cells, gains, 0.0)
    parents: Parents = {}
    reach, nearest = np.zeros(len(domain)), np.zeros(len(domain), dtype=np.int64)
    open_ = np.ones(len(domain), dtype=bool)
    for _ in domain:
        if not (reach * open_).any():  # nothing is tied to the trees so far: start a new one
            column = int(np.argmax(np.where(open_, allowed.sum(axis=0), -1.0)))
            parents[domain.names[column]] = ()
        else:
            column = int(np.argmax(np.where(open_, reach, -1.0)))
            parents[domain.names[column]] = (domain.names[nearest[column]],)
        open_[column] = False
        nearest = np.where(allowed[column] > reach, column, nearest)
        reach = np.maximum(reach, allowed[column])
    return parents


def best_parents(noisy: NoisyTables, gain: Gain, column: str, above: Clique, cells: float) -> Clique:
    """Those of the parents `above` of a column with the largest gain, within `cells` cells; of equals the fewest."""
    subsets = [
        some
        for count in range(1, len(above) + 1)
        for some in combinations(above, count)
        if noisy.domain.cells((column, *some)) <= cells
    ]
    return max(((), *subsets), key=lambda some: gain(noisy, column, some))


def largest(domain: Domain, parents: Mapping[str, Clique]) -> tuple[Clique, ...]:
    """The tables of columns and their parents, without those that lie inside another one."""
    sets = [frozenset((column, *above)) for column, above in parents.items()]
    return tuple(domain.canonical(one) for one in dict.fromkeys(sets) if not any(one < other for other in sets))


def network_selection(domain: Domain, parents: Mapping[str, Clique]) -> Selection:
    """A network as a selection; `parents` has all columns with more than one code, those that are parents first."""
    constant = [name for name in domain if domain[name] == 1]
    families = [Family(column, domain.canonical(above)) for column, above in parents.items()]
    network = Network((*(Family(name, ()) for name in constant), *families))
    tables = largest(domain, parents) or ((),)
    cliques = tuple(domain.canonical((*constant, *clique)) for clique in tables)
    return Selection(tuple(clique for clique in cliques if clique), network)
