"""A joint distribution on a junction tree: one table of probabilities for each clique, which agree where they meet.

The joint is the product of the cliques' tables divided by the product of the separators' tables. It is never written
out; what is done to one clique travels to the others as messages over separators. Every table is a marginal of the
joint at all times, and so lies between 0 and 1: no logarithms are needed to keep it from overflowing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from string import ascii_letters

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal
from sfumato.errors import MethodError
from sfumato.models.junction_tree import JunctionTree

Array = NDArray[np.float64]
Evidence = Mapping[str, NDArray[np.bool_]]
"""For some columns, which codes are allowed."""


@dataclass(frozen=True)
class Part:
    """Some columns of a clique: how a table over the clique is summed down to them, and multiplied by their factors."""

    sizes: tuple[int, ...]
    kept: tuple[bool, ...]

    @classmethod
    def of(cls, domain: Domain, clique: Clique, names: Iterable[str]) -> Part:
        """The part `names` of a clique. Neighbouring axes with the same fate become one, which makes sums faster."""
        wanted = set(names)
        sizes: list[int] = []
        kept: list[bool] = []
        for name in (name for name in clique if domain[name] > 1):
            if kept and kept[-1] == (name in wanted):
                sizes[-1] *= domain[name]
            else:
                sizes.append(domain[name])
                kept.append(name in wanted)
        return cls(tuple(sizes), tuple(kept))

    def sums(self, table: Array) -> Array:
        """The table over the part, from a table over the clique; both are flat."""
        axes = ascii_letters[: len(self.sizes)]
        kept = "".join(compress(axes, self.kept))
        # For short axes einsum is several times faster than sum; where all are kept it returns the table itself.
        return np.array(np.einsum(f"{axes}->{kept}", table.reshape(self.sizes))).reshape(-1)

    def scale(self, table: Array, factors: Array) -> None:
        """Multiply each cell of a flat table over the clique by the factor of its part."""
        shape = [size if kept else 1 for size, kept in zip(self.sizes, self.kept, strict=True)]
        view = table.reshape(self.sizes)
        view *= factors.reshape(shape)


def ratio(wanted: Array, found: Array) -> Array:
    """Factors that make one table of another. A cell that has nothing can be given nothing: its factor is 0.

    So has a cell that has next to nothing, because its factor could overflow.
    """
    return np.divide(wanted, found, out=np.zeros_like(found), where=found > 1e-200)


class Messages:
    """Tables on a junction tree while they change. Message passing of the Hugin kind, in place.

    `down[i]` and `up[i]` are the separator of clique i and its parent, as a part of the clique and of the parent.
    """

    def __init__(self, tree: JunctionTree, tables: Sequence[Array]):
        self.tree = tree
        self.tables = [table.copy() for table in tables]
        edges = list(zip(tree.cliques, tree.parents, tree.separators, strict=True))
        self.down = [Part.of(tree.domain, clique, shared) for clique, _, shared in edges]
        self.up = [Part.of(tree.domain, tree.cliques[parent], shared) for _, parent, shared in edges]
        self.shared = [part.sums(table) for part, table in zip(self.down, self.tables, strict=True)]

    def tell_parent(self, place: int) -> None:
        """Let the parent of a clique know what the clique knows."""
        said = self.down[place].sums(self.tables[place])
        self.up[place].scale(self.tables[self.tree.parents[place]], ratio(said, self.shared[place]))
        self.shared[place] = said

    def tell_child(self, place: int) -> None:
        """Let a clique know what its parent knows."""
        said = self.up[place].sums(self.tables[self.tree.parents[place]])
        self.down[place].scale(self.tables[place], ratio(said, self.shared[place]))
        self.shared[place] = said

    def collect(self) -> None:
        """Let the first clique know what all cliques know. Parents come before their children in a tree."""
        for place in reversed(range(1, len(self.tables))):
            self.tell_parent(place)

    def distribute(self) -> None:
        """Let all cliques know what the first one knows."""
        for place in range(1, len(self.tables)):
            self.tell_child(place)


@dataclass(frozen=True, eq=False)
class TreeModel:
    """A joint distribution; `tables[i]` is its flat marginal over clique i of the tree."""

    tree: JunctionTree
    tables: tuple[Array, ...]

    @classmethod
    def uniform(cls, tree: JunctionTree) -> TreeModel:
        """Equal probability for every row."""
        cells = [tree.domain.cells(clique) for clique in tree.cliques]
        return cls(tree, tuple(np.full(size, 1 / size) for size in cells))

    @property
    def domain(self) -> Domain:
        """The columns of the joint."""
        return self.tree.domain

    def project(self, names: Iterable[str]) -> Marginal:
        """The marginal over columns that lie in one clique of the tree."""
        names = tuple(names)
        held = [place for place, clique in enumerate(self.tree.cliques) if set(names) <= set(clique)]
        if not held:
            raise MethodError(f"columns {', '.join(names)} lie in no clique of the tree; it has {self.tree.cliques}")
        place = min(held, key=lambda place: self.tables[place].size)
        domain = self.domain.project(self.tree.cliques[place])
        return Marginal(domain, self.tables[place].reshape(domain.shape)).project(names)

    def given(self, evidence: Evidence) -> TreeModel:
        """The joint of those rows whose codes are allowed."""
        work = Messages(self.tree, self.tables)
        for name, allowed in evidence.items():
            size = self.domain[name]
            if allowed.shape != (size,):
                raise MethodError(f"the mask of column {name!r} has shape {allowed.shape}; it needs {size} codes")
            place = next(place for place, clique in enumerate(self.tree.cliques) if name in clique)
            part = Part.of(self.domain, self.tree.cliques[place], (name,))
            part.scale(work.tables[place], allowed.astype(np.float64))
        work.collect()
        total = work.tables[0].sum()
        if not total > 0:
            raise MethodError(
                f"the model has no rows with the codes that are asked for in {', '.join(evidence)}; allow more codes"
            )
        work.tables[0] /= total
        work.distribute()
        return TreeModel(self.tree, tuple(work.tables))
