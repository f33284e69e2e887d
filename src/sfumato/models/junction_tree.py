"""Junction trees: how large a graphical model over some cliques becomes, and the tree that it is worked out on.

All of this follows from public facts, the domain and the cliques, and so may be asked before any budget is spent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import permutations
from math import inf

import numpy as np
from numpy.typing import NDArray

from sfumato import kernels
from sfumato.data.domain import Clique, Domain
from sfumato.errors import ModelTooLarge

Graph = NDArray[np.uint64]
"""For each column, the columns that it shares a table with: a set, as the bits of some numbers. Columns are places in
the domain."""

RULES = (1.0, inf)
"""Which column is eliminated first. With 1, one that needs no new edge, since it cannot make the tree larger, and then
the one with the smallest clique; with infinity, the one with the fewest new edges."""


@dataclass(frozen=True)
class JunctionTree:
    """Cliques of which each but the first hangs on an earlier one, its parent, by the columns that both hold.

    Running intersection: what a clique shares with all earlier cliques lies in its parent. Parts that share nothing
    hang together by no columns at all, so there is one tree. Columns of a clique are in the order of the domain;
    `parents` are places in `cliques` (0 for the first clique, which has none).

    >>> tree = junction_tree(Domain({"a": 2, "b": 3, "c": 4}), [("a", "b"), ("b", "c")])
    >>> tree.cliques, tree.separators, tree.cells
    ((('b', 'c'), ('a', 'b')), ((), ('b',)), 18)
    """

    domain: Domain
    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]

    @property
    def separators(self) -> tuple[Clique, ...]:
        """What each clique shares with its parent; nothing for the first clique."""
        return tuple(
            self.domain.canonical(set(clique) & set(self.cliques[parent])) if place else ()
            for place, (clique, parent) in enumerate(zip(self.cliques, self.parents, strict=True))
        )

    @property
    def cells(self) -> int:
        """The number of cells of all cliques together."""
        return sum(self.domain.cells(clique) for clique in self.cliques)


def junction_tree(domain: Domain, cliques: Iterable[Clique]) -> JunctionTree:
    """A junction tree in which each of the given cliques, and each column of the domain, lies inside some clique.

    The smallest possible tree is hard to find; this is the smaller one of two greedy eliminations.
    """
    graph = graph_of(domain, cliques)
    found = [_cliques(domain, kernels.eliminate(domain.shape, graph, rule, inf)) for rule in RULES]
    return _connect(domain, min(found, key=lambda found: sum(map(domain.cells, found))))


def fits(domain: Domain, graph: Graph, limit: int) -> bool:
    """Whether the junction tree of a graph has at most `limit` cells."""
    return any(kernels.eliminate(domain.shape, graph, rule, limit) is not None for rule in RULES)


def check(domain: Domain, cliques: Iterable[Clique], limit: int) -> JunctionTree:
    """The junction tree of some cliques; refuses one of more than `limit` cells and names the columns to blame."""
    tree = junction_tree(domain, cliques)
    if tree.cells > limit:
        largest = max(tree.cliques, key=domain.cells)
        columns = ", ".join(f"{name} ({domain[name]})" for name in largest)
        raise ModelTooLarge(
            f"the graphical model would have {_readable(tree.cells)} cells, {_readable(domain.cells(largest))} of them "
            f"over {columns}; at most {limit:,} are allowed; declare fewer bins or categories for these columns, "
            "choose fewer tables that hold them, or use a method without a graphical model, such as privsyn"
        )
    return tree


def _readable(cells: int) -> str:
    return f"{cells:,}" if cells < 10**12 else f"{Decimal(cells):.1E}"


def graph_of(domain: Domain, cliques: Iterable[Clique]) -> Graph:
    """The columns that share a clique."""
    graph = np.zeros((len(domain), -(-len(domain) // 64)), dtype=np.uint64)
    for clique in cliques:
        for one, other in permutations({domain.index(name) for name in clique}, 2):
            graph[one, other // 64] |= np.uint64(1 << other % 64)
    return graph


def _cliques(domain: Domain, found: Graph | None) -> list[Clique]:
    assert found is not None  # noqa: S101 -- there was no limit
    inside = np.unpackbits(found.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    return [tuple(domain.names[place] for place in np.flatnonzero(line)) for line in inside]


def _connect(domain: Domain, cliques: list[Clique]) -> JunctionTree:
    """A spanning tree by most shared columns (Prim), which has running intersection when the cliques allow one."""
    rest = sorted(cliques, key=domain.cells, reverse=True)
    order, parents = [rest.pop(0)], [0]
    best = [0] * len(rest)  # the clique in the tree with which each of the rest shares most
    while rest:
        shared = [len(set(order[parent]) & set(clique)) for parent, clique in zip(best, rest, strict=True)]
        place = shared.index(max(shared))
        order.append(rest.pop(place))
        parents.append(best.pop(place))
        for index, clique in enumerate(rest):
            if len(set(clique) & set(order[-1])) > len(set(clique) & set(order[best[index]])):
                best[index] = len(order) - 1
    return JunctionTree(domain, tuple(order), tuple(parents))
