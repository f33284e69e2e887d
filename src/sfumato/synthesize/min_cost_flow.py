"""Synthesis by min-cost flow (MCF): make rows fit one table after the other, each time changing as little as possible.

Section 3.3 of the DPSyn concept paper, appendix A.1 of the DPSyn paper on the NIST challenge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import kernels
from sfumato.data.constraints import Constraints
from sfumato.data.marginals import Marginals
from sfumato.data.records import Records
from sfumato.data.selection import Selection
from sfumato.errors import MethodError
from sfumato.loops import counted
from sfumato.models.rounding import round_counts
from sfumato.synthesize.matching import rank
from sfumato.synthesize.repair import obeying
from sfumato.synthesize.start import Barrier, Table, Target, independent_columns, maximal

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class MinCostFlow:
    """Start from independent columns; for each table in turn move rows from over-full to under-full cells.

    A row that moves takes only the table's own columns from its new cell. In the papers every move costs 1, so all
    ways to pair over-full with under-full cells are optimal. Among these we take one that changes few columns, which
    spoils less of what earlier tables have built: on the built-in survey it divides the distance to the tables by two
    at epsilon 5 and by four at epsilon 1.

    Args:
        cost: what a move costs: the number of "columns" that it changes, or the same for all pairs of "cells", as in
            the papers; then pairs are random.
        sweeps: how often every table is visited at most.
        still: stop after a sweep that moved less than this share of the rows for a table, on average.
    """

    cost: Literal["columns", "cells"] = "columns"
    sweeps: int = 10
    still: float = 0.001

    def __post_init__(self) -> None:
        if self.cost not in ("columns", "cells"):
            raise MethodError(f"cost {self.cost!r} is unknown; give 'columns' or 'cells'")

    def __call__(self, marginals: Marginals, selection: Selection, rows: int, rng: np.random.Generator) -> Records:
        """`rows` rows whose marginals come close to `marginals`, which must agree with each other."""
        domain = marginals.domain
        table = independent_columns(marginals, rows, rng)
        constraints = marginals.constraints or Constraints(domain)
        if rows and constraints.items:
            table[:] = np.array(obeying(Records(domain, list(table)), constraints, rng).columns)
        barriers = [Barrier.of(one, domain.names) for one in constraints.items]
        # One-way tables are fitted by the start. Small tables come first: large ones say more and get the last word.
        cliques = [clique for clique in maximal(marginals.cliques) if len(clique) > 1]
        targets = [Target.of(marginals.project(clique), domain.names, rows) for clique in cliques]
        for _ in counted(range(self.sweeps), "sweeps"):
            moved = sum(transport(table, target, self.cost, rng, barriers) for target in targets)
            if moved <= self.still * rows * len(targets):
                break
        return Records(domain, list(table[:, rng.permutation(rows)]))


def transport(
    table: Table,
    target: Target,
    cost: Literal["columns", "cells"],
    rng: np.random.Generator,
    barriers: Sequence[Barrier] = (),
) -> int:
    """Make `table` fit one target, in place, by moving as few rows as possible; return how many were moved.

    Args:
        table: the rows, column-major.
        target: the table to fit; afterwards every cell is next to what it wants, but for barriers.
        cost: whether rows rather move to cells that share columns with their own.
        rng: randomness of the synthesis.
        barriers: a row that would enter a forbidden cell stays as it was.
    """
    touched = [one for one in barriers if set(one.columns) & set(target.columns)]
    crossed = [one.crossed(table) for one in touched]
    cell, counts = kernels.locate(table, target.columns, target.sizes)
    change = nearest_whole(counts, target.wanted, rng) - counts
    surplus, deficit = (-change).clip(min=0), change.clip(min=0)
    source, sink = flow(surplus, deficit, target.sizes if cost == "columns" else (), rng)
    members = rng.permutation(np.flatnonzero(surplus[cell] > 0))
    members = members[np.argsort(cell[members], kind="stable")]
    leaving = members[rank(cell[members].astype(np.int64)) < surplus[cell[members]]]
    entered = sink[np.argsort(source, kind="stable")]
    before = table[:, leaving].copy() if touched else table[:, :0]
    for column, codes in zip(target.columns, np.unravel_index(entered, target.sizes), strict=True):
        table[column, leaving] = codes
    stay = np.zeros(len(leaving), dtype=np.bool_)
    for one, already in zip(touched, crossed, strict=True):
        stay |= (one.crossed(table) & ~already)[leaving]
    if stay.any():
        table[:, leaving[stay]] = before[:, stay]
    return len(leaving) - int(stay.sum())


def nearest_whole(counts: Ints, wanted: NDArray[np.float64], rng: np.random.Generator) -> Ints:
    """Whole cells next to `wanted`, with the total of `counts` and otherwise as near to `counts` as that allows.

    A cell that is next to what is wanted keeps its count; any other is rounded at random, without bias. Their sum then
    misses the total by a little, which is made up for where cells are furthest from what is wanted.
    """
    fits = np.abs(counts - wanted) < 1
    whole = np.where(fits, counts, np.floor(wanted + rng.random(len(wanted)))).astype(np.int64)
    short = int(counts.sum() - whole.sum())
    gap = (wanted - whole) * np.sign(short)
    return np.asarray(whole + np.sign(short) * round_counts(gap.clip(min=0), abs(short), rng), dtype=np.int64)


def flow(surplus: Ints, deficit: Ints, sizes: Sequence[int], rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Pair the rows that leave over-full cells with places in under-full ones: cells of origin, cells of destination.

    Every pairing moves the fewest rows. To change few columns too, rows are paired greedily: first with places that
    differ from their cell in one column, then in two, and so on, at random among equals. For n rows and k columns this
    takes k(k - 1) sorts of at most n numbers, where an exact solver would look at all pairs of cells.

    Args:
        surplus: rows that leave each cell.
        deficit: rows that enter each cell; the sums are equal.
        sizes: the sizes of the columns; if empty, all pairs count as equal.
        rng: randomness of the synthesis.
    """
    source, sink = (np.repeat(np.arange(len(units)), units) for units in (surplus, deficit))
    paired: list[tuple[Ints, Ints]] = []
    for kept in _kept(len(sizes), rng):
        if not len(source):
            break
        source, sink = rng.permutation(source), rng.permutation(sink)
        here, there = _meet(_group(source, sizes, kept), _group(sink, sizes, kept))
        paired.append((source[here], sink[there]))
        source, sink = np.delete(source, here), np.delete(sink, there)
    paired.append((rng.permutation(source), sink))
    return np.concatenate([one for one, _ in paired]), np.concatenate([other for _, other in paired])


def _kept(columns: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Sets of columns to keep, largest first: of each size as many as there are columns, each column equally often.

    These are all sets of all but one column and all of one; in between, the number of all sets would explode.
    """
    order = rng.permutation(columns)
    for size in range(columns - 1, 0, -1):
        for shift in rng.permutation(columns):
            yield np.roll(order, int(shift))[:size]


def _group(cells: Ints, sizes: Sequence[int], kept: Ints) -> Ints:
    """A number for the codes of each cell in the kept columns."""
    codes = np.unravel_index(cells, sizes)
    return np.asarray(np.ravel_multi_index([codes[c] for c in kept], [sizes[c] for c in kept]), dtype=np.int64)


def _meet(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Positions on both sides that have a partner of the same group, paired in order, as many as possible."""
    groups = int(max(left.max(), right.max())) + 1
    both = np.minimum(np.bincount(left, minlength=groups), np.bincount(right, minlength=groups))
    chosen = []
    for side in (left, right):
        order = np.argsort(side, kind="stable")
        chosen.append(order[rank(side[order]) < both[side[order]]])
    return chosen[0], chosen[1]
