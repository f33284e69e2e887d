"""Bins: which code a number has, and which numbers a code stands for. Nothing here depends on data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_LISTED = 1 << 16
"""Ticks of bins that are looked up in a list."""


@dataclass(frozen=True, eq=False)
class TickBins:
    """Bins of consecutive whole numbers (ticks): bin i holds starts[i] … starts[i + 1] - 1.

    >>> bins = TickBins.equal(0, 9, 4)
    >>> bins.starts
    array([ 0,  3,  5,  8, 10])
    >>> bins.code(np.array([0, 4, 5, 9]))
    array([0, 1, 2, 3])
    """

    starts: Ints

    @classmethod
    def equal(cls, low: int, high: int, count: int) -> TickBins:
        """Cut [low, high + 1) into `count` equal parts; a tick belongs to the part that it lies in."""
        ticks = high - low + 1
        # Python's integers are exact: the first tick of part i is the ceiling of low + i * ticks / count.
        return cls(np.array([low - (-i * ticks // count) for i in range(count + 1)], dtype=np.int64))

    @classmethod
    def between(cls, edges: Sequence[int]) -> TickBins:
        """Bins [e0, e1), [e1, e2), …, the last one closed."""
        return cls(np.array([*edges[:-1], edges[-1] + 1], dtype=np.int64))

    def cut(self, ticks: Iterable[int]) -> TickBins:
        """These bins, where one more begins at each of `ticks`."""
        added = [tick for tick in ticks if self.starts[0] < tick < self.starts[-1]]
        return TickBins(np.union1d(self.starts, np.array(added, dtype=np.int64))) if added else self

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def empty(self) -> bool:
        """Whether some bin holds no tick."""
        return bool((np.diff(self.starts) < 1).any())

    @property
    def firsts(self) -> Ints:
        """The first tick of each bin."""
        return self.starts[:-1]

    @property
    def lasts(self) -> Ints:
        """The last tick of each bin."""
        return self.starts[1:] - 1

    def place(self, tick: float) -> int:
        """The bin of one tick, which must lie inside."""
        return int(self.code(np.array([tick]))[0])

    def code(self, ticks: Ints) -> Ints:
        """The bin of each tick; all ticks must lie inside."""
        if self._table is not None and np.issubdtype(ticks.dtype, np.integer):
            found: Ints = self._table[ticks - self.starts[0]]
            return found
        return np.searchsorted(self.starts[1:-1], ticks, side="right")

    @cached_property
    def _table(self) -> Ints | None:
        """The bin of each tick from the first on, where there are few enough to list: it takes no search."""
        few = int(self.starts[-1]) - int(self.starts[0]) <= MOST_LISTED
        return np.repeat(np.arange(len(self)), np.diff(self.starts)) if few and not self.empty else None

    def draw(self, codes: NDArray[np.integer], rng: np.random.Generator) -> Ints:
        """A tick of each bin in `codes`, uniformly."""
        ticks: Ints = rng.integers(self.starts[codes], self.starts[1:][codes])
        return ticks


@dataclass(frozen=True, eq=False)
class RealBins:
    """Bins of real numbers [e0, e1), [e1, e2), …, the last one closed.

    With `decimals`, the numbers that are drawn are multiples of 10^-decimals; every number has a code.
    """

    edges: Floats
    decimals: int | None = None

    @classmethod
    def equal(cls, low: float, high: float, count: int, decimals: int | None = None) -> RealBins:
        """Cut [low, high] into `count` equal parts.

        The edges are those of exact arithmetic on the bounds as a person writes them, rounded once. So 0.15
        is an edge of twenty bins over [0, 1], and the text 0.15 falls into the bin that starts there.
        """
        first, last = Fraction(repr(float(low))), Fraction(repr(float(high)))
        edges = [float(first + (last - first) * i / count) for i in range(count + 1)]
        return cls(np.array(edges), decimals)

    def cut(self, numbers: Iterable[float]) -> RealBins:
        """These bins, where one more begins at each of `numbers`; that of the last edge holds just this edge."""
        added = {number for number in numbers if self.edges[0] < number <= self.edges[-1]} - set(
            self.edges[:-1].tolist()
        )
        if not added:
            return self
        return RealBins(np.sort(np.concatenate([self.edges, np.array(sorted(added))])), self.decimals)

    def __len__(self) -> int:
        return len(self.edges) - 1

    @property
    def empty(self) -> bool:
        """Whether some bin holds no number that can be drawn."""
        if self.decimals is not None:
            return self.ticks.empty
        widths = np.diff(self.edges)
        return bool((widths[:-1] <= 0).any() or widths[-1] < 0)  # the last bin is closed: it may hold one number

    @property
    def firsts(self) -> Floats:
        """Where each bin begins."""
        return self.edges[:-1]

    @property
    def lasts(self) -> Floats:
        """Where each bin ends."""
        return self.edges[1:]

    def place(self, number: float) -> int:
        """The bin of one number, which must lie inside."""
        return int(self.code(np.array([number]))[0])

    @property
    def ticks(self) -> TickBins:
        """The multiples of 10^-decimals in each bin, as whole numbers."""
        scale = 10 ** (self.decimals or 0)
        starts = [first_tick(float(edge), scale) for edge in self.edges[:-1]]
        return TickBins(np.array([*starts, -first_tick(-float(self.edges[-1]), scale) + 1], dtype=np.int64))

    def code(self, numbers: Floats) -> Ints:
        """The bin of each number; all numbers must lie inside."""
        return np.searchsorted(self.edges[1:-1], numbers, side="right")

    def draw(self, codes: NDArray[np.integer], rng: np.random.Generator) -> Floats:
        """A number of each bin in `codes`, uniformly."""
        if self.decimals is not None:
            # A division rounds once: the result is the same float as the decimal text would give.
            return self.ticks.draw(codes, rng) / float(10**self.decimals)
        low, high = self.edges[:-1], self.edges[1:].copy()
        high[:-1] = np.nextafter(high[:-1], -np.inf)
        share = rng.random(len(codes))
        between = low[codes] * (1 - share) + self.edges[1:][codes] * share
        numbers: Floats = np.clip(between, low[codes], high[codes])
        return numbers


@dataclass(frozen=True, eq=False)
class PointBins:
    """A short list of growing numbers, each with a code of its own.

    >>> PointBins(np.array([1, 2, 5])).code(np.array([5, 1, 3]))
    array([ 2,  0, -1])
    """

    points: Ints | Floats

    def __len__(self) -> int:
        return len(self.points)

    @property
    def empty(self) -> bool:
        """No code stands for nothing."""
        return False

    @property
    def firsts(self) -> Ints | Floats:
        """The number of each code."""
        return self.points

    @property
    def lasts(self) -> Ints | Floats:
        """The number of each code."""
        return self.points

    def place(self, number: float) -> int:
        """How many of the numbers are not above this one, less one."""
        return int(np.searchsorted(self.points, number, side="right")) - 1

    def code(self, numbers: NDArray[Any]) -> Ints:
        """The code of each number; -1 for a number that is not in the list."""
        found = np.searchsorted(self.points, numbers).clip(max=len(self.points) - 1)
        return np.where(self.points[found] == numbers, found, -1)

    def draw(self, codes: NDArray[np.integer], rng: np.random.Generator) -> Ints | Floats:
        """The number of each code."""
        numbers: Ints | Floats = self.points[codes]
        return numbers


def first_tick(edge: float, scale: int) -> int:
    """The smallest whole k for which the float k / scale is not below `edge`."""
    tick = -((-Fraction(edge) * scale).__floor__())
    while (tick - 1) / scale >= edge:  # k / scale may round up to the edge
        tick -= 1
    return tick
