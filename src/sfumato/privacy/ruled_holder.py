"""A holder whose tables know which of their cells the rules of a schema leave empty.

The noise in such a cell says nothing about rows, and it is not published. So no method may see it either: what a method
does then follows from what is published, and anybody can repeat it (docs/verify.md, `run`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.data.coding import Coding, Step
from sfumato.data.constraints import Constraints
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Measurement
from sfumato.data.selection import Family
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.questions import Dependence, Distances
from sfumato.privacy.scores import Score


def with_known_zeros(measurements: Iterable[Measurement], constraints: Constraints) -> tuple[Measurement, ...]:
    """Tables that know which of their cells rules leave empty: 0, and without noise."""
    return tuple(one.knowing(constraints.allowed(one.clique, one.coding)) for one in measurements)


class RuledHolder:
    """Asks another holder, and takes the noise out of cells that may hold no row."""

    def __init__(self, holder: Holder, constraints: Constraints):
        self.holder = holder
        self._constraints = constraints

    @property
    def coding(self) -> Coding:
        """How the codes that are asked about follow from the attributes of the schema; public."""
        return self.holder.coding

    @property
    def domain(self) -> Domain:
        """The attributes that may be asked about; public."""
        return self.holder.domain

    @property
    def neighbours(self) -> Neighbours:
        """Which tables must look alike."""
        return self.holder.neighbours

    def variance(self, part: Share) -> float:
        """The variance of the noise that a part of the budget buys for each cell of one table; asks nothing."""
        return self.holder.variance(part)

    def measure(self, cliques: Sequence[Clique], parts: Sequence[Share]) -> tuple[Measurement, ...]:
        """The table of each clique, with noise in each cell that may hold rows, for a part of the budget each."""
        return with_known_zeros(self.holder.measure(cliques, parts), self._constraints)

    def dependence(self, pairs: Sequence[Clique], part: Share) -> Dependence:
        """How far each pair of attributes is from independence, in rows, plus noise; all of them for one part."""
        found = self.holder.dependence(pairs, part)
        # Where it took tables to answer, their noise in cells that may hold no row says nothing about dependence.
        return Dependence.of_tables(with_known_zeros(found.tables, self._constraints)) if found.tables else found

    def distances(self, cliques: Sequence[Clique], expected: Iterable[NDArray[np.float64]], part: Share) -> Distances:
        """How far each table is from a public one, in rows (L1), plus noise; all of them for one part."""
        return self.holder.distances(cliques, expected, part)

    def choose(self, families: Sequence[Family], score: Score, part: Share, handicaps: Sequence[int]) -> int:
        """The place of one family, those of high score more likely, by the exponential mechanism."""
        return self.holder.choose(families, score, part, handicaps)

    def note(self, question: str, reason: str) -> None:
        """Record a step that needs no answer about the rows and so costs nothing."""
        self.holder.note(question, reason)

    def through(self, step: Step) -> RuledHolder:
        """The same rows after one more step of coding; asks nothing and costs nothing."""
        return RuledHolder(self.holder.through(step), self._constraints)
