"""Synthesis from sorted views (STS): build each row view by view, always from the largest cell that is left.

Section 3.3 of the DPSyn concept paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.marginals import Marginals
from sfumato.data.records import Records
from sfumato.data.selection import Selection
from sfumato.errors import MethodError
from sfumato.models.rounding import round_counts
from sfumato.synthesize.exchanging import exchanged
from sfumato.synthesize.matching import rank
from sfumato.synthesize.start import maximal

Ints = NDArray[np.int64]
Columns = dict[str, Ints]


@dataclass(frozen=True)
class SortedViews:
    """Sort the tables so each adds few columns, then fill the rows from the largest cells down.

    Tables that add no column are not used, rare values meet rare values, and a row's columns are tied only through the
    sorted tables. It is fast and has its place in comparisons; other methods come nearer to the tables.

    Args:
        repeats: the rows are made in this many parts, each with a random order of the tables, so no choice of the
            first table shapes them all.
    """

    repeats: int = 10

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise MethodError(f"repeats is {self.repeats}; give 1 or more")

    def __call__(self, marginals: Marginals, selection: Selection, rows: int, rng: np.random.Generator) -> Records:
        """`rows` rows that follow the sorted tables of `marginals`."""
        domain = marginals.domain
        for name in domain.names:
            marginals.project((name,))  # refuses a column that no table contains
        cliques = maximal(marginals.cliques)
        parts = [
            fill(marginals, sort_views(cliques, rng), rows // self.repeats + (part < rows % self.repeats), rng)
            for part in range(self.repeats)
        ]
        order = rng.permutation(rows)
        return Records(domain, [np.concatenate([part[name] for part in parts])[order] for name in domain.names])


def sort_views(cliques: Iterable[Clique], rng: np.random.Generator) -> list[Clique]:
    """A random clique, then always one that adds as few new columns as possible; those that add none are left out.

    Among equals the one that shares most columns comes first, and then chance decides.
    """
    rest = list(cliques)
    rest = [rest[index] for index in rng.permutation(len(rest))]
    views = rest[:1]
    known: set[str] = set(*views)
    while rest := [clique for clique in rest if not set(clique) <= known]:
        views.append(min(rest, key=lambda clique: (len(set(clique) - known), -len(clique))))
        known |= set(views[-1])
    return views


def fill(marginals: Marginals, views: Sequence[Clique], rows: int, rng: np.random.Generator) -> Columns:
    """`rows` rows, in the order in which they are made.

    The paper makes one row at a time: in each view it takes the largest cell that agrees with the columns set so far,
    and then takes 1 off that cell. But what a view gives to a row depends only on how many rows came before with the
    same values in the columns that were set. So a view can be dealt to all rows at once: each of these values has its
    own pile of cards, largest cells first (see `pile`), and the i-th row with that value gets the i-th card.

    Views that do not quite agree can run out of cards for a value; it is then dealt anew from its full counts. A value
    that the view has not counted at all gets the new columns as the view has them over all values. Where constraints
    forbid what was dealt, rows with the same value exchange their cards.
    """
    columns: Columns = {}
    for view in views:
        shared, added = ([name for name in view if (name in columns) == known] for known in (True, False))
        table = marginals.project((*shared, *added)).counts.astype(np.float64).clip(min=0)
        table = table.reshape(marginals.domain.cells(shared), -1)
        value = np.zeros(rows, dtype=np.int64)
        for name in shared:
            value = value * marginals.domain[name] + columns[name]
        counts = _whole(table, np.bincount(value, minlength=len(table)), rng)
        cards, size = pile(counts, rng), counts.sum(axis=1)
        order = np.argsort(value, kind="stable")
        place = np.empty(rows, dtype=np.int64)
        place[order] = rank(value[order]) % size[value[order]]
        dealt = _decode(cards[(np.cumsum(size) - size)[value] + place], marginals.domain.project(added))
        if marginals.constraints is not None:
            better = exchanged(columns, dealt, value, marginals.constraints, rng)
            dealt = {name: codes[better] for name, codes in dealt.items()}
        columns |= dealt
    return columns


def _whole(table: NDArray[np.float64], rows: Ints, rng: np.random.Generator) -> Ints:
    """Whole counts in proportion to a table of values × cells, and at least something for each value that has rows."""
    counts = round_counts(table.ravel(), int(rows.sum()), rng).reshape(table.shape)
    for value in np.flatnonzero((rows > 0) & (counts.sum(axis=1) == 0)):
        quotas = table[value] if table[value].any() else table.sum(axis=0)
        counts[value] = round_counts(quotas, int(rows[value]), rng)
    return counts


def pile(counts: Ints, rng: np.random.Generator) -> Ints:
    """For each row of `counts`, one after the other: its cells in the order in which "take the largest" takes them.

    A cell with count c is taken when it has c, c - 1, … 1 left, after all cells that have more; chance decides among
    equals.

    >>> pile(np.array([[1, 3], [2, 0]]), np.random.default_rng(0))[[0, 1, 4, 5]]
    array([1, 1, 0, 0])
    """
    flat = counts.ravel()
    cells = np.repeat(np.arange(len(flat)), flat)
    left = flat[cells] - rank(cells)
    order = np.lexsort((rng.random(len(cells)), -left, cells // counts.shape[1]))
    return np.asarray(cells[order] % counts.shape[1], dtype=np.int64)


def _decode(cells: Ints, domain: Domain) -> Columns:
    """The columns of a domain for each cell number."""
    return dict(zip(domain.names, np.unravel_index(cells, domain.shape), strict=True))
