"""What noisy tables say together about any columns that lie in one of them, and about how much these depend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Measurement
from sfumato.errors import MethodError

Array = NDArray[np.float64]


class NoisyTables:
    """Noisy tables of one domain. Reading them costs nothing: it is post-processing."""

    def __init__(self, domain: Domain, measurements: Sequence[Measurement]):
        self.domain = domain
        self._measurements = tuple(measurements)
        self._holding: dict[str, set[int]] = {name: set() for name in domain}
        for place, one in enumerate(measurements):
            for name in one.clique:
                self._holding[name].add(place)
        self._tables: dict[frozenset[str], tuple[Clique, Array, float]] = {}

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
