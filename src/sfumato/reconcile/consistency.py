"""Weighted consistency: tables that share columns must agree on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.marginals import Marginals
from sfumato.data.selection import Selection
from sfumato.errors import SchemaError
from sfumato.loops import counted
from sfumato.models.nonnegative import norm_sub

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ConsistentNormSub:
    """Consistency and norm-sub in turn, until both hold.

    The first pass averages what all tables say of the columns they share, weighted by precision. Norm-sub then lifts
    rare values, and in large, sparse tables much more than in small ones. So from the second pass on, a table that is
    itself a shared set (a one-way table, say) is followed by the larger ones and does not follow them.

    Args:
        tolerance: largest allowed disagreement of two tables in a shared cell, as a part of all rows.
        passes: give up improving after this many rounds; the last step is norm-sub.
    """

    tolerance: float = 1e-5
    passes: int = 200

    def __call__(
        self, domain: Domain, measurements: Sequence[Measurement], selection: Selection | None = None
    ) -> Marginals:
        """Tables with one common total, no negative cell, and (nearly) equal shared marginals."""
        measurements = [one.ordered(domain) for one in measurements]
        overlaps = Overlaps.of(measurements)
        tables = [np.array(one.marginal.counts, dtype=np.float64) for one in measurements]
        total = overlaps.total(tables)
        overlaps.agree(tables)
        settled = overlaps.settled()
        allowed = [one.allowed for one in measurements]
        for _ in counted(range(self.passes), "passes"):
            tables = [norm_sub(table, total, cells) for table, cells in zip(tables, allowed, strict=True)]
            if overlaps.disagreement(tables) <= self.tolerance * max(total, 1.0):
                break
            settled.agree(tables)
        else:
            tables = [norm_sub(table, total, cells) for table, cells in zip(tables, allowed, strict=True)]
        agreed = tuple(Marginal(one.domain, table) for one, table in zip(measurements, tables, strict=True))
        return Marginals(domain, agreed, tuple(sqrt(one.variance) for one in measurements))


@dataclass(frozen=True)
class _Shared:
    """One set of shared columns: which tables contain it, over which axes to sum them, and how much each is trusted.

    `spread[i]` is, for each cell of table i, the part of a correction of its shared cell that it takes: 0 for cells
    that hold no rows, an equal part for the others (one number where all may hold rows). `open` says which shared cells
    some row may lie in.
    """

    members: tuple[int, ...]
    summed: tuple[tuple[int, ...], ...]
    spread: tuple[Array, ...]
    weights: tuple[float, ...]
    open: NDArray[np.bool_]

    def settled(self) -> _Shared:
        """The same set; if one of the tables is over just these columns, all weight is on it."""
        if () not in self.summed:
            return self
        leader = self.summed.index(())
        return replace(self, weights=tuple(float(place == leader) for place in range(len(self.members))))


@dataclass(frozen=True)
class Overlaps:
    """All shared column sets of a list of tables, smallest first, so a later set never disturbs an earlier one.

    The sets are all intersections of tables' column sets (closed under intersection). For a set A, table i with C_i
    noisy cells for a cell of A (on average) and noise variance v_i estimates that cell with variance C_i v_i; the
    estimates are averaged with inverse-variance weights, and each table spreads its correction evenly over the noisy
    cells. Cells that are known to hold no rows have no noise and get no correction. A correction may then move the sums
    over other columns, so where there are such cells, one pass is not enough.
    """

    shared: tuple[_Shared, ...]

    @classmethod
    def of(cls, measurements: Sequence[Measurement]) -> Overlaps:
        """The overlaps of some measurements, whose axes must be in one common order; else cells would be mixed up."""
        _require_one_order(measurements)
        sets = [frozenset(one.clique) for one in measurements]
        # By column: tables that have none in common share nothing but the total, and of many tables most are such.
        having: dict[str, set[int]] = {}
        for index, columns in enumerate(sets):
            for name in columns:
                having.setdefault(name, set()).add(index)

        def shared_by(columns: frozenset[str]) -> set[frozenset[str]]:
            return {columns & sets[index] for name in columns for index in having[name]}

        closure = {frozenset[str]()}
        fresh = {
            columns & sets[other]
            for index, columns in enumerate(sets)
            for name in columns
            for other in having[name]
            if other > index
        }
        while fresh - closure:
            closure |= fresh
            fresh = set().union(*map(shared_by, fresh)) - closure
        shared = []
        for names in sorted(closure, key=lambda names: (len(names), sorted(names))):
            members = sorted(set.intersection(*(having[name] for name in names))) if names else range(len(sets))
            if len(members) < 2 and names:
                continue
            shared.append(_shared(names, tuple(members), measurements))
        return cls(tuple(shared))

    def settled(self) -> Overlaps:
        """The same overlaps, where a table over just the shared columns is trusted alone."""
        return Overlaps(tuple(part.settled() for part in self.shared))

    def total(self, tables: Sequence[Array]) -> float:
        """The estimate of the number of rows from all tables."""
        return float(_estimate(self.shared[0], [table.sum() for table in tables]))

    def agree(self, tables: list[Array]) -> None:
        """Make all tables agree on all shared columns, changing `tables` in place."""
        for part in self.shared:
            sums = [tables[i].sum(axis=axes, keepdims=True) for i, axes in zip(part.members, part.summed, strict=True)]
            if len(part.members) > 1:
                estimate = _estimate(part, [one.reshape(_squeezed(one)) for one in sums])
                for index, one, spread in zip(part.members, sums, part.spread, strict=True):
                    tables[index] = tables[index] + (estimate.reshape(one.shape) - one) * spread

    def disagreement(self, tables: Sequence[Array]) -> float:
        """The largest difference between two tables in a cell that they share."""
        worst = 0.0
        for part in self.shared:
            sums = [tables[i].sum(axis=axes) for i, axes in zip(part.members, part.summed, strict=True)]
            stacked = np.stack([one.ravel() for one in sums])
            worst = max(worst, float((stacked.max(axis=0) - stacked.min(axis=0)).max()))
        return worst


def _require_one_order(measurements: Sequence[Measurement]) -> None:
    """Refuse tables that have the same columns in different orders."""
    first: dict[tuple[str, str], Measurement] = {}
    for one in measurements:
        for pair in combinations(one.clique, 2):
            first.setdefault(pair, one)
    for (before, after), one in first.items():
        if (after, before) in first:
            other = first[after, before]
            raise SchemaError(
                f"tables over {', '.join(one.clique)} and over {', '.join(other.clique)} have columns in different "
                "orders; bring all into the order of one domain (Measurement.ordered)"
            )


def _shared(names: frozenset[str], members: tuple[int, ...], measurements: Sequence[Measurement]) -> _Shared:
    summed, spread, precision = [], [], []
    live = np.ones((), dtype=np.bool_)
    for index in members:
        one = measurements[index]
        summed.append(tuple(axis for axis, name in enumerate(one.domain.names) if name not in names))
        if one.allowed is None:  # one number is the part of every cell: thousands of tables of it would fill memory
            cells = one.domain.cells(one.domain.names[axis] for axis in summed[-1])
            spread.append(np.array(1 / cells))
            precision.append(1 / (one.variance * cells))
            continue
        copies = one.noisy_cells.sum(axis=summed[-1], keepdims=True)
        spread.append(one.noisy_cells / np.maximum(copies, 1))
        precision.append(1 / (one.variance * float(copies[copies > 0].mean())))
        live = live & (copies > 0).reshape(_squeezed(copies))
    weights = tuple(value / sum(precision) for value in precision)
    return _Shared(members, tuple(summed), tuple(spread), weights, live)


def _squeezed(array: Array) -> tuple[int, ...]:
    return tuple(size for size in array.shape if size > 1)


def _estimate(part: _Shared, sums: Sequence[Array]) -> Array:
    return np.asarray(sum(weight * one for weight, one in zip(part.weights, sums, strict=True)) * part.open)
