"""Learn in rounds: ask where the model is wrong, measure tables there, fit the model again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, hypot, pi

import numpy as np

from sfumato.data.coding import Level
from sfumato.data.domain import Clique
from sfumato.data.marginal import Measurement
from sfumato.data.selection import Apart, Layers, Selection
from sfumato.errors import BudgetError, ModelTooLarge
from sfumato.learn import Known, Learned
from sfumato.learn.allocation import Array, Gains, profile
from sfumato.learn.measure import Tables
from sfumato.learn.scoring import REACH, Scores, believed, column_errors, distances_of, largest_distances
from sfumato.loops import counted
from sfumato.models.estimates import Estimates
from sfumato.models.layers import coarse_domain, coarse_zeros, fit_layers, is_dense, shrunken_targets
from sfumato.models.merging import merged
from sfumato.models.moving import Counted, improve
from sfumato.models.tree_room import TreeRoom
from sfumato.models.zeros import tree_with_zeros
from sfumato.privacy.budget import Currency, Share
from sfumato.privacy.holder import Holder
from sfumato.privacy.ledger import Purse

FIRST_ROUNDS = 0.8
"""A round but the last measures at most this many tables for each column: what follows will know better."""

WORTHWHILE = 0.1
"""A table that would not take off this part of its distance is left out; so are all, if they would not of all."""

VIEWS, VIEW_WORTH = 3, 0.5
"""In the last round there are this many larger tables to choose from for each column, and what one counts for each of
its triples, as part of what a pair counts for each triple it lies in."""

BETWEEN = 5
"""Moves for each row between rounds."""

ROOM = 4
"""Rules may take one part of the tree in this many."""

SEED = 0
"""Of the rows that models are compared by: the same answers lead to the same questions."""


@dataclass(frozen=True)
class Rounds:
    """Several rounds of scores, choice and tables; a model is fitted in between, and asked where it is wrong.

    Pairs are chosen while they fit into one junction tree of `limit` cells, over columns that are coarse enough for it.
    In the last round all pairs that are worth their noise are measured, some tables of more columns, and single
    columns once more, each with as much as it is worth. A round that finds nothing is followed by the last one. Where
    there are no pairs, or all together are not worth it, every column is measured once more: the whole purse is spent
    on every path.

    Args:
        rounds: how many.
        select_part: the part of the purse for scores, in all rounds together.
        limit: the most cells of the junction tree.
        looks: whether that part buys noisy tables of all pairs, before the first round, with which models are then
            compared at no further cost; else the holder is asked for the distances of exact tables in every round.
    """

    rounds: int = 4
    select_part: Fraction = Fraction(2, 25)
    limit: int = 1_000_000
    looks: bool = False

    def __post_init__(self) -> None:
        if self.rounds < 1 or not 0 < self.select_part < 1:
            raise BudgetError(f"{self.rounds} rounds with {self.select_part} for scores were asked for; give 1 or more")

    def __call__(self, holder: Holder, known: Known, purse: Purse) -> Learned:
        """Spend the purse."""
        search = _Search(holder, known, self.limit)
        growth = float(np.clip(len(holder.domain) / 20, 1, 2))
        weights = [Fraction((number + 1) ** growth) for number in range(self.rounds)]
        choosing = purse.left.part(self.select_part / self.rounds)
        if self.looks and search.pairs:
            search.look(Tables()(holder, Selection(tuple(search.pairs)), purse.left.part(self.select_part)))
            choosing = purse.left.part(Fraction(0))
        idle = False
        for number in counted(range(self.rounds if search.pairs else 0), "rounds"):
            last = number == self.rounds - 1
            if idle and not last:
                continue  # nothing was worth measuring, and the model is what it was
            offers = [*search.pairs, *(search.views(holder, purse.left) if last and not self.looks else ())]
            offers = offers if self.looks else search.telling(holder, offers, choosing)
            scores = search.scores(holder, offers, choosing)
            if number == 0 and not search.is_worthwhile(holder, offers, scores, purse.left):
                break
            ahead = purse.left.amount - choosing.amount * (self.rounds - 1 - number)
            part = Share(choosing.currency, ahead * weights[number] / sum(weights[number:]))
            chosen = search.choose(holder, offers, scores, part, last)
            idle = not chosen
            if chosen:
                search.add(holder.measure([clique for clique, _ in chosen], [share for _, share in chosen]))
        if not purse.is_empty:
            search.add(Tables()(holder, Selection(tuple((name,) for name in holder.domain)), purse.left))
        return Learned(search.selection(), (*search.seen, *search.measured))


class _Search:
    """What is known so far, the model of it, and rows drawn from that model."""

    def __init__(self, holder: Holder, known: Known, limit: int):
        self._known, self._coding, self._limit = known, holder.coding, limit
        self.domain = holder.domain
        self.measured: tuple[Measurement, ...] = ()
        self.seen: tuple[Measurement, ...] = ()
        self._groups = known.apart or (self.domain.names,)
        self.pairs = [pair for group in self._wide() for pair in combinations(group, 2)]
        self._estimates = Estimates.of(self._coding, known.tables, known.constraints)
        self._layers = Layers(coarser=self._coarser(limit))
        coarse = coarse_domain(self.domain, self._layers)[0]
        # Rules come into the tree before pairs, as far as they leave room for these.
        _, ruled = tree_with_zeros(coarse, (), coarse_zeros(self._estimates.zeros, self._layers), limit // ROOM)
        self._room = TreeRoom(coarse, limit, [one.clique for one in ruled])
        self._rng = np.random.default_rng(SEED)
        self._drawn: Counted | None = None

    def _wide(self) -> list[Clique]:
        """The columns of each group that have more than one code."""
        groups = (self.domain.canonical(group) for group in self._groups)
        return [tuple(name for name in group if self.domain[name] > 1) for group in groups]

    def _coarser(self, limit: int) -> tuple[Level, ...]:
        """Columns that have more codes than a tree of this many cells supports, and what it gets instead."""
        most = max(4, round(1.3 * (limit / len(self.domain)) ** 0.25))
        found = []
        for (name, size), counts in zip(self.domain.items(), self._estimates.columns, strict=True):
            to = merged(counts, self._known.ordered.get(name, 0), most)
            if int(to.max()) + 1 < size:
                found.append(Level(name, tuple(to.tolist())))
        return tuple(found)

    def look(self, seen: Sequence[Measurement]) -> None:
        """Noisy tables of all pairs are known, to compare models with; they join the model once they are chosen."""
        self.seen = tuple(seen)
        self.add(())

    def add(self, measured: Sequence[Measurement]) -> None:
        """More tables are known; the model is not what it was."""
        self.measured = (*self.measured, *measured)
        chosen = {one.clique for one in self.measured}
        seen = [one for one in self.seen if one.clique in chosen]
        tables = (*self._known.tables, *seen, *self.measured)
        self._estimates = Estimates.of(self._coding, tables, self._known.constraints)
        self._drawn = None

    def drawn(self) -> Counted:
        """Rows of the model as it is."""
        if self._drawn is None:
            estimates, layers = self._estimates, self._layers
            model = fit_layers(estimates, layers)
            if estimates.tables and is_dense(estimates, layers):
                rows = model.draw(_pool(estimates.rows, 40_000, 1, 120_000), self._rng)
                targets = shrunken_targets(estimates, Counted(self.domain, rows, estimates.rows))
                improve(self.domain, rows, targets, estimates.columns, BETWEEN, self._rng, estimates.zeros.items)
            else:
                rows = model.draw(_pool(estimates.rows, 80_000, 2, 200_000), self._rng)
            self._drawn = Counted(self.domain, rows, estimates.rows)
        return self._drawn

    def telling(self, holder: Holder, offers: Sequence[Clique], part: Share) -> list[Clique]:
        """Tables whose distance could stand out of the noise that it would have beside those of the others.

        The fewer are asked about, the less noise each distance has. So those that can be far off come first, until the
        next could not be far enough.
        """
        most = largest_distances(self._estimates, offers)
        growth = np.arange(1, len(offers) + 1) ** (2 if part.currency is Currency.EPSILON else 1)
        order = np.argsort(-most, kind="stable")
        count = int((most[order] >= REACH * np.sqrt(holder.variance(part) * growth)).sum())
        return [offers[place] for place in sorted(order[:count].tolist())]

    def scores(self, holder: Holder, offers: Sequence[Clique], part: Share) -> Scores:
        """For each table the profile of what the model expects, and how wrong it is, in rows, less noise and chance."""
        profiles, chance = np.empty((len(offers), len(profile(np.ones(1))))), np.empty(len(offers))
        if not offers:
            return Scores(profiles, chance, 0.0)
        drawn, rows = self.drawn(), self._estimates.rows

        def expected() -> Iterator[Array]:
            for place, clique in enumerate(offers):
                table = drawn(clique)
                luck = np.sqrt(2 / pi * (1 + rows / drawn.size) * table)
                allowed = self._known.allowed(self._coding, clique)
                profiles[place] = profile(table if allowed is None else table[allowed])
                chance[place] = np.minimum(luck, 2 * table).sum()
                yield table

        if self.seen:
            tables = Estimates.of(self._coding, (*self._known.tables, *self.seen, *self.measured)).tables
            found = distances_of(tables, offers, expected())
        else:
            found = holder.distances(offers, expected(), part)
        wrong, plain = believed(found, chance, largest_distances(self._estimates, offers))
        pairs = np.array([len(clique) == 2 for clique in offers])
        return Scores(profiles, wrong, max(0.0, float(plain[pairs].sum()) / len(self.pairs)))

    def views(self, holder: Holder, ahead: Share) -> list[Clique]:
        """Random sets of three and more columns whose cells have, on average, as many rows as their noise.

        With a large budget these would be tables of billions of cells; the limit of the tree is theirs too.
        """
        columns = len(self.domain)
        deviation = holder.variance(ahead.part(Fraction(1, columns))) ** 0.5
        most, found = min(self._estimates.rows / deviation, self._limit), set()
        for _ in range(20 * columns):
            for group in self._wide():
                taken, cells = [], 1
                for name in self._rng.permutation(group).tolist():
                    if cells * self.domain[name] <= most:
                        taken.append(name)
                        cells *= self.domain[name]
                if len(taken) > 2:
                    found.add(self.domain.canonical(taken))
            if len(found) >= VIEWS * columns:
                break
        return sorted(found)

    def is_worthwhile(self, holder: Holder, offers: Sequence[Clique], scores: Scores, ahead: Share) -> bool:
        """Whether tables would take enough off the error of all pairs, which single columns have a part in.

        What scores promise is more than tables keep, and later rounds cost scores too.
        """
        if not (scores.wrong > 0).any():
            return False
        gains = self._gains(holder, offers, (), scores, ahead)
        taken = gains.taken(gains.parts(np.flatnonzero(gains.distances > 0)))
        wrong = dict(zip(offers, scores.wrong.tolist(), strict=True))
        errors = column_errors(self._estimates)
        whole = sum(hypot(wrong.get((one, two), 0.0), errors[one], errors[two]) for one, two in self.pairs)
        return float(taken.sum()) >= WORTHWHILE * whole

    def choose(
        self, holder: Holder, offers: Sequence[Clique], scores: Scores, part: Share, last: bool
    ) -> list[tuple[Clique, Share]]:
        """Tables that are worth their noise, each with its part of what may be spent in this round.

        Single columns compete with them. What these would get is kept for the last round, where they get it. With
        Laplace noise they do not: a second table as noisy as the first takes off less than a larger first one would.
        """
        columns, first = len(self.domain), len(offers)
        again = part.currency is Currency.RHO
        singles = [(name,) for name in self.domain if self.domain[name] > 1 and again]
        offers, gains = [*offers, *singles], self._gains(holder, offers, singles, scores, part)
        if not (gains.distances > 0).any():
            return []
        parts = gains.parts(np.flatnonzero(gains.distances > 0))
        taken, limit = gains.taken(parts), len(offers) if last else max(3, round(FIRST_ROUNDS * columns))
        kept: list[int] = []
        self._room.begin()
        for place in np.argsort(-taken[:first], kind="stable").tolist():
            if len(kept) >= limit or parts[place] <= 0:
                break
            if self._admits(offers[place], [offers[one] for one in kept], last):
                kept.append(place)
        own = list(range(first, len(offers)))
        while kept or own:
            parts = gains.parts(np.array([*kept, *own]))
            share = gains.taken(parts) / np.maximum(gains.distances, 1e-9)
            worthwhile = [place for place in kept if share[place] >= WORTHWHILE]
            if len(worthwhile) == len(kept) or not (worthwhile or own):
                break
            kept = worthwhile
        paid = [place for place in (*kept, *own) if parts[place] > 0]
        shares = part.split([float(parts[place]) for place in paid]) if paid else ()
        chosen = [(offers[place], share) for place, share in zip(paid, shares, strict=True) if last or place in kept]
        tables = [clique for clique, _ in chosen if len(clique) > 1]
        self._layers = Layers(self._room.keep(tables), self._layers.coarser)
        return chosen

    def _gains(
        self, holder: Holder, offers: Sequence[Clique], singles: Sequence[Clique], scores: Scores, part: Share
    ) -> Gains:
        """What tables would take off the error of pairs; a single column is wrong by its noise, in all its pairs.

        Errors of a pair and of its columns add up as squares do: the larger the one, the less the other matters.
        """
        columns = len(self.domain)
        worth = [VIEW_WORTH * comb(len(one), 3) / (4 * (columns - 2)) if len(one) > 2 else 1.0 for one in offers]
        errors = column_errors(self._estimates)
        around = np.array([hypot(*(errors[name] for name in one)) for one in offers])
        alone = np.array([errors[name] for (name,) in singles])
        return Gains(
            np.vstack([scores.profiles, *(profile(np.ones(self.domain[name])) for (name,) in singles)]),
            np.concatenate([scores.wrong, alone]),
            np.concatenate([worth * _part(scores.wrong, around), (columns - 1) * _part(alone, scores.mean)]),
            1 / holder.variance(part),
            power=2 if part.currency is Currency.EPSILON else 1,
        )

    def _admits(self, clique: Clique, before: Sequence[Clique], last: bool) -> bool:
        """Whether a table may be measured: it fits into the tree, or need not; and later stages can serve it."""
        inside = len(clique) == 2 and self._room.admits(clique)
        if not (inside or last or clique in self._estimates.tables):
            return False
        try:
            every = dict.fromkeys([*self._estimates.tables, *before, clique])
            self._known.check(self.domain, Selection(tuple(every)))
        except ModelTooLarge:
            return False
        return True

    def selection(self) -> Selection:
        """The tables that were chosen, and the tree, for each group of columns that stay apart."""
        cliques = tuple(self._estimates.tables)
        if len(self._groups) == 1:
            return Selection(cliques, self._layers)
        parts = tuple(
            Selection(tuple(one for one in cliques if set(one) <= set(group)), self._layers.within(group))
            for group in self._groups
        )
        return Selection(cliques, Apart(tuple(self._groups), parts))


def _part(one: Array, other: Array | float) -> Array:
    """How much the sum of two errors falls if one of them falls."""
    return np.asarray(one / np.maximum(np.hypot(one, other), 1e-9))


def _pool(rows: float, few: int, times: int, most: int) -> int:
    """How many rows to draw to see what a model says: more than the table has, but not too many."""
    return int(max(min(16 * rows, few), min(times * rows, most), 10_000))
