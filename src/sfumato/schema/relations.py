"""Relations between values: differences and sums that hold inside bins, not only between them.

Columns that relations tie form a group. Their values are narrowed from their bins: what one value may be bounds the
others, until nothing changes. For differences this is exact: the least values that are left obey every relation, since
each of them only asks that a value be large enough for others to be small enough. A value is drawn, the bounds follow,
and so on; where sums meet differences a draw can still fail, and is then tried again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.schema.axes import Axis, Ints

Mask = NDArray[np.bool_]
Bounds = dict[str, list[Ints]]
"""For each column, the least and the largest value that are left in each row."""

ROUNDS = 64
"""Narrowing ends after this many rounds; more than a few are needed only where increments of columns differ."""

TRIES = 8
"""How often values are drawn for rows in which a draw failed, before the least values are taken."""

FAR = 1 << 62
"""A difference that has no bound."""


@dataclass(frozen=True)
class Difference:
    """low <= later - earlier <= high, where both are there; in units of their axes."""

    earlier: str
    later: str
    low: int = -FAR
    high: int = FAR

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are tied."""
        return (self.earlier, self.later)

    def holds(self, values: Mapping[str, Ints]) -> Mask:
        """In which rows it holds, where all values are there."""
        gap = values[self.later] - values[self.earlier]
        return (gap >= self.low) & (gap <= self.high)

    def narrow(self, bounds: Bounds, axes: Mapping[str, Axis], rows: Mask) -> None:
        """Tighten bounds in some rows, in place."""
        for one, other, low, high in (
            (self.earlier, self.later, self.low, self.high),
            (self.later, self.earlier, -self.high, -self.low),
        ):
            if low > -FAR:
                _raise(bounds, axes, other, bounds[one][0] + low, rows)
            if high < FAR:
                _lower(bounds, axes, other, bounds[one][1] + high, rows)


