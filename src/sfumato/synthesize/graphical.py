"""Graphical models: the distribution of highest entropy that has given tables, and rows drawn from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data import junction_tree
from sfumato.data.domain import Clique, Domain
from sfumato.data.junction_tree import JunctionTree
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.data.records import Records, code_type
from sfumato.data.selection import Selection
from sfumato.synthesize.rounding import draw_given
from sfumato.synthesize.start import maximal
from sfumato.synthesize.tree_model import Array, Evidence, Messages, Part, TreeModel, ratio

Ints = NDArray[np.int64]

TOLERANCE = 1e-6
"""Stop fitting when every table is met up to this part of all rows."""

SWEEPS = 200
"""The most sweeps over all tables."""

LOOK_BACK, PROGRESS = 10, 0.9
"""Stop fitting where the gap is still above this part of what it was so many sweeps ago: tables that agree in what
they share may still have no joint distribution, and then the gap stays."""


@dataclass(frozen=True)
class Graphical:
    """Rows of the graphical model of the tables: nothing depends on anything in a way that no table shows.

    Args:
        limit: the most cells that all tables of the junction tree may have together.
    """

    limit: int = 10_000_000

    def __call__(self, marginals: Marginals, selection: Selection, rows: int, rng: np.random.Generator) -> Records:
        """`rows` rows whose tables are those of the model, up to rounding."""
        return draw(self.model(marginals), rows, rng)

    def sample_given(
        self, marginals: Marginals, selection: Selection, rows: int, rng: np.random.Generator, given: Evidence
    ) -> Records:
        """`rows` rows of the model's exact distribution given that some columns have allowed codes."""
        return draw(self.model(marginals).given(given), rows, rng)

    def check(self, domain: Domain, selection: Selection) -> None:
        """Refuse tables whose model would be too large; asks for nothing but their columns."""
        junction_tree.check(domain, selection.cliques, self.limit)

    def model(self, marginals: Marginals) -> TreeModel:
        """The fitted model; refuses a column that no table contains, and a model with too many cells."""
        for name in marginals.domain.names:
            marginals.project((name,))
        tree = junction_tree.check(marginals.domain, marginals.cliques, self.limit)
        return fit(tree, [marginals.project(clique) for clique in maximal(marginals.cliques)])


@dataclass(frozen=True, eq=False)
class _Target:
    """A table that the model must have: the part of a clique that it is, and its probabilities."""

    part: Part
    wanted: Array


def fit(tree: JunctionTree, tables: Sequence[Marginal]) -> TreeModel:
    """The distribution of highest entropy with the given tables, by iterative proportional fitting on the tree.

    A sweep walks around the whole tree and meets the tables of each clique as it comes by; a message goes along with
    every step (Jiroušek and Přeučil, 1995), so that the sweep costs two messages an edge, and fitting meets the same
    distributions as it would on the whole joint. Where the tables are the cliques of the tree, one sweep is exact.
    """
    work = Messages(tree, TreeModel.uniform(tree).tables)
    targets = _assign(tree, tables)
    walk = list(_walk(tree))
    gaps: list[float] = []
    while not _settled(gaps):
        gap = _meet(work, 0, targets[0])
        for place, entering in walk:
            if entering:
                work.tell_child(place)
                gap = max(gap, _meet(work, place, targets[place]))
            else:
                work.tell_parent(place)
        gaps.append(gap)
    work.tables[0] /= work.tables[0].sum()
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


def _walk(tree: JunctionTree) -> Iterator[tuple[int, bool]]:
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


def _settled(gaps: Sequence[float]) -> bool:
    if not gaps:
        return False
    stalled = len(gaps) > LOOK_BACK and gaps[-1] > PROGRESS * gaps[-1 - LOOK_BACK]
    return gaps[-1] <= TOLERANCE or stalled or len(gaps) == SWEEPS


def draw(model: TreeModel, rows: int, rng: np.random.Generator) -> Records:
    """Rows of a model: clique by clique, with whole counts for each value of the columns that are there already."""
    domain = model.domain
    columns: dict[str, NDArray[np.unsignedinteger]] = {}
    for clique, separator, table in zip(model.tree.cliques, model.tree.separators, model.tables, strict=True):
        added = tuple(name for name in clique if name not in separator)
        cells = Marginal(domain.project(clique), table.reshape(domain.project(clique).shape))
        conditional = cells.project((*separator, *added)).counts.reshape(domain.cells(separator), -1)
        values = draw_given(_number(columns, domain, separator, rows), np.asarray(conditional, dtype=np.float64), rng)
        decoded = np.unravel_index(values, domain.project(added).shape)
        for name, codes in zip(added, decoded, strict=True):
            columns[name] = codes.astype(code_type(domain[name]))
    return Records(domain, [columns[name] for name in domain.names])


def _number(columns: dict[str, NDArray[np.unsignedinteger]], domain: Domain, names: Clique, rows: int) -> Ints:
    """The cell of the table over `names` that each row lies in."""
    cell = np.zeros(rows, dtype=np.int64)
    for name in names:
        cell *= domain[name]
        cell += columns[name]
    return cell
