"""A model in two layers: a junction tree over coarse codes for structure, and moved rows for all that is finer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.data.coding import Coding, Merge
from sfumato.data.constraints import Constraint, Constraints
from sfumato.data.domain import Clique, Domain
from sfumato.data.selection import Layers, Selection
from sfumato.models.drawing import draw
from sfumato.models.estimates import Array, Estimates
from sfumato.models.finer import Step, draw_finer, finer_steps
from sfumato.models.moving import Counted, Rows, Target, improve
from sfumato.models.shrinkage import raked, shrunken, shrunken_cells, with_margins
from sfumato.models.soft_tree import Soft, soft_fit
from sfumato.models.tree_model import TreeModel
from sfumato.models.tree_room import TreeRoom

FEW_PAIRS = 300
"""Where the tree holds every table, rows are moved towards all pairs of columns if there are at most this many."""

JUDGE_MOVES = 10
"""Moves towards pairs for each of the rows that larger tables are compared with."""

FURTHER = 5
"""Larger tables must be this many times as far from rows as the pairs are that these rows were moved towards."""

MOST_CELLS = 1_000_000
"""Of the tree, where a user gave the tables."""


@dataclass(frozen=True, eq=False)
class Layered:
    """A tree over coarse codes, and how single columns split these.

    Args:
        domain: the columns, in their finer codes.
        columns: rows with each finer code.
        lookups: for each column, from finer to coarse codes.
        tree: the distribution of the coarse codes.
        pairs: tables of pairs in finer codes, if any are known: how finer codes go together.
    """

    domain: Domain
    columns: tuple[Array, ...]
    lookups: tuple[NDArray[np.int64], ...]
    tree: TreeModel
    pairs: tuple[tuple[Clique, Array], ...] = ()

    def draw(self, rows: int, rng: np.random.Generator) -> Rows:
        """Rows of the tree; within a coarse code, finer ones follow a table of pairs, or else the single column."""
        found = np.stack(draw(self.tree, rows, rng).columns, axis=1).astype(np.uint16, order="C")
        draw_finer(found, self.lookups, self._steps, rng)
        return found

    @cached_property
    def _steps(self) -> list[Step]:
        return finer_steps(
            self.domain, [np.maximum(counts, 1e-12) for counts in self.columns], self.lookups, self.pairs
        )


def layers_of(selection: Selection, domain: Domain) -> Layers:
    """The layers of a selection; where it has none, because a user gave its tables, the pairs that fit into a tree."""
    if isinstance(selection.structure, Layers):
        return selection.structure
    room = TreeRoom(domain, MOST_CELLS)
    room.begin()
    pairs = dict.fromkeys(domain.canonical(clique) for clique in selection.cliques if len(clique) == 2)
    return Layers(room.keep([pair for pair in pairs if room.admits(pair)]))


def coarse_domain(domain: Domain, layers: Layers) -> tuple[Domain, tuple[NDArray[np.int64], ...]]:
    """The domain of the tree, under the names of the columns, and the way to its codes."""
    coarser = {level.column: np.array(level.to) for level in layers.coarser}
    lookups = tuple(coarser.get(name, np.arange(size)) for name, size in domain.items())
    sizes = [int(lookup.max()) + 1 for lookup in lookups]
    return Domain(list(zip(domain.names, sizes, strict=True))), lookups


def coarse_zeros(zeros: Constraints, layers: Layers) -> tuple[Constraint, ...]:
    """Which cells of the tree may hold rows: those that have a part which may."""
    merging = Merge(tuple((level.column, level.to) for level in layers.coarser))
    return zeros.through(Coding(zeros.domain).then(merging)).items


def coarsened(table: Array, lookups: Sequence[NDArray[np.int64]]) -> Array:
    """A table over finer codes as one over coarse codes."""
    for axis, lookup in enumerate(lookups):
        if int(lookup.max()) + 1 < len(lookup):
            summed = np.zeros((int(lookup.max()) + 1, *np.moveaxis(table, axis, 0).shape[1:]))
            np.add.at(summed, lookup, np.moveaxis(table, axis, 0))
            table = np.moveaxis(summed, 0, axis)
    return table


def fit_layers(estimates: Estimates, layers: Layers) -> Layered:
    """The tree of the tables that fit into it, each half-way shrunken towards independence."""
    domain, lookups = coarse_domain(estimates.domain, layers)
    soft = []
    for clique in layers.inside:
        noisy, margins = estimates.tables[clique], estimates.margins(clique)
        ways = [lookups[domain.index(name)] for name in clique]
        table = coarsened(with_margins(noisy.counts, margins, noisy.allowed), ways)
        independent = np.multiply.outer(*margins) / estimates.rows
        if noisy.allowed is None:
            prior, allowed, parts = coarsened(independent, ways), None, noisy.counts.size / table.size
        else:
            prior = coarsened(raked(independent, estimates.rows, margins, noisy.allowed), ways)
            cells = coarsened(noisy.allowed.astype(np.float64), ways)
            allowed, parts = cells > 0, cells[cells > 0].mean()
        soft.append(Soft(clique, *shrunken(table, prior, noisy.variance * parts, 0.5, allowed)))
    columns = [coarsened(counts, [lookup]) for counts, lookup in zip(estimates.columns, lookups, strict=True)]
    tree = soft_fit(domain, estimates.rows, columns, soft, coarse_zeros(estimates.zeros, layers), MOST_CELLS)
    return Layered(estimates.domain, estimates.columns, lookups, tree)


def is_dense(estimates: Estimates, layers: Layers) -> bool:
    """Whether there are tables, or parts of them, that the tree does not hold."""
    return bool(layers.coarser) or not set(estimates.tables) <= set(layers.inside)


def shrunken_targets(estimates: Estimates, drawn: Counted) -> list[Target]:
    """What rows should be moved towards first: every measured pair, shrunk towards the rows of the tree.

    Where the tree is as good as the noise can tell, that is the tree's own table; elsewhere it is the measured one.
    """
    found = []
    for clique, noisy in estimates.tables.items():
        if len(clique) == 2:
            margins = estimates.margins(clique)
            table = with_margins(noisy.counts, margins, noisy.allowed)
            counts, left = shrunken(table, drawn(clique), noisy.variance, allowed=noisy.allowed)
            found.append(Target(clique, raked(counts, estimates.rows, margins, noisy.allowed), left))
    return found


def larger_targets(
    estimates: Estimates, layered: Layered, pairs: Sequence[Target], rows: int, rng: np.random.Generator
) -> list[Target]:
    """What rows should be moved towards besides: tables of three and more columns that say more than pairs do.

    `rows` rows are moved towards the pairs, and the tables are shrunk towards them. A table that then is hardly
    further from them than the pairs are says nothing that pairs do not say, and would only hold rows back: it is left
    out.
    """
    larger = {clique: noisy for clique, noisy in estimates.tables.items() if len(clique) > 2}
    if not larger:
        return []
    model = replace(layered, pairs=tuple((one.clique, one.counts) for one in pairs))
    judges = model.draw(rows, rng)
    improve(estimates.domain, judges, pairs, estimates.columns, JUDGE_MOVES, rng, estimates.zeros.items)
    drawn, found = Counted(estimates.domain, judges, estimates.rows), []
    off = sum(_distance(one.counts, drawn(one.clique)) for one in pairs) / max(len(pairs), 1)
    for clique, noisy in larger.items():
        told = drawn(clique)
        counts, left = shrunken_cells(noisy.counts, told, noisy.variance, noisy.allowed)
        counts = raked(counts, estimates.rows, estimates.margins(clique), noisy.allowed)
        if _distance(counts, told) > FURTHER * off:
            found.append(Target(clique, counts, left))
    return found


def _distance(one: Array, two: Array) -> float:
    return float(np.abs(one - two).sum())


def tree_targets(estimates: Estimates, layered: Layered, drawn: Counted) -> list[Target]:
    """The tree's own tables of pairs: exact where they lie in a clique, else as rows drawn from it have them.

    They are about as uncertain as the tables that the tree was fitted to.
    """
    pairs: list[Clique] = list(combinations(estimates.domain.names, 2))
    if len(pairs) > FEW_PAIRS:
        pairs = list(estimates.tables)
    held = list(map(set, layered.tree.tree.cliques))
    uncertain = float(np.mean([noisy.variance for noisy in estimates.tables.values()]))
    found = []
    for pair in pairs:
        inside = any(set(pair) <= clique for clique in held)
        counts = layered.tree.project(pair).counts * estimates.rows if inside else drawn(pair)
        found.append(Target(pair, np.asarray(counts, dtype=np.float64), uncertain))
    return found