@dataclass(frozen=True)
class Sum:
    """The parts add up to the total, where all are there; in units of their axes."""

    parts: tuple[str, ...]
    total: str

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are tied."""
        return (*self.parts, self.total)

    def holds(self, values: Mapping[str, Ints]) -> Mask:
        """In which rows it holds, where all values are there."""
        return np.asarray(sum(values[name] for name in self.parts) == values[self.total])

    def narrow(self, bounds: Bounds, axes: Mapping[str, Axis], rows: Mask) -> None:
        """Tighten bounds in some rows, in place."""
        low, high = (sum((bounds[name][end] for name in self.parts), np.zeros(1, np.int64)) for end in (0, 1))
        _raise(bounds, axes, self.total, low, rows)
        _lower(bounds, axes, self.total, high, rows)
        for name in self.parts:
            others_low, others_high = low - bounds[name][0], high - bounds[name][1]
            _raise(bounds, axes, name, bounds[self.total][0] - others_high, rows)
            _lower(bounds, axes, name, bounds[self.total][1] - others_low, rows)
            low, high = others_low + bounds[name][0], others_high + bounds[name][1]


Relation = Difference | Sum


@dataclass(frozen=True, eq=False)
class Group:
    """Columns that relations tie, each with its axis. A column may be tied by its axis alone, to its increments."""

    axes: Mapping[str, Axis]
    relations: tuple[Relation, ...]

    def possible(self, codes: Mapping[str, Ints], missing: Mapping[str, Mask]) -> Mask:
        """In which rows the bins hold values that the relations leave; codes that are missing stand for no value."""
        bounds = self._bounds(codes)
        self._narrow(bounds, missing)
        return self._open(bounds, missing)

    def holds(self, values: Mapping[str, Ints], missing: Mapping[str, Mask]) -> Mask:
        """In which rows all relations hold, and all values are values of their axes."""
        fine = np.ones(len(next(iter(values.values()))), dtype=np.bool_)
        for name, axis in self.axes.items():
            fine &= missing[name] | (axis.up(values[name]) == values[name])
        for relation in self.relations:
            fine &= ~_applies(relation, missing) | relation.holds(values)
        return fine

    def draw(
        self, codes: Mapping[str, Ints], missing: Mapping[str, Mask], rng: np.random.Generator
    ) -> tuple[dict[str, Ints], Mask]:
        """Values inside the bins of some rows, and in which rows they obey the relations."""
        start = self._bounds(codes)
        self._narrow(start, missing)
        values = {name: low.copy() for name, (low, _) in start.items()}  # the least ones, where every draw fails
        left = np.flatnonzero(self._open(start, missing))
        for _ in range(TRIES):
            if not len(left):
                break
            absent = {name: mask[left] for name, mask in missing.items()}
            bounds = {name: [low[left], high[left]] for name, (low, high) in start.items()}
            alive = np.ones(len(left), dtype=np.bool_)
            for name in rng.permutation(list(self.axes)).tolist():
                alive &= bounds[name][0] <= bounds[name][1]
                low, high = bounds[name]
                drawn = self.axes[name].draw(low, np.maximum(low, high), rng)
                bounds[name] = [drawn, drawn.copy()]
                self._narrow(bounds, absent)
            found = {name: low for name, (low, _) in bounds.items()}
            alive &= self._inside(found, start, left) & self.holds(found, absent)
            for name, drawn in found.items():
                values[name][left[alive]] = drawn[alive]
            left = left[~alive]
        return values, self.holds(values, missing) & self._open(start, missing)

    def _bounds(self, codes: Mapping[str, Ints]) -> Bounds:
        return {name: [axis.first[codes[name]], axis.last[codes[name]]] for name, axis in self.axes.items()}

    def _narrow(self, bounds: Bounds, missing: Mapping[str, Mask]) -> None:
        applies = [_applies(relation, missing) for relation in self.relations]
        for _ in range(ROUNDS if self.relations else 0):
            before = [end for ends in bounds.values() for end in ends]
            alive = self._open(bounds, missing)  # bounds that have crossed would only run away
            for relation, rows in zip(self.relations, applies, strict=True):
                relation.narrow(bounds, self.axes, rows & alive)
            after = [end for ends in bounds.values() for end in ends]
            if all(np.array_equal(one, other) for one, other in zip(before, after, strict=True)):
                return

    @staticmethod
    def _open(bounds: Bounds, missing: Mapping[str, Mask]) -> Mask:
        return np.asarray(
            np.logical_and.reduce([missing[name] | (low <= high) for name, (low, high) in bounds.items()])
        )

    @staticmethod
    def _inside(found: Mapping[str, Ints], start: Bounds, rows: Ints) -> Mask:
        return np.asarray(
            np.logical_and.reduce(
                [(start[name][0][rows] <= one) & (one <= start[name][1][rows]) for name, one in found.items()]
            )
        )


def grouped(relations: Sequence[Relation], alone: Sequence[str]) -> list[tuple[tuple[str, ...], tuple[Relation, ...]]]:
    """The columns that hang together by relations, with these relations; and each of `alone` that no relation has."""
    groups: list[tuple[set[str], list[Relation]]] = [({name}, []) for name in dict.fromkeys(alone)]
    for relation in relations:
        names, held = set(relation.names), [relation]
        for other in [group for group in groups if group[0] & names]:
            names |= other[0]
            held = [*other[1], *held]
            groups.remove(other)
        groups.append((names, held))
    return [(tuple(sorted(names)), tuple(held)) for names, held in groups]


def _applies(relation: Relation, missing: Mapping[str, Mask]) -> Mask:
    return np.asarray(~np.logical_or.reduce([missing[name] for name in relation.names]))


def _raise(bounds: Bounds, axes: Mapping[str, Axis], name: str, least: Ints, rows: Mask) -> None:
    low = bounds[name][0]
    bounds[name][0] = np.where(rows & (least > low), axes[name].up(least), low)


def _lower(bounds: Bounds, axes: Mapping[str, Axis], name: str, most: Ints, rows: Mask) -> None:
    high = bounds[name][1]
    bounds[name][1] = np.where(rows & (most < high), axes[name].down(most), high)
