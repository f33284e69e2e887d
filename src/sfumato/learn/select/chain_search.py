"""The search for a chain with few cells: the paper's random restarts (Algorithm 3), and a local search that beats them.

Both look only at sizes. A column is named by its place in ascending order of size, so a larger number is a larger
column. Their work is counted in priced arrangements, so they can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np

from sfumato.learn.select.chains import Layout

Group = tuple[int, ...]


class Arrangement(NamedTuple):
    """A partition of the columns into groups, a short one last, and the places that a Type III last view copies."""

    groups: tuple[Group, ...]
    copied: Group


class Cost(NamedTuple):
    """What an arrangement costs; less is better, and an arrangement that keeps the cap is better than any other."""

    excess: int
    """Cells by which the largest cross view exceeds the largest base view; 0 if it does not."""
    cells: int
    """Cells of all views together; many times as many where columns that belong together are not in one view."""


class Found(NamedTuple):
    """The cheapest arrangement that a search has priced."""

    arrangement: Arrangement
    cost: Cost


def random_arrangement(layout: Layout, rng: np.random.Generator) -> Arrangement:
    """A random partition, and random columns to copy: Algorithm 1 and Type III as they are in the paper."""
    copied = rng.choice(layout.width, size=layout.copied, replace=False).tolist() if layout.copied else ()
    return Arrangement(_cut(layout, rng.permutation(layout.columns).tolist()), tuple(sorted(copied)))


def random_restarts(pricing: Pricing, rng: np.random.Generator, patience: int | None = None) -> Found:
    """The cheapest of many random arrangements (Algorithm 3).

    It ends when no more may be priced, or early, after `patience` arrangements in a row that were not cheaper.
    """
    idle = 0
    while pricing.left > 0 and idle != patience:
        before = pricing.found
        pricing.cost(random_arrangement(pricing.layout, rng))
        idle = idle + 1 if pricing.found is before else 0
    return pricing.cheapest


def local_search(pricing: Pricing, rng: np.random.Generator, patience: int = 50) -> Found:
    """The cheapest arrangement seen on many ways downhill, each step a swap of two columns.

    The first way starts with the largest columns together. No view can then be larger than the first base view, so
    some arrangement keeps the cap. Later ways start in turns a few random swaps away from the cheapest so far, and at
    random. It ends when no more may be priced, or early, after `patience` ways in a row that found nothing cheaper.
    """
    _descend(pricing, _descending(pricing.layout), rng)
    idle = 0
    while pricing.left > 0 and idle != patience:
        before = pricing.cheapest
        near = idle % 2 == 0
        _descend(pricing, _shaken(before.arrangement, rng) if near else random_arrangement(pricing.layout, rng), rng)
        idle = idle + 1 if pricing.found is before else 0
    return pricing.cheapest


def _descending(layout: Layout) -> Arrangement:
    """The largest columns together, then the next, and so on; the smallest of the last but one copied."""
    return Arrangement(_cut(layout, range(layout.columns)[::-1]), tuple(range(layout.copied)))


def _cut(layout: Layout, columns: Sequence[int]) -> tuple[Group, ...]:
    starts = range(0, layout.columns, max(layout.width, 1))
    return tuple(tuple(sorted(columns[start : start + layout.width])) for start in starts)


def _descend(pricing: Pricing, place: Arrangement, rng: np.random.Generator) -> None:
    """Go to the first lower neighbour, in random order, until there is none."""
    # A way may lead through arrangements that break the cap: with the excess as part of the height, and not before all
    # else, fewer ways end in a dead end. What is kept in the end is decided by `Cost`.
    height = sum(pricing.cost(place))
    improved = True
    while improved:
        improved = False
        for trial in _neighbours(place, pricing, rng):
            if pricing.left <= 0:
                return
            cost = sum(pricing.cost(trial))
            if cost < height:
                place, height, improved = trial, cost, True
                break


def _neighbours(place: Arrangement, pricing: Pricing, rng: np.random.Generator) -> Iterator[Arrangement]:
    """Arrangements that differ in one copied column, or in one swap of columns; one of each that cost the same."""
    for out in place.copied:
        for column in {*range(pricing.layout.width)} - {*place.copied}:
            yield Arrangement(place.groups, tuple(sorted({*place.copied, column} - {out})))
    home, sizes = _homes(place), pricing.sizes
    ones, others = np.triu_indices(len(sizes), 1)
    seen = set()
    for pair in rng.permutation(len(ones)):
        one, other = int(ones[pair]), int(others[pair])
        # Columns of one size are all the same, unless some belong together.
        alike = sizes if not pricing.together else range(len(sizes))
        swap = (home[one], alike[one], home[other], alike[other])
        if home[one] != home[other] and alike[one] != alike[other] and swap not in seen:
            seen.add(swap)
            yield _swapped(place, home, one, other)


def _homes(place: Arrangement) -> dict[int, int]:
    return {column: home for home, group in enumerate(place.groups) for column in group}


def _swapped(place: Arrangement, home: dict[int, int], one: int, other: int) -> Arrangement:
    groups = list(place.groups)
    for leaves, comes in ((one, other), (other, one)):
        groups[home[leaves]] = tuple(sorted({*groups[home[leaves]], comes} - {leaves}))
    return Arrangement(tuple(groups), place.copied)


def _shaken(place: Arrangement, rng: np.random.Generator) -> Arrangement:
    """Two to four random swaps away; fewer if a swap falls into one group."""
    for _ in range(int(rng.integers(2, 5))):
        home = _homes(place)
        one, other = rng.integers(len(home), size=2).tolist()
        if home[one] != home[other]:
            place = _swapped(place, home, one, other)
    return place


class Pricing:
    """Prices arrangements, counts how many it may still price, and remembers the cheapest.

    Args:
        sizes: the sizes of all columns.
        layout: the number of columns and the view size.
        evaluations: how many arrangements may be priced; the first one always may.
        upper: whether upper cross views are measured too, and so count.
        together: columns that should be in one base or cross view, such as those of a rule.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        layout: Layout,
        evaluations: int,
        upper: bool = False,
        together: Sequence[frozenset[int]] = (),
    ):
        self.sizes = sorted(sizes)
        self.layout = layout
        self.left = max(evaluations, 1)
        self.found: Found | None = None
        self.together = tuple(one for one in together if 1 < len(one) <= layout.width)
        self._upper = upper
        self._digests: dict[Group, _Digest] = {}

    @property
    def cheapest(self) -> Found:
        """The cheapest arrangement so far."""
        if self.found is None:
            raise ValueError("nothing has been priced yet; price an arrangement first")
        return self.found

    def cost(self, arrangement: Arrangement) -> Cost:
        """The cost of the chain of an arrangement: that of `chain_of`, in one pass over the groups."""
        self.left -= 1
        full = self.layout.groups - (self.layout.last < self.layout.width)
        views = sorted(map(self._digest, arrangement.groups[:full]))
        views += map(self._digest, arrangement.groups[full:])
        bases = [view.cells for view in views]
        if arrangement.copied:
            bases[-1] *= prod(self.sizes[views[-2].group[place]] for place in arrangement.copied)
        crosses, uppers = [0], 0
        tied = [frozenset(view.group) for view in views] if self.together else []
        if tied and arrangement.copied:
            tied[-1] |= {views[-2].group[place] for place in arrangement.copied}
        for first, second in list(pairwise(views))[: self.layout.ties]:
            cross, upper, columns = self._tie(first, second)
            crosses.append(cross)
            tied.append(columns)
            uppers += upper
        cells = sum(bases) + sum(crosses) + (uppers if self._upper else 0)
        # One rule apart is worth 8 times the cells: rows that are linked from two views break it. With twice the cells,
        # 9 % of the survey's rows had to be drawn again, and 0.04 % so.
        apart = sum(not any(one <= view for view in tied) for one in self.together)
        cost = Cost(max(0, max(crosses) - max(bases, default=0)), cells * (1 + apart) ** 3)
        if self.found is None or cost < self.found.cost:
            self.found = Found(arrangement, cost)
        return cost

    def _tie(self, first: _Digest, second: _Digest) -> tuple[int, int, frozenset[int]]:
        """Cells of the cross view of two neighbours, of their upper cross view if it ties anything, and its columns."""
        taken = half = self.layout.width // 2
        columns = {*first.group[self.layout.width - half :]}
        if self.layout.width % 2 == 0:
            cross = first.high * second.low
        elif first.high > second.low_and_next:
            cross, taken = first.high * second.low_and_next, taken + 1
        else:
            cross = first.sizes[0] * first.high * second.low
            columns.add(first.group[0])
        tied = frozenset(columns.union(second.group[:taken])) if self.together else frozenset()
        return cross, first.cells * second.cells // cross if taken < len(second.group) else 0, tied

    def _digest(self, group: Group) -> _Digest:
        if group not in self._digests:
            half, sizes = self.layout.width // 2, tuple(self.sizes[column] for column in group)
            high = prod(sizes[self.layout.width - half :])
            low, low_and_next = prod(sizes[:half]), prod(sizes[: half + 1])
            self._digests[group] = _Digest(-high, sizes, group, high, low, low_and_next, prod(sizes))
        return self._digests[group]


class _Digest(NamedTuple):
    """What the price of a chain needs to know of one base view; its order is that of Algorithm 1."""

    rank: int
    sizes: tuple[int, ...]
    group: Group
    high: int
    low: int
    low_and_next: int
    cells: int
