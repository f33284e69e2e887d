"""Sets of parents that are as large as a limit on their cells allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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


@dataclass(frozen=True)
class GrowingSearch:
    """Searches over columns that only become more: a limit at which one was given up is not searched again.

    With more columns there are nearly always more sets, so it would be given up again.
    """

    given_up: set[int] = field(default_factory=set)

    def maximal_sets(self, columns: Sequence[Options], limit: int, most: int, rng: np.random.Generator) -> list[Clique]:
        """Sets of at most `limit` cells to which no column can be added and in which none can be made finer.

        All of them, if they are found in reasonable time and are not more than `most`; otherwise this many at random.
        """
        found = None
        if limit not in self.given_up:
            # A column that is too large by itself is in no set, and keeps none from being maximal.
            fitting = [options for options in columns if min(size for _, size in options) <= limit]
            found = _all_maximal_sets(sorted(fitting, key=lambda options: -options[-1][1]), limit)
        if found is None:
            self.given_up.add(limit)
            found = list(dict.fromkeys(_random_set(columns, limit, rng) for _ in range(most)))
        if len(found) > most:
            found = [found[place] for place in sorted(rng.choice(len(found), most, replace=False))]
        return found


def maximal_sets(columns: Sequence[Options], limit: int, most: int, rng: np.random.Generator) -> list[Clique]:
    """The sets of a single search."""
    return GrowingSearch().maximal_sets(columns, limit, most, rng)


def _all_maximal_sets(columns: Sequence[Options], limit: int) -> list[Clique] | None:
    """All maximal sets, by a depth-first walk over all sets within the limit; None if that takes too long.

    The walk keeps its own stack, since there may be more columns than Python nests calls.
    """
    # The most cells that the columns from each place on can still bring; what is beyond the limit is all the same.
    room = [1]
    for options in reversed(columns):
        room.append(min(limit, room[-1] * options[0][1]))
    room.reverse()
    found: list[Clique] = []
    # A place, what was chosen before it, its cells, and the least factor by which a column that was left out, or made
    # coarse, would make the set grow.
    stack: list[tuple[int, Clique, int, Ratio]] = [(0, (), 1, _NEVER)]
    for _ in range(MOST_STEPS):
        if not stack:
            return found
        place, chosen, cells, smallest = stack.pop()
        if not _exceeds(min(limit, cells * room[place]), smallest, limit):
            continue
        if place == len(columns):
            if _exceeds(cells, smallest, limit):
                found.append(chosen)
            continue
        finer = _NEVER
        for name, size in columns[place]:
            if cells * size <= limit:
                stack.append((place + 1, (*chosen, name), cells * size, _smaller(smallest, finer, size)))
            finer = (size, 1)
        stack.append((place + 1, chosen, cells, _smaller(smallest, finer)))
    return None if stack else found


def _exceeds(cells: int, factor: Ratio, limit: int) -> bool:
    """Whether a set of this many cells would be too large if it grew by a factor."""
    return cells * factor[0] > limit * factor[1]


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
