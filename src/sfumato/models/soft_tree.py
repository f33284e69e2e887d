"""A distribution on a junction tree, fitted softly to noisy tables and closely to single columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from sfumato.data.constraints import Constraint
from sfumato.data.domain import Clique, Domain
from sfumato.loops import counted
from sfumato.models.graphical import allowed_start, walk
from sfumato.models.tree_model import Array, Messages, Part, TreeModel
from sfumato.models.zeros import tree_with_zeros

SLACK = 0.003
"""How much the entropy of the distribution counts against the noise of a table."""

SWEEPS, ENOUGH = 25, 2e-4
"""Fitting stops after this many sweeps, or when no table moves by more than this part of the rows in one."""


@dataclass(frozen=True, eq=False)
class Soft:
    """A noisy table: its estimate in rows, and the variance of a cell, which says how far it is trusted."""

    clique: Clique
    counts: Array
    variance: float


class _Target:
    """A table at its place in the tree, with its factor in the model so far (a logarithm); exact without a variance."""

    def __init__(self, part: Part, wanted: Array, variance: float | None):
        self.part, self.variance = part, variance
        self.wanted = wanted.ravel()
        self.factor = np.zeros(wanted.size)

    def meet(self, table: Array, rows: float) -> float:
        """Scale the table of a clique to this target, and say by which part of the rows it was off."""
        found = self.part.sums(table) * rows
        if self.variance is None:
            new = np.maximum(self.wanted, 0) + 1e-9
        else:
            # Without its own factor: each visit maximises the dual in this factor, given all others.
            without = found * np.exp(-np.clip(self.factor, -60, 60))
            new = _compromise(self.wanted, without * (rows / without.sum()), self.variance)
            new = np.maximum(new, 1e-7 * rows / new.size)
            new *= rows / new.sum()
        factors = np.where(found < 1e-12, 1.0, new / np.maximum(found, 1e-12))
        self.factor += np.log(np.maximum(factors, 1e-30))
        self.part.scale(table, factors)
        return float(np.abs(new - found).sum()) / rows


def soft_fit(
    domain: Domain,
    rows: float,
    columns: Sequence[Array],
    tables: Sequence[Soft],
    zeros: Sequence[Constraint] = (),
    limit: int = 0,
) -> TreeModel:
    """Proportional fitting around the junction tree of the tables, which must be small enough.

    Tables need not agree: each is met as far as its variance, and what all others say, allow. Single columns are met in
    every sweep, before the tables, and at the end up to what tables that contradict them take away again. Cells that
    `zeros` do not allow have nothing, as far as the tree has room for them within `limit` cells.
    """
    singles = [((name,), counts, None) for name, counts in zip(domain, columns, strict=True)]
    softs = [(one.clique, one.counts, one.variance) for one in tables]
    tree, kept = tree_with_zeros(domain, [clique for clique, _, _ in (*singles, *softs)], zeros, limit)
    work = Messages(tree, allowed_start(tree, kept).tables)
    targets: list[list[_Target]] = [[] for _ in tree.cliques]
    for clique, counts, variance in (*singles, *softs):
        holding = [place for place, held in enumerate(tree.cliques) if set(clique) <= set(held)]
        place = min(holding, key=lambda place: work.tables[place].size)
        targets[place].append(_Target(Part.of(domain, tree.cliques[place], clique), counts, variance))
    steps = list(walk(tree))
    for _ in counted(range(SWEEPS), "sweeps"):
        gap = _meet(work, 0, targets[0], rows)
        for place, entering in steps:
            if entering:
                work.tell_child(place)
                gap = max(gap, _meet(work, place, targets[place], rows))
            else:
                work.tell_parent(place)
        if gap < ENOUGH:
            break
    work.tables[0] /= work.tables[0].sum()
    work.distribute()
    return TreeModel(tree, tuple(work.tables))


def _meet(work: Messages, place: int, targets: Sequence[_Target], rows: float) -> float:
    return max((target.meet(work.tables[place], rows) for target in targets), default=0.0)


def _compromise(wanted: Array, without: Array, variance: float) -> Array:
    """For each cell, the x that minimises (x - wanted)² / 2 variance + SLACK (x log(x / without) - x)."""
    from scipy.special import wrightomega  # on demand: it takes as long to load as a small run

    scale = variance * SLACK
    return np.asarray(
        scale * wrightomega(np.log(np.maximum(without, 1e-30)) + wanted / scale - log(scale)).real, dtype=np.float64
    )
