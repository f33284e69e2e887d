"""DP-SUBN's own search, for figures: parties start the network in turn, and update it in turn.

It is not for use. An update by party k releases the counts of all parties up to k again, under fresh noise, so the
first of K parties pays for it K times; the paper counts once. `FrontierNetwork` asks all parties together instead.

What the paper leaves open, and how it is read here: the first column is drawn with a public seed and counts as one of
the first party's; when the frontier changes, new tables hold the rows of the earlier parties as well; and of the tables
of all updates, only those of the latest one choose parents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np

from sfumato.data.domain import Domain
from sfumato.data.selection import Family, Selection
from sfumato.learn.select.frontier import Usefulness, search_frontier
from sfumato.learn.select.frontier_network import (
    MOST_CELLS,
    Parents,
    ask,
    best_parents,
    largest,
    network_selection,
    noise_scale,
)
from sfumato.learn.select.gain import Gain
from sfumato.learn.select.non_overlapping import NonOverlapping
from sfumato.learn.select.parent_sets import maximal_sets
from sfumato.models.noisy_tables import NoisyTables
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder
from sfumato.privacy.scores import Score, score_named


class Chooser(Protocol):
    """A party that chooses from its own rows alone, and pays for it alone."""

    def choose(self, families: Sequence[Family], score: Score, part: Share, handicaps: Sequence[int]) -> int:
        """The place of one family, by the exponential mechanism."""
        ...


class Union(Holder, Protocol):
    """A holder of the rows of several parties, all of whom are in this process."""

    @property
    def parties(self) -> Sequence[Chooser]:
        """Each party by itself."""
        ...

    def first(self, count: int) -> Holder:
        """A holder of the rows of the first `count` parties."""
        ...


@dataclass(frozen=True)
class SequentialNetwork:
    """Phases 1 to 3 of the paper, each with an equal part of the share, as the paper counts.

    Args:
        views: which tables measure all pairs of columns.
        theta: of the tables of the network; see `Usefulness`.
        frontier_theta: of the tables of the frontier.
        most_sets: at most this many sets of parents are candidates for each column at each step of the start.
        seed: of the first column, and of the sets that are left out; public.
    """

    views: NonOverlapping = field(default_factory=lambda: NonOverlapping(equal=True))
    theta: float = 6.0
    frontier_theta: float = 2.0
    most_sets: int = 10
    seed: int = 0

    def __call__(self, union: Union, share: Share, ahead: Share) -> Selection:
        """The tables of the network; those that lie inside another one are not measured again.

        Args:
            union: all parties.
            share: of the three phases.
            ahead: what will measure the chosen tables.
        """
        domain = union.domain.project([name for name in union.domain if union.domain[name] > 1])
        if len(domain) < 2:
            return network_selection(union.domain, dict.fromkeys(domain, ()))
        phase = share.part(Fraction(1, 3))
        views = self.views.views(domain)
        pairs = NoisyTables(domain, ask(union, views, phase, self.views.weights(domain, views, share.currency)))
        gain = Gain("I", shrink=False)
        information = gain.pairs(pairs)
        useful = Usefulness(domain.shape, pairs.rows, self.theta, self.frontier_theta)
        cells = min(useful.network_cells(noise_scale(union, ahead)), MOST_CELLS)
        wide = min(useful.frontier_cells(noise_scale(union, phase), cells), MOST_CELLS)
        parents = start_in_turn(union.parties, domain, cells, phase, self.most_sets, self.seed)
        for count in range(1, len(union.parties) + 1):
            frontier = search_frontier(domain, parents, information, wide)
            tables = largest(domain, frontier)
            latest = NoisyTables(domain, ask(union.first(count), tables, phase, [1.0] * len(tables)))
            parents = {column: best_parents(latest, gain, column, frontier[column], cells) for column in frontier}
        return network_selection(union.domain, parents)


def start_in_turn(
    parties: Sequence[Chooser], domain: Domain, cells: float, phase: Share, most_sets: int, seed: int
) -> Parents:
    """A network of which each party chooses floor(d / K) columns with their parents, and the last party the rest.

    Every choice is made by the exponential mechanism, with mutual information as its score, on the rows of one party
    alone, which pays `phase` for all its choices.
    """
    rng = np.random.default_rng(seed)
    parents: Parents = {domain.names[int(rng.integers(len(domain)))]: ()}
    each = len(domain) // len(parties)
    for turn, party in enumerate(parties, 1):
        end = len(domain) if turn == len(parties) else turn * each
        picks = end - len(parents)
        for _ in range(picks):
            options = [[(name, domain[name])] for name in parents]
            rooms = {column: max(1, int(cells) // domain[column]) for column in domain if column not in parents}
            sets = {room: maximal_sets(options, room, most_sets, rng) for room in sorted(set(rooms.values()))}
            families = [Family(column, one) for column, room in rooms.items() for one in sets[room]]
            part = phase.part(Fraction(1, picks))
            chosen = families[party.choose(families, score_named("I"), part, [0] * len(families))]
            parents[chosen.column] = chosen.parents
    return parents
