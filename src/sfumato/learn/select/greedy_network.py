"""A Bayesian network, column by column: the exponential mechanism picks each column together with its parents.

Which tables are worth their noise follows from the number of rows, which is measured first with a small part of the
share. Everything else that limits the search is public. The choice:
`privacy/mechanisms/exponential.py`; its proof: docs/proofs/choice.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, sqrt

import numpy as np

from sfumato.data.coding import Level, Levels
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Measurement
from sfumato.data.selection import Family, Network, Selection
from sfumato.errors import MethodError
from sfumato.learn import Known, Learned
from sfumato.learn.select.parent_sets import GrowingSearch, Options
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder
from sfumato.privacy.scores import GRID, Score, score_named

COUNT_PART = 1 / 20
"""The part of the share that measures the number of rows: of a share of 0.2, to about 100 rows."""

CAUTION = 2.0
"""This many scales of its noise are taken off the number of rows: where it is not known, tables had better be small."""

MOST_CELLS = 1 << 14
"""Larger tables are never candidates, however many rows there are: thousands of them are counted."""

HALVINGS = 5
"""Candidates are the maximal sets of parents within the limit on cells, within a half of it, a quarter, and so on."""


@dataclass(frozen=True)
class GreedyNetwork:
    """PrivBayes' greedy network, with a limit on cells by theta-usefulness and a price for cells below the limit.

    Args:
        score: R (distance to independence), I (mutual information), or F (nearness to a function; binary columns only).
        theta: a table may have cells until the mean cell is this many times the scale of its noise. Where all
            columns are binary, that gives the degree of the network.
        price: the part of a table's expected noise by which its score is lowered (R and F, which are in rows too).
            The paper has no price and no smaller sets than maximal ones.
        most_candidates: about this many candidates are scored in all; of more, some are left out at random.
        seed: of the first column, and of what is left out; public.
    """

    score: str = "R"
    theta: float = 1.0
    price: float = 1.0
    most_candidates: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        if not (self.theta > 0 and self.price >= 0 and self.most_candidates > 0):
            raise MethodError(
                f"a network with theta {self.theta}, price {self.price} and {self.most_candidates} candidates was "
                "asked for; all but the price must be above 0, and it not below"
            )

    def __call__(self, holder: Holder, known: Known, share: Share, ahead: Share) -> Learned:
        """The tables of the network; those that lie inside another one are not measured again."""
        score = score_named(self.score)
        base = holder.domain
        names = [name for name in base if base[name] > 1]
        if score.binary and any(base[name] > 2 for name in names):
            raise MethodError(f"score {score.name} wants columns of 2 codes; use score R, or encode columns bit by bit")
        if len(names) < 2:
            return Learned(_selection(base, base, known.levels, [Family(name, ()) for name in names]))
        counting, choosing = share.split([COUNT_PART, 1 - COUNT_PART])
        (total,) = holder.measure([()], [counting])
        rows = _surely([total, *(one for one in known.tables if not one.clique)])
        noise = laplace_scale(holder, ahead)
        limit = useful_cells([base[name] for name in names], rows / noise, self.theta)
        asking = holder.through(Levels(known.levels)) if known.levels else holder
        options = {
            name: [(name, base[name]), *((one.name, one.size) for one in known.levels if one.column == name)]
            for name in names
        }
        growth = _Growth(asking.domain, options, limit, self.most_candidates, np.random.default_rng(self.seed))
        price = self.price * noise * len(names) / 2 if score.name != "I" else 0.0
        each = choosing.part(Fraction(1, len(names) - 1))
        while growth.open:
            growth.add(_pick(asking, growth.candidates(), score, each, price))
        coarsest = {name: min(size for _, size in some) for name, some in options.items()}
        chosen = _selection(base, asking.domain, known.levels, growth.families)
        return Learned(replace(chosen, too_large=base.pairs_above(limit, coarsest)), (total,))


def _surely(counts: Sequence[Measurement]) -> float:
    """The number of rows by all noisy counts together, less some scales of the noise that is left in it."""
    precisions = [1 / one.variance for one in counts]
    mean = sum(weight * one.marginal.total for weight, one in zip(precisions, counts, strict=True)) / sum(precisions)
    return max(0.0, mean - CAUTION * sqrt(1 / sum(precisions) / 2))


def laplace_scale(holder: Holder, part: Share) -> float:
    """The scale of the Laplace noise in a table that gets a part of the budget, or of as much noise of another kind."""
    return sqrt(holder.variance(part) / 2)


def useful_cells(sizes: Sequence[int], rows: float, theta: float) -> int:
    """How many cells a table of a network may have, by theta-usefulness.

    Args:
        sizes: of all columns.
        rows: the number of rows, in units of the scale that noise would have if only one table were measured.
        theta: the least ratio of the mean cell to the scale of its noise.
    """
    columns = len(sizes)
    if any(size > 2 for size in sizes):
        return min(floor(rows / (columns * theta)), MOST_CELLS)
    # The first columns of a binary network of degree k have their tables inside that of the (k + 1)-th.
    useful = (k for k in range(columns - 1, 0, -1) if rows >= theta * (columns - k) * 2 ** (k + 1))
    return min(1 << next(useful, 0) + 1, MOST_CELLS)


def _pick(holder: Holder, candidates: Mapping[Family, int], score: Score, part: Share, price: float) -> Family:
    """One candidate, given with its cells; free where none has parents, since columns without them are all alike."""
    families = list(candidates)
    if not any(family.parents for family in families):
        return families[0]
    handicaps = [floor(GRID * price * cells) for cells in candidates.values()]
    return families[holder.choose(families, score, part, handicaps)]


class _Growth:
    """A network that grows, and what may come next. Candidates stay candidates, so their scores can be kept."""

    def __init__(self, domain: Domain, options: Mapping[str, Options], limit: int, most: int, rng: np.random.Generator):
        names = list(options)
        self._domain = domain
        self._options = options
        self._limit = limit
        self._most_new = most // (len(names) - 1)
        self._rng = rng
        self._search = GrowingSearch()
        self.open: dict[str, dict[Family, int]] = {name: {Family(name, ()): domain[name]} for name in names}
        self.families: list[Family] = []
        self.add(Family(names[int(rng.integers(len(names)))], ()))

    def candidates(self) -> dict[Family, int]:
        """Every open column with every set of parents that was found for it, and the cells of their table."""
        return {family: cells for found in self.open.values() for family, cells in found.items()}

    def add(self, family: Family) -> None:
        """Take a family into the network, and find the sets of parents that its column makes possible."""
        before = [self._options[other.column] for other in self.families]
        self.families.append(family)
        del self.open[family.column]
        by_room: dict[int, dict[Clique, int]] = {}
        for column, found in self.open.items():
            room = self._limit // self._options[column][0][1]
            if room not in by_room:
                by_room[room] = self._sets(self._options[family.column], before, room)
            own = self._options[column][0][1]
            found.update((Family(column, parents), own * cells) for parents, cells in by_room[room].items())

    def _sets(self, new: Options, before: Sequence[Options], room: int) -> dict[Clique, int]:
        """Sets of parents with the new column and their cells, for one open column that leaves room for this many."""
        most = max(1, self._most_new // len(self.open))
        found: dict[Clique, None] = {}
        for _ in range(HALVINGS):
            for name, size in new:
                if size <= room:
                    sets = self._search.maximal_sets(before, room // size, most, self._rng)
                    found.update(dict.fromkeys(self._domain.canonical((*one, name)) for one in sets))
            room //= 2
        kept = list(found)
        if len(kept) > most:
            kept = [kept[place] for place in sorted(self._rng.choice(len(kept), most, replace=False))]
        return {parents: self._domain.cells(parents) for parents in kept}


def _selection(base: Domain, domain: Domain, levels: Sequence[Level], families: Sequence[Family]) -> Selection:
    """The network, and its tables without those that lie inside another; columns of one code are in all of them.

    `domain` has the attributes of `base` and their levels.
    """
    constant = [name for name in base if base[name] == 1]
    used = {parent for family in families for parent in family.parents}
    network = Network(
        (*(Family(name, ()) for name in constant), *families),
        tuple(level for level in levels if level.name in used),
    )
    sets = [frozenset((*constant, family.column, *family.parents)) for family in families] or [frozenset(constant)]
    largest = [one for one in dict.fromkeys(sets) if one and not any(one < other for other in sets)]
    return Selection(tuple(domain.canonical(one) for one in largest), network)
