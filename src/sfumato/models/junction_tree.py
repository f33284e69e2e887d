"""Junction trees: how large a graphical model over some cliques becomes, and the tree that it is worked out on.

All of this follows from public facts, the domain and the cliques, and so may be asked before any budget is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from sfumato.data.domain import Clique, Domain
from sfumato.errors import ModelTooLarge

Graph = dict[int, int]
"""The neighbours of each column: two columns are neighbours if one table holds both. Columns are places in the domain,
and sets of columns are the bits of one integer, because a wide and dense graph takes millions of steps."""


@dataclass(frozen=True)
class JunctionTree:
    """Cliques of which each but the first hangs on an earlier one, its parent, by the columns that both hold.

    Running intersection: what a clique shares with all earlier cliques lies in its parent. Parts that share nothing
    hang together by no columns at all, so that there is one tree. Columns of a clique are in the order of the domain;
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
    graph = dict.fromkeys(range(len(domain)), 0)
    for clique in cliques:
        places = [domain.index(name) for name in clique]
        together = sum(1 << place for place in set(places))
        for place in places:
            graph[place] |= together & ~(1 << place)
    return graph


def _members(columns: int) -> Iterator[int]:
    while columns:
        lowest = columns & -columns
        yield lowest.bit_length() - 1
        columns ^= lowest


Rule = Callable[[int, int], tuple[int, int]]
"""What eliminating a column costs, from the new edges it makes and the cells of its clique; the least goes first."""


def _fewest_cells(fill: int, cells: int) -> tuple[int, int]:
    """Columns that need no new edge come first, since they cannot make the tree larger. Then the smallest clique."""
    return (min(fill, 1), cells)


def _least_fill(fill: int, cells: int) -> tuple[int, int]:
    """The fewest new edges come first, and among equals the smallest clique."""
    return (fill, cells)


def _cost(domain: Domain, graph: Graph, place: int, rule: Rule) -> tuple[int, int]:
    """New edges are weighed by the sizes of the two columns that they join."""
    fill, cells = 0, domain.shape[place]
    for other in _members(graph[place]):
        missing = graph[place] & ~graph[other] & ~(1 << other)
        fill += missing.bit_count() * domain.shape[other]
        cells *= domain.shape[other]
    return rule(fill, cells)


def _eliminate(domain: Domain, graph: Graph, rule: Rule) -> list[Clique]:
    """Take out one column after the other, and join its neighbours: the largest cliques that arise."""
    graph = dict(graph)
    cost = {place: _cost(domain, graph, place, rule) for place in graph}
    found: list[int] = []
    while graph:
        place = min(graph, key=cost.__getitem__)
        around = graph.pop(place)
        clique = around | 1 << place
        if not any(clique & ~other == 0 for other in found):
            found.append(clique)
        touched = around
        for other in _members(around):
            graph[other] = (graph[other] | around) & ~(1 << other | 1 << place)
            touched |= graph[other]
        # New edges change the cost of their ends and of all columns that see both ends.
        for other in _members(touched):
            cost[other] = _cost(domain, graph, other, rule)
    return [tuple(domain.names[member] for member in _members(clique)) for clique in found]


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
