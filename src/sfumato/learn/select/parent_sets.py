"""Sets of parents that are as large as a limit on their cells allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from sfumato.data.domain import Clique

Option = tuple[str, int]
"""A column at one of its levels, and how many codes it has there."""

Options = Sequence[Option]
"""One column: itself and then its levels, finest first."""

Ratio = tuple[int, int]
"""A factor, as numerator and denominator: floats would take 45 · (11/5) for more than 99."""

_NEVER: Ratio = (1, 0)
"""The factor of what cannot grow."""

MOST_STEPS = 20_000
"""A search for all maximal sets is given up after this many steps; some are then found at random."""


def maximal_sets(columns: Sequence[Options], limit: int, most: int, rng: np.random.Generator) -> list[Clique]:
    """Sets of at most `limit` cells to which no column can be added and in which none can be made finer.

    All of them, if they are found in reasonable time and are not more than `most`; otherwise this many at random.
    """
    search = _Search(sorted(columns, key=lambda options: -options[-1][1]), limit)
    found = list(search.sets())
    if not search.complete:
        found = list(dict.fromkeys(_random_set(columns, limit, rng) for _ in range(most)))
    if len(found) > most:
        found = [found[place] for place in sorted(rng.choice(len(found), most, replace=False))]
    return found


class _Search:
    """A depth-first walk over all sets within the limit, which stops after MOST_STEPS."""

    def __init__(self, columns: Sequence[Options], limit: int):
        self._columns = columns
        self._limit = limit
        self._steps = 0
        # The most cells that the columns from each place on can still bring.
        self._room = [prod(options[0][1] for options in columns[place:]) for place in range(len(columns) + 1)]

    @property
    def complete(self) -> bool:
        """Whether the walk came to its end."""
        return self._steps <= MOST_STEPS

    def sets(self) -> Iterator[Clique]:
        """All maximal sets, unless the walk is given up."""
        yield from self._walk(0, (), 1, _NEVER)

    def _walk(self, place: int, chosen: Clique, cells: int, smallest: Ratio) -> Iterator[Clique]:
        """Maximal sets that go on from `chosen`.

        `smallest` is the least factor by which a column that was left out, or made coarse, would make the set grow.
        """
        self._steps += 1
        if not self.complete or not self._exceeds(min(self._limit, cells * self._room[place]), smallest):
            return
        if place == len(self._columns):
            if self._exceeds(cells, smallest):
                yield chosen
            return
        finer = _NEVER
        for name, size in self._columns[place]:
            if cells * size <= self._limit:
                yield from self._walk(place + 1, (*chosen, name), cells * size, _smaller(smallest, finer, size))
            finer = (size, 1)
        yield from self._walk(place + 1, chosen, cells, _smaller(smallest, finer))

    def _exceeds(self, cells: int, factor: Ratio) -> bool:
        """Whether a set of this many cells would be too large if it grew by a factor."""
        return cells * factor[0] > self._limit * factor[1]


def _smaller(one: Ratio, other: Ratio, divisor: int = 1) -> Ratio:
    """The smaller of one ratio and of another one, divided."""
    other = other[0], other[1] * divisor
    return one if one[0] * other[1] <= other[0] * one[1] else other


def _random_set(columns: Sequence[Options], limit: int, rng: np.random.Generator) -> Clique:
    """A maximal set: columns in random order, each at the finest level that still fits."""
    chosen = []
    for place in rng.permutation(len(columns)):
        fits = next(((name, size) for name, size in columns[place] if size <= limit), None)
        if fits is not None:
            chosen.append(fits[0])
            limit //= fits[1]
    return tuple(chosen)
