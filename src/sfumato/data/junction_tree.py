"""Junction trees: how large a graphical model over some cliques becomes, and the tree that it is worked out on.

All of this follows from public facts, the domain and the cliques, and so may be asked before any budget is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from math import prod

from sfumato.data.domain import Clique, Domain
from sfumato.errors import ModelTooLarge

Graph = Mapping[str, frozenset[str]]
"""The neighbours of each column: two columns are neighbours if one table holds both."""


@dataclass(frozen=True)
class JunctionTree:
    """Cliques of which each but the first hangs on an earlier one, its parent, by the columns that both hold.

    Running intersection: what a clique shares with all earlier cliques lies in its parent. Columns of a clique are in
    the order of the domain. Parts that share nothing hang together by no columns at all, so that there is one tree.

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
    graph = _graph(domain, cliques)
    found = (_eliminate(domain, graph, rule) for rule in (_fewest_cells, _least_fill))
    return _connect(domain, min(found, key=lambda found: sum(map(domain.cells, found))))


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


def _graph(domain: Domain, cliques: Iterable[Clique]) -> Graph:
    neighbours: dict[str, set[str]] = {name: set() for name in domain.names}
    for clique in cliques:
        for name in domain.canonical(clique):
            neighbours[name].update(clique)
    return {name: frozenset(around - {name}) for name, around in neighbours.items()}


Rule = Callable[[Domain, Graph, str], tuple[float, ...]]
"""What it costs to eliminate a column now: the least is taken first."""


def _fewest_cells(domain: Domain, graph: Graph, name: str) -> tuple[float, ...]:
    """Columns that need no new edge come first; they cannot make the tree larger. Then those with the least clique."""
    fill = any(other not in graph[one] for one, other in combinations(graph[name], 2))
    return (fill, prod(domain[other] for other in graph[name]) * domain[name])


def _least_fill(domain: Domain, graph: Graph, name: str) -> tuple[float, ...]:
    """The cells of all pairs of columns that become neighbours."""
    missing = [(one, other) for one, other in combinations(graph[name], 2) if other not in graph[one]]
    return (sum(domain[one] * domain[other] for one, other in missing), _fewest_cells(domain, graph, name)[1])


def _eliminate(domain: Domain, graph: Graph, rule: Rule) -> list[Clique]:
    """Take out one column after the other, and join its neighbours: the largest cliques that arise."""
    graph = dict(graph)
    cost = {name: rule(domain, graph, name) for name in graph}
    found: list[frozenset[str]] = []
    while graph:
        name = min(graph, key=cost.__getitem__)
        around = graph.pop(name)
        clique = around | {name}
        if not any(clique <= other for other in found):
            found.append(clique)
        for other in around:
            graph[other] = (graph[other] | around) - {name, other}
        # New edges change the cost of their ends and of all columns that see both ends.
        for other in around.union(*(graph[other] for other in around)):
            cost[other] = rule(domain, graph, other)
    return [domain.canonical(clique) for clique in found]


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
