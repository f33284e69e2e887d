"""Search frontiers: for each column, the parents among which a network may choose (CSFC, Algorithm 1 of Su et al.).

A frontier is a network with more edges than the final one may have. Pairs of columns with much mutual information
become edges first. Which end is the parent follows from the order that the network has already, or, where it has none,
from how much room either choice leaves: `sparsity` and `impact`.

Where we depart from the paper, and why: a column may have as many parents as the cells of its table allow, which for
binary columns is the paper's degree; room is counted in binary digits of cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log2

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain

Array = NDArray[np.float64]


class Frontier:
    """A directed graph without cycles that grows, and the partial order that it makes.

    Args:
        domain: the columns.
        parents: of each column, to start with.
        cells: how many cells the table of a column and its parents may have.
    """

    def __init__(self, domain: Domain, parents: Mapping[str, Clique], cells: float):
        self._domain = domain
        self._cells = cells
        self._parents: list[list[int]] = [[] for _ in domain]
        # [x, y] says whether x <= y: there is a path from x to y, or they are the same.
        self._below = np.eye(len(domain), dtype=bool)
        for column, above in parents.items():
            for parent in above:
                self._link(domain.index(parent), domain.index(column))

    def grow(self, information: Array) -> None:
        """Add edges in the order of falling information; the matrix is symmetric, in the order of the domain."""
        firsts, seconds = np.triu_indices(len(self._domain), 1)
        order = np.argsort(-information[firsts, seconds], kind="stable")
        for x, y in zip(firsts[order], seconds[order], strict=True):
            edge = self._edge(int(x), int(y), information)
            if edge is not None:
                self._link(*edge)

    def parents(self) -> dict[str, Clique]:
        """The parents of each column, ancestors before descendants."""
        names = self._domain.names
        order = np.argsort(self._below.sum(axis=0), kind="stable")
        return {names[x]: tuple(names[parent] for parent in self._parents[x]) for x in order}

    def sparsity(self, column: int) -> float:
        """How many binary parents a column and its ancestors can still get in all (Sp, definition 3)."""
        return sum((self._room(int(x)) for x in np.flatnonzero(self._below[:, column])), 0.0)

    def impact(self, x: int, y: int, information: Array) -> float:
        """The information of all pairs that an edge from x to y would order, except its own (Im, definition 4)."""
        ordered = information[np.ix_(self._below[:, x], self._below[y])]
        return float(ordered.sum() - information[x, y])

    def _edge(self, x: int, y: int, information: Array) -> tuple[int, int] | None:
        """The edge that two columns get, parent first, if any."""
        if x in self._parents[y] or y in self._parents[x]:
            return None
        to_y, to_x = self._fits(x, y), self._fits(y, x)
        if self._below[x, y]:
            return (x, y) if to_y else None
        if self._below[y, x]:
            return (y, x) if to_x else None
        if not (to_x and to_y):
            return None
        gain_x = self.sparsity(x) * self.impact(x, y, information)
        gain_y = self.sparsity(y) * self.impact(y, x, information)
        return (y, x) if gain_x >= gain_y else (x, y)

    def _link(self, parent: int, child: int) -> None:
        self._parents[child].append(parent)
        self._below |= np.outer(self._below[:, parent], self._below[child])

    def _size(self, column: int) -> int:
        shape = self._domain.shape
        size = shape[column]
        for parent in self._parents[column]:
            size *= shape[parent]
        return size

    def _fits(self, parent: int, child: int) -> bool:
        return self._size(child) * self._domain.shape[parent] <= self._cells

    def _room(self, column: int) -> float:
        return max(0.0, log2(self._cells / self._size(column)))


def search_frontier(
    domain: Domain, parents: Mapping[str, Clique], information: Array, cells: float
) -> dict[str, Clique]:
    """A network with edges added where there is most information, as long as tables have at most `cells` cells."""
    frontier = Frontier(domain, parents, cells)
    frontier.grow(information)
    return frontier.parents()


@dataclass(frozen=True)
class Usefulness:
    """How many cells tables may have, so the mean cell stands out of the noise.

    A table is theta-useful if its mean cell is at least theta times the scale of its noise. The paper gives 6 for the
    tables of the network and 2 for those of the frontier, and says no more; this is our reading. All columns binary:
    the degree of the network is the largest k for which d - k tables of k + 1 columns are useful, and at least 1; that
    of the frontier the largest k' for which d - 1 tables of k' + 1 columns are, and at least k + 1. Other domains: d
    and d - 1 tables with a limit on cells; the second limit is at least twice the first.

    Args:
        sizes: of the columns.
        rows: how many there are.
        theta: of the tables of the network.
        frontier_theta: of the tables of the frontier.
    """

    sizes: Sequence[int]
    rows: float
    theta: float = 6.0
    frontier_theta: float = 2.0

    def network_cells(self, scale: Callable[[int], float]) -> float:
        """How many cells a table of the network may have; `scale` is of the noise if this many tables are measured."""
        columns = len(self.sizes)
        if not self._binary:
            return self.rows / (self.theta * scale(columns))
        useful = (k for k in range(columns - 1, 1, -1) if self._useful(k, scale(columns - k), self.theta))
        return float(2 ** (next(useful, 1) + 1))

    def frontier_cells(self, scale: Callable[[int], float], network_cells: float) -> float:
        """How many cells a table of the frontier may have; `scale` is of the noise if this many tables are measured."""
        columns = len(self.sizes)
        noise = scale(max(1, columns - 1))
        if not self._binary:
            return max(2 * network_cells, self.rows / (self.frontier_theta * noise))
        useful = (k for k in range(columns - 1, 0, -1) if self._useful(k, noise, self.frontier_theta))
        return max(2 * network_cells, float(2 ** (next(useful, 0) + 1)))

    @property
    def _binary(self) -> bool:
        return all(size <= 2 for size in self.sizes)

    def _useful(self, degree: int, scale: float, theta: float) -> bool:
        return self.rows >= theta * scale * 2.0 ** (degree + 1)
