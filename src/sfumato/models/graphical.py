"""The distribution of highest entropy that has given tables, on a junction tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.data.constraints import Constraint
from sfumato.data.marginal import Marginal
from sfumato.loops import counted
from sfumato.models.junction_tree import JunctionTree
from sfumato.models.tree_model import Array, Messages, Part, TreeModel, ratio

TOLERANCE = 1e-6
"""Stop fitting when every table is met up to this part of all rows."""

SWEEPS = 200
"""The most sweeps over all tables."""

LOOK_BACK, PROGRESS = 10, 0.8
"""Stop fitting where the gap is still above this part of what it was this many sweeps ago: tables that agree in what
they share may still have no joint distribution, and then the gap stays."""


@dataclass(frozen=True, eq=False)
class _Target:
    """A table that the model must have: the part of a clique that it is, and its probabilities."""

    part: Part
    wanted: Array


def fit(
    tree: JunctionTree,
    tables: Sequence[Marginal],
    constraints: Sequence[Constraint] = (),
    tolerance: float = TOLERANCE,
    most_sweeps: int = SWEEPS,
) -> TreeModel:
    """The distribution of highest entropy with the given tables, by iterative proportional fitting on the tree.

    A sweep walks around the whole tree and meets the tables of each clique as it comes by; a message goes along with
    every step (Jiroušek and Přeučil, 1995), so the sweep costs two messages an edge, and fitting meets the same
    distributions as it would on the whole joint. Where the tables are the cliques of the tree, one sweep is exact.

    Cells that `constraints` do not allow start at 0. Fitting multiplies, so they stay there; a clique of the tree must
    hold each constraint.
    """
    work = Messages(tree, allowed_start(tree, constraints).tables)
    targets = _assign(tree, tables)
    steps = list(walk(tree))
    gaps: list[float] = []
    for _ in counted(range(most_sweeps), "sweeps"):
        gap = _meet(work, 0, targets[0])
        for place, entering in steps:
            if entering:
                work.tell_child(place)
                gap = max(gap, _meet(work, place, targets[place]))
            else:
                work.tell_parent(place)
        gaps.append(gap)
        if _settled(gaps, tolerance):
            break
    work.tables[0] /= work.tables[0].sum()
    work.distribute()
    return TreeModel(tree, tuple(work.tables))


def allowed_start(tree: JunctionTree, constraints: Sequence[Constraint]) -> TreeModel:
    """Equal probability for every row that constraints allow; for every row, if they allow none."""
    uniform = TreeModel.uniform(tree)
    if not constraints:
        return uniform
    work = Messages(tree, uniform.tables)
    for one in constraints:
        names = tree.domain.canonical(one.clique)
        allowed = one.allowed.transpose([one.clique.index(name) for name in names]).astype(np.float64)
        place = next(place for place, clique in enumerate(tree.cliques) if set(names) <= set(clique))
        Part.of(tree.domain, tree.cliques[place], names).scale(work.tables[place], allowed.ravel())
    work.collect()
    total = work.tables[0].sum()
    if not total > 0:
        return uniform
    work.tables[0] /= total
    work.distribute()
    return TreeModel(tree, tuple(work.tables))


def _assign(tree: JunctionTree, tables: Sequence[Marginal]) -> list[list[_Target]]:
    """Each table at the smallest clique that holds it; a table without rows says nothing."""
    targets: list[list[_Target]] = [[] for _ in tree.cliques]
    for table in tables:
        ordered = table.project(tree.domain.canonical(table.clique))
        wanted = ordered.counts.astype(np.float64).clip(min=0).ravel()
        if wanted.sum() > 0:
            holding = [place for place, clique in enumerate(tree.cliques) if set(table.clique) <= set(clique)]
            place = min(holding, key=lambda place: tree.domain.cells(tree.cliques[place]))
            part = Part.of(tree.domain, tree.cliques[place], table.clique)
            targets[place].append(_Target(part, wanted / wanted.sum()))
    return targets


def walk(tree: JunctionTree) -> Iterator[tuple[int, bool]]:
    """Around the tree from the first clique: each other clique when it is entered, and again when it is left."""
    children: list[list[int]] = [[] for _ in tree.cliques]
    for place, parent in enumerate(tree.parents[1:], start=1):
        children[parent].append(place)
    ahead = [(child, True) for child in children[0]]
    while ahead:
        place, entering = ahead.pop()
        yield place, entering
        if entering:
            ahead += [(place, False), *((child, True) for child in children[place])]


def _meet(work: Messages, place: int, targets: Sequence[_Target]) -> float:
    """Scale a clique to each of its tables in turn; the largest distance (L1) that there was."""
    gap = 0.0
    for target in targets:
        found = target.part.sums(work.tables[place])
        gap = max(gap, float(np.abs(found - target.wanted).sum()))
        factors = ratio(target.wanted, found)
        if factors.any():  # a table that has no row in common with those before it is not heard
            target.part.scale(work.tables[place], factors)
    return gap


def _settled(gaps: Sequence[float], tolerance: float) -> bool:
    stalled = len(gaps) > LOOK_BACK and gaps[-1] > PROGRESS * gaps[-1 - LOOK_BACK]
    return gaps[-1] <= tolerance or stalled
