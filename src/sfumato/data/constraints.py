"""Constraints: cells that may hold no row, whatever the rows are. They are public: their counts are known to be 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.coding import Coding
from sfumato.data.domain import Clique, Domain

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Constraint:
    """Which cells over a clique may hold rows; axes are in the order of the clique."""

    clique: Clique
    allowed: Mask

    def broken(self, codes: Mapping[str, NDArray[np.integer]]) -> Mask:
        """Which rows lie in cells that may hold none; `codes` has those of the clique."""
        return np.asarray(~self.allowed[tuple(codes[name] for name in self.clique)])


@dataclass(frozen=True, eq=False)
class Constraints:
    """All constraints on the attributes of a domain.

    >>> domain = Domain({"age": 2, "job": 2})
    >>> rule = Constraint(("age", "job"), np.array([[True, False], [True, True]]))
    >>> Constraints(domain, (rule,)).allowed(("job", "age"))
    array([[ True,  True],
           [False,  True]])
    """

    domain: Domain
    items: tuple[Constraint, ...] = ()

    def allowed(self, clique: Clique, coding: Coding | None = None) -> Mask | None:
        """Which cells of the table over a clique may hold rows; None if all may.

        A cell of merged codes may hold rows if one of its parts may; so may a cell of which a constraint knows only
        some of its own columns, if it may for some values of the others.

        Args:
            clique: the attributes of the table.
            coding: the codes that it is in; the domain of these constraints must be its base.
        """
        coding = coding or Coding(self.domain)
        found: Mask | None = None
        for item in self.items:
            mask = _seen(item, clique, coding)
            if mask is not None and not mask.all():
                found = mask if found is None else found & mask
        return None if found is None else np.array(np.broadcast_to(found, coding.domain.project(clique).shape))

    def through(self, coding: Coding) -> Constraints:
        """The same constraints on the attributes of a coding, in its codes."""
        kept = []
        for item in self.items:
            if all(name in coding.domain for name in item.clique):
                mask = self.allowed_by(item, coding)
                kept.append(Constraint(item.clique, mask))
        return Constraints(coding.domain, tuple(one for one in kept if not one.allowed.all()))

    @staticmethod
    def allowed_by(item: Constraint, coding: Coding) -> Mask:
        """The cells that one constraint allows, in the codes of a coding that has its attributes."""
        mask = _seen(item, item.clique, coding)
        return item.allowed if mask is None else mask

    def given(self, column: str, codes: Mapping[str, NDArray[np.integer]]) -> list[tuple[NDArray[np.int64], Mask]]:
        """What constraints leave of a column, where rows have codes of some other columns already.

        For each constraint a number for each row, and for each number the codes that may follow.
        """
        found = []
        for item in self.items:
            known = [name for name in item.clique if name in codes and name != column]
            if column in item.clique and known:
                others = tuple(axis for axis, name in enumerate(item.clique) if name not in (*known, column))
                left = [name for name in item.clique if name in (*known, column)]
                table = np.moveaxis(np.asarray(item.allowed.any(axis=others)), left.index(column), -1)
                place = np.ravel_multi_index([codes[name].astype(np.int64) for name in known], table.shape[:-1])
                found.append((place, table.reshape(-1, table.shape[-1])))
        return found

    def within(self, names: Iterable[str]) -> Constraints:
        """Those whose attributes are all among these."""
        part = self.domain.project(names)
        return Constraints(part, tuple(item for item in self.items if set(item.clique) <= set(part.names)))


def _seen(item: Constraint, clique: Clique, coding: Coding) -> Mask | None:
    """What a constraint says of the cells of a table, with an axis of length 1 for attributes it does not speak of."""
    axes: dict[str, tuple[int, NDArray[np.int64] | None]] = {}
    for place, name in enumerate(clique):
        base, lookup = coding.lookup(name)
        if base in item.clique and (base not in axes or coding.domain[name] > coding.domain[clique[axes[base][0]]]):
            axes[base] = (place, lookup)  # of several versions of an attribute, the finest says most
    if not axes:
        return None
    others = tuple(axis for axis, name in enumerate(item.clique) if name not in axes)
    mask: Mask = np.asarray(item.allowed.any(axis=others))
    left = [name for name in item.clique if name in axes]
    for axis, name in enumerate(left):
        place, lookup = axes[name]
        if lookup is not None:
            merged = np.zeros((coding.domain[clique[place]], *np.moveaxis(mask, axis, 0).shape[1:]), dtype=np.bool_)
            np.logical_or.at(merged, lookup, np.moveaxis(mask, axis, 0))
            mask = np.moveaxis(merged, 0, axis)
    order = sorted(range(len(left)), key=lambda axis: axes[left[axis]][0])
    mask = mask.transpose(order)
    shape = [1] * len(clique)
    for axis in order:
        place = axes[left[axis]][0]
        shape[place] = coding.domain[clique[place]]
    return mask.reshape(shape)
