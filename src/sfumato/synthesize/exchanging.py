"""Parts of rows exchanged until fewer rows break a rule: for methods that build rows part by part.

Rows of one group agree in what ties the new part to them, so any of them may have the new part of any other: no table
of the method changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.constraints import Constraints

Ints = NDArray[np.int64]
Columns = Mapping[str, NDArray[np.integer]]

ROUNDS = 100
"""How often every row that breaks a rule is offered the part of another."""


def exchanged(known: Columns, new: Columns, group: Ints, constraints: Constraints, rng: np.random.Generator) -> Ints:
    """For each row the place of the new part that it should have, among rows of its group.

    Rows that break a constraint are offered parts of random others. Two rows exchange theirs unless that would break
    more than it mends; of a constraint whose columns are not all there, what the others may be is left open.

    Args:
        known: columns of the rows so far.
        new: columns that come as one part for each row.
        group: only rows with the same number may exchange parts.
        constraints: which cells may hold rows.
        rng: randomness of the synthesis.
    """
    part = np.arange(len(group))
    demands = _demands(known, new, constraints)
    if not demands or not len(group):
        return part
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], group)
    size = np.bincount(group)[group]

    def broken(rows: Ints, parts: Ints) -> Ints:
        return np.asarray(np.sum([one.broken(known, new, rows, parts) for one in demands], axis=0, dtype=np.int64))

    every = np.arange(len(group))
    bad = every[(broken(every, part) > 0) & (size > 1)]
    for _ in range(ROUNDS):
        if not len(bad):
            break
        other = order[first[bad] + (rng.random(len(bad)) * size[bad]).astype(np.int64)]
        one, two = _disjoint(bad, other, rng)
        before = broken(one, part[one]) + broken(two, part[two])
        after = broken(one, part[two]) + broken(two, part[one])
        better = after <= before
        one, two = one[better], two[better]
        part[one], part[two] = part[two], part[one]
        changed = np.union1d(bad, two)
        bad = changed[broken(changed, part[changed]) > 0]
    return part


@dataclass(frozen=True, eq=False)
class _Demand:
    """A constraint between columns that are known and columns of the new part."""

    here: tuple[str, ...]
    there: tuple[str, ...]
    allowed: NDArray[np.bool_]

    def broken(self, known: Columns, new: Columns, rows: Ints, parts: Ints) -> NDArray[np.bool_]:
        """Whether rows would break it with these parts."""
        codes = (*(known[name][rows] for name in self.here), *(new[name][parts] for name in self.there))
        return np.asarray(~self.allowed[codes])


def _demands(known: Columns, new: Columns, constraints: Constraints) -> list[_Demand]:
    """The constraints that tie what is known to the new part."""
    found = []
    for item in constraints.items:
        here = tuple(name for name in item.clique if name in known and name not in new)
        there = tuple(name for name in item.clique if name in new)
        if here and there:
            left = [name for name in item.clique if name in (*here, *there)]
            others = tuple(axis for axis, name in enumerate(item.clique) if name not in left)
            table = np.asarray(item.allowed.any(axis=others))
            found.append(_Demand(here, there, table.transpose([left.index(name) for name in (*here, *there)])))
    return found


def _disjoint(one: Ints, two: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Of pairs of rows, as many as come first in a random order and share no row."""
    mixed = rng.permutation(len(one))
    both = np.stack([one[mixed], two[mixed]], axis=1).ravel()
    place = np.unique(both, return_index=True)[1]
    first = np.zeros(len(both), dtype=np.bool_)
    first[place] = True
    kept = first.reshape(-1, 2).all(axis=1)
    return one[mixed][kept], two[mixed][kept]
