"""What noisy tables say together about any columns that lie in one of them, and about how much these depend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Measurement
from sfumato.errors import MethodError

Array = NDArray[np.float64]


class Evidence:
    """Noisy tables of one domain. Reading them costs nothing: it is post-processing."""

    def __init__(self, domain: Domain, measurements: Sequence[Measurement]):
        self.domain = domain
        self._measurements = tuple(measurements)
        self._holding: dict[str, set[int]] = {name: set() for name in domain}
        for place, one in enumerate(measurements):
            for name in one.clique:
                self._holding[name].add(place)
        self._tables: dict[frozenset[str], tuple[Clique, Array, float]] = {}

    def __add__(self, measurements: Sequence[Measurement]) -> Evidence:
        return Evidence(self.domain, (*self._measurements, *measurements))

    @property
    def rows(self) -> float:
        """The number of rows; at least 1."""
        return max(1.0, float(self.table(())[0]))

    def holds(self, columns: Iterable[str]) -> bool:
        """Whether there is a table with all these columns."""
        return bool(self._places(columns))

    def cliques_with(self, *columns: str) -> list[Clique]:
        """The columns of each table that has all these."""
        return [self._measurements[place].clique for place in self._places(columns)]

    def table(self, clique: Clique) -> tuple[Array, float]:
        """The mean of all tables that hold these columns, weighted by their precision, and its variance per cell."""
        wanted = frozenset(clique)
        if wanted not in self._tables:
            self._tables[wanted] = self._mean(self.domain.canonical(wanted))
        names, counts, variance = self._tables[wanted]
        return np.transpose(counts, [names.index(name) for name in clique]), variance

    def _mean(self, names: Clique) -> tuple[Clique, Array, float]:
        weights, total = 0.0, np.zeros(self.domain.project(names).shape)
        for place in self._places(names):
            one = self._measurements[place]
            # A cell of the projection is a sum of cells, each with its own noise.
            weight = total.size / (one.variance * one.marginal.counts.size)
            weights += weight
            total = total + weight * one.marginal.project(names).counts
        if not weights:
            raise MethodError(f"no noisy table has {', '.join(names)} together; measure one that has")
        return names, total / weights, 1 / weights

    def _places(self, columns: Iterable[str]) -> list[int]:
        held = [self._holding[name] for name in columns]
        return sorted(set.intersection(*held)) if held else list(range(len(self._measurements)))


@dataclass(frozen=True)
class Gain:
    """What a network gains if a column is drawn given some parents, in rows.

    Noise alone makes tables look dependent, large ones most. So what a table has beyond the product of its margins is
    shrunk by the part of it that noise would make up (after James and Stein), and to nothing if that is all of it.

    Args:
        score: R, the variation distance to independence times the rows, or I, the mutual information in nats times the
            rows.
        price: by how much each cell of the table lowers the gain; its noise does harm, whatever the column depends on.
        shrink: whether the noise is allowed for at all; the papers do not.
    """

    score: str
    price: float = 0.0
    shrink: bool = True

    def __post_init__(self) -> None:
        if self.score not in ("R", "I"):
            raise MethodError(f"score {self.score!r} is unknown for noisy tables; known scores are R and I")

    def __call__(self, evidence: Evidence, column: str, parents: Clique) -> float:
        """The gain; 0 without parents."""
        if not parents:
            return 0.0
        counts, variance = evidence.table((column, *parents))
        joint = counts.reshape(counts.shape[0], -1) / evidence.rows
        margins = evidence.table((column,))[0], evidence.table(parents)[0].reshape(-1)
        product = np.outer(*map(_proportions, margins))
        beyond = joint - product
        beyond = beyond - beyond.mean(axis=0)
        beyond = beyond - beyond.mean(axis=1, keepdims=True)
        noise = (joint.shape[0] - 1) * (joint.shape[1] - 1) * variance / evidence.rows**2
        square = float((beyond**2).sum())
        part = noise / square if self.shrink and square > 0 else 0.0
        kept = beyond * max(0.0, 1 - part)
        dependence = mutual_information(product + kept) if self.score == "I" else float(np.abs(kept).sum()) / 2
        return evidence.rows * dependence - self.price * counts.size

    def pairs(self, evidence: Evidence) -> Array:
        """The gains of all pairs of columns, in the order of the domain, or 0; 0 also for pairs in no table."""
        names = evidence.domain.names
        matrix = np.zeros((len(names), len(names)))
        for x, first in enumerate(names):
            for y in range(x):
                if evidence.holds((first, names[y])):
                    matrix[x, y] = matrix[y, x] = max(0.0, self(evidence, first, (names[y],)))
        return matrix


def mutual_information(table: Array) -> float:
    """Of the rows and columns of a table, in nats; negative cells count as 0."""
    joint = np.clip(table, 0.0, None)
    if not joint.any():
        return 0.0
    joint = joint / joint.sum()
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    cells = joint > 0
    return max(0.0, float((joint[cells] * np.log(joint[cells] / product[cells])).sum()))


def _proportions(counts: Array) -> Array:
    """Counts as proportions; negative ones count as 0."""
    kept = np.clip(counts, 0.0, None)
    return kept / kept.sum() if kept.any() else np.full(kept.shape, 1 / kept.size)
