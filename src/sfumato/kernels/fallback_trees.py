"""The kernels of trees in NumPy: the specification of the compiled ones, and what runs where there is no compiler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.checks import require_hands


def deal(parent: NDArray[np.integer], counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.uint32]:
    """A child code for every row: those of a parent cell get each child `counts[cell]` times, in random order."""
    require_hands(parent, counts)
    shuffled = rng.permutation(np.arange(len(parent), dtype=np.uint32))
    narrow = np.uint16 if len(counts) <= 1 << 16 else np.uint32  # a stable sort of 16-bit numbers takes linear time
    order = shuffled[np.argsort(parent[shuffled].astype(narrow), kind="stable")]
    child = np.empty(len(parent), dtype=np.uint32)
    child[order] = np.repeat(np.tile(np.arange(counts.shape[1], dtype=np.uint32), len(counts)), counts.ravel())
    return child


def eliminate(
    sizes: Sequence[int], graph: NDArray[np.uint64], most_fill: float, limit: float
) -> NDArray[np.uint64] | None:
    """The cliques of a greedy elimination of the vertices of a graph, or None if they have more than `limit` cells.

    `graph` has for each vertex the set of its neighbours, as bits. Eliminating a vertex joins its neighbours. It costs
    the new edges that it makes, each end weighed by its size, but at most `most_fill` of them, and among equals the
    cells of its clique; the first of the cheapest goes. Cliques that lie in an earlier one are left out.
    """
    around = {vertex: int.from_bytes(line.astype("<u8").tobytes(), "little") for vertex, line in enumerate(graph)}

    def cost(vertex: int) -> tuple[float, float]:
        fill, cells = 0.0, float(sizes[vertex])
        for other in _members(around[vertex]):
            missing = around[vertex] & ~around[other] & ~(1 << other)
            fill += missing.bit_count() * sizes[other]
            cells *= sizes[other]
        return min(fill, most_fill), cells

    costs = {vertex: cost(vertex) for vertex in around}
    found: list[int] = []
    total = 0.0
    while around:
        vertex = min(around, key=costs.__getitem__)
        neighbours = around.pop(vertex)
        clique = neighbours | 1 << vertex
        if not any(clique & ~other == 0 for other in found):
            found.append(clique)
            total += costs[vertex][1]
            if total > limit:
                return None
        touched = neighbours
        for other in _members(neighbours):
            around[other] = (around[other] | neighbours) & ~(1 << other | 1 << vertex)
            touched |= around[other]
        # New edges change the cost of their ends and of all vertices that see both ends.
        for other in _members(touched):
            costs[other] = cost(other)
    size = 8 * graph.shape[1]
    return np.array([np.frombuffer(clique.to_bytes(size, "little"), "<u8") for clique in found], dtype=np.uint64)


def _members(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
