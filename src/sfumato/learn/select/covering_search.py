"""Search for few views that hold every set of t columns together: greedy and plane starts, then local search.

Nothing here sees anything but the sizes of columns, and everything follows from the seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, combinations
from math import ceil, comb, factorial, floor, log, prod
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.select.covering_planes import plane_design

View = tuple[int, ...]
"""Positions of columns, ascending."""

EXEMPT = 1 << 30
"""The cover count of what need not be covered: sets above the limit, and tuples that name a column twice."""

STAY = 10
"""For this many moves a column that has come into a view is not taken out lightly."""


@dataclass(frozen=True, eq=False)
class Task:
    """What views must do: hold together every set of `strength` columns that fits in a view of `limit` cells.

    Args:
        sizes: the number of codes of each column, at least 2.
        limit: how many cells a view may have.
        strength: how many columns must meet in a view, 2 or 3 (t of the design).
    """

    sizes: NDArray[np.int64]
    limit: int
    strength: int

    def counts(self) -> NDArray[np.int64]:
        """How often each set is covered by no views: 0, or EXEMPT. One axis for each column of a set; symmetric."""
        shape = (len(self.sizes),) * self.strength
        columns = np.indices(shape).reshape(self.strength, -1)
        asked = np.prod(self.sizes[columns].astype(np.float64), axis=0) <= self.limit
        for one, other in combinations(columns, 2):
            asked &= one != other
        return np.where(asked, 0, EXEMPT).reshape(shape)

    def cells(self, view: Iterable[int]) -> int:
        """The number of cells of a view."""
        return prod(int(self.sizes[column]) for column in view)


def fewest(sizes: Sequence[int], limit: int, strength: int) -> int:
    """A number of views that no covering goes below: Schönheim's argument, in columns and in cells.

    The views that hold a column must, without it, cover its partners; this many places it needs at least. All places
    must find room in the views, of which none has more than `widest` columns or `limit` cells.
    """
    widest = sum(product <= limit for product in accumulate(sorted(sizes), mul))
    if widest < strength:
        return 0
    places = {size: int(size <= limit) for size in sizes}
    if strength > 1:
        for size in places:
            others = [*sizes]
            others.remove(size)
            places[size] = fewest(others, limit // size, strength - 1)
    columns = sum(places[size] for size in sizes) / widest
    cells = sum(places[size] * log(size) for size in sizes) / log(limit)
    least: int = ceil(max(columns, cells) - 1e-9)
    return least


class Cover:
    """Some views, and how many of them hold each set."""

    def __init__(self, task: Task, views: Iterable[View] = ()):
        self.task = task
        self.counts = task.counts()
        self.views: list[View] = []
        for view in views:
            self.replace(len(self.views), view)

    def replace(self, index: int, view: View) -> None:
        """Replace a view by another, or after all others."""
        if index < len(self.views):
            self.counts[self._block(self.views[index])] -= 1
        self.views[index : index + 1] = [view]
        self.counts[self._block(view)] += 1

    def remove(self, index: int) -> None:
        """Leave a view out."""
        self.counts[self._block(self.views.pop(index))] -= 1

    def alone(self, columns: Sequence[int]) -> NDArray[np.bool_]:
        """Which sets among columns of one view no other view holds: a tensor over the columns."""
        return np.asarray(self.counts[self._block(columns)] == 1)

    def _block(self, columns: Sequence[int]) -> tuple[NDArray[np.int64], ...]:
        return np.ix_(*[np.asarray(columns, dtype=np.int64)] * self.task.strength)


def search(task: Task, seed: int = 0, starts: int = 8, moves: int = 5_000) -> list[View]:
    """Views that cover what the task asks for, as few as were found; none of them lies inside another.

    Args:
        task: what is to be covered.
        seed: public; the same seed gives the same views.
        starts: how many greedy coverings are begun with, besides those from planes; fewer if there are many sets.
        moves: how many steps go, in all, into doing without another view; fewer if there are few sets.
    """
    rng = np.random.default_rng(seed)
    bound = fewest(task.sizes.tolist(), task.limit, task.strength)
    sets = comb(len(task.sizes), task.strength)
    greedy: list[list[View]] = [[]] * max(1, min(starts, 20_000 // max(sets, 1)))
    begun = (complete(Cover(task, start), rng) for start in [*_plane_starts(task), *greedy])
    best = next(begun)
    while len(best.views) > bound and (found := next(begun, None)):
        best = min(best, found, key=lambda cover: len(cover.views))
    left = min(moves, 20 * sets)
    while left > 0 and len(best.views) > bound:
        shorter, made = shorten(best, min(left, 2_000), rng)
        left -= made + 1
        best = shorter or best
    prune(best)
    return best.views


def _plane_starts(task: Task) -> list[list[View]]:
    """Coverings of the small columns by planes: bundles of columns are the points, and `width` bundles fill a view."""
    starts = []
    for width in range(2, task.limit.bit_length()) if task.strength == 2 else ():
        room = floor(task.limit ** (1 / width) + 1e-9)
        bundles: list[list[int]] = []
        for column in np.argsort(-task.sizes, kind="stable"):
            if task.sizes[column] <= room:
                bundle = next((one for one in bundles if task.cells([*one, column]) <= room), None)
                if bundle is None:
                    bundles.append(bundle := [])
                bundle.append(int(column))
        blocks = plane_design(range(len(bundles)), width)
        views = [tuple(sorted(column for point in block for column in bundles[point])) for block in blocks]
        starts.append([view for view in views if len(view) > 1])
    return starts


def complete(cover: Cover, rng: np.random.Generator) -> Cover:
    """Add views until everything is covered; a view grows by the column that covers most sets for its cells."""
    sizes = cover.task.sizes
    worth = np.log2(sizes) ** rng.uniform(0, 1)  # how much more a large column must bring is tried both ways
    while True:
        wanted = cover.counts == 0
        degree = wanted.reshape(len(sizes), -1).sum(axis=1)
        if not degree.any():
            return cover
        view = [int(np.argmax(degree * worth * (1 + 1e-3 * rng.random(len(sizes)))))]
        while True:
            gain = _gains(wanted, view) / worth * (1 + 1e-3 * rng.random(len(sizes)))
            gain[sizes > cover.task.limit // cover.task.cells(view)] = 0
            if not gain.any():
                break
            view.append(int(np.argmax(gain)))
        cover.replace(len(cover.views), tuple(sorted(view)))


def _gains(wanted: NDArray[np.bool_], view: list[int]) -> NDArray[np.float64]:
    """For each column, how many wanted sets it completes in a view and, for triples, how many it comes nearer to."""
    touched = wanted[:, view].sum(axis=1).astype(np.float64)
    if wanted.ndim == 3:
        touched = touched[:, view].sum(axis=1) + 1e-4 * touched.mean(axis=1)
    touched[view] = 0
    return np.asarray(touched, dtype=np.float64)


def prune(cover: Cover) -> None:
    """Take out views, and columns of views, that hold nothing which other views do not hold too."""
    for view in sorted(cover.views, key=lambda view: (len(view), view)):
        index = cover.views.index(view)
        columns = list(view)
        for column in sorted(view, key=lambda column: -cover.task.sizes[column]):
            if not cover.alone(columns)[columns.index(column)].any():
                columns.remove(column)
        if columns:
            cover.replace(index, tuple(columns))
        else:
            cover.remove(index)


def shorten(cover: Cover, moves: int, rng: np.random.Generator) -> tuple[Cover | None, int]:
    """Try to do with one view less; the shorter cover, if there is one, and how many moves were made.

    The view that holds least alone is left out. Each move then takes a set that is not covered and adds it to a view
    that holds nearly all of it; columns leave that view where it loses least, until it is within its limit.
    """
    task = cover.task
    alone = [cover.alone(view).sum() for view in cover.views]
    least = int(np.argmin(alone + rng.random(len(alone))))
    board = Board(Cover(task, [view for index, view in enumerate(cover.views) if index != least]))
    for move in range(moves):
        wanted = np.argwhere(board.counts == 0)
        if not len(wanted):
            return Cover(task, board.views()), move
        board.move(wanted[rng.integers(len(wanted))], move, rng)
    return None, moves


class Board:
    """Views as rows of one array, so a move can be tried on many of them at once.

    Rows are filled up with the column after the last one, which is in no set and has one code.
    """

    def __init__(self, cover: Cover):
        self.task = cover.task
        self.blank = len(cover.task.sizes)
        self.sizes = np.append(cover.task.sizes, 1).astype(np.float64)
        self.counts = np.pad(cover.counts, (0, 1), constant_values=EXEMPT)
        self.rows = np.full((len(cover.views), cover.task.limit.bit_length() - 1), self.blank)
        for index, view in enumerate(cover.views):
            self.rows[index, : len(view)] = view
        self.entered = np.full((len(cover.views), self.blank + 1), -STAY)

    def views(self) -> list[View]:
        """The rows as views."""
        return [tuple(sorted(int(column) for column in row if column < self.blank)) for row in self.rows]

    def move(self, target: NDArray[np.int64], now: int, rng: np.random.Generator) -> None:
        """Add a set to the view where that gains most, or loses least, of those that hold nearly all of it."""
        held = (self.rows[:, :, None] == target).sum(axis=(1, 2))
        trials = np.flatnonzero(held == held.max())
        gains, columns = self._exchanges(trials, target, now, rng)
        best = int(np.argmax(gains))
        index = trials[best]
        self.entered[index, np.setdiff1d(target, self.rows[index])] = now
        self.counts[np.ix_(*[self.rows[index]] * len(target))] -= 1
        self.rows[index] = np.sort(columns[best])[: self.rows.shape[1]]  # blanks come last
        self.counts[np.ix_(*[self.rows[index]] * len(target))] += 1

    def _exchanges(
        self, trials: NDArray[np.int64], target: NDArray[np.int64], now: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Add a set to each of some views and take out what they can best do without; what it gains, and the views."""
        rows, every = self.rows[trials], np.arange(len(trials))
        kept = np.where(np.isin(rows, target), self.blank, rows)
        columns = np.hstack([kept, np.broadcast_to(target, (len(trials), len(target)))])
        inside = np.hstack([kept < self.blank, (rows[:, :, None] == target).any(axis=1)])
        own = reduce(np.logical_and, _axes(inside, len(target)))
        needed = self.counts[_axes(columns, len(target))] == own
        before = (needed & own).reshape(len(trials), -1).sum(axis=1)
        # A column that has just come stays for a while, or two columns would take turns for ever.
        stay = np.where(now - self.entered[trials[:, None], columns] < STAY, 3.0, 0.0)
        stay[:, -len(target) :] = np.inf
        gains = rng.random(len(trials)) - before / factorial(len(target))
        while (over := self.sizes[columns].prod(axis=1) > self.task.limit).any():
            loss = needed.reshape(*columns.shape, -1).sum(axis=2) + stay + rng.random(columns.shape)
            worst = np.argmin(np.where(columns < self.blank, loss, np.inf) / np.log(self.sizes[columns] + 1e-9), axis=1)
            out = every[over], worst[over]
            gains[over] -= stay[out]
            columns[out] = self.blank
            for axis in range(1, needed.ndim):
                np.moveaxis(needed, axis, 1)[out] = False
        return gains + needed.reshape(len(trials), -1).sum(axis=1) / factorial(len(target)), columns


def _axes(rows: NDArray[Any], strength: int) -> tuple[NDArray[Any], ...]:
    """Rows laid along each axis of a set in turn, to be broadcast together: row by row what np.ix_ is for one view."""
    return tuple(
        rows.reshape(len(rows), *(-1 if axis == other else 1 for other in range(strength))) for axis in range(strength)
    )
