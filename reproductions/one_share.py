"""The multi-party Laplace mechanism as DP-SUBN uses it: every party draws noise, and one draw is kept.

It is here to reproduce published figures. It gives no guarantee against participants: the party whose noise was kept
can take it off, and can tell that it was the one (docs/proofs/parties.md, section 6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.data.coding import Coding, Step
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.selection import Family
from sfumato.engines import Engine
from sfumato.errors import MethodError
from sfumato.privacy.budget import Share
from sfumato.privacy.entropy import Entropy, SystemEntropy
from sfumato.privacy.events import Event
from sfumato.privacy.holder import LocalHolder
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.questions import Dependence, table_events, table_noises
from sfumato.privacy.scores import Score

Vector = NDArray[np.int64]
Add = Callable[[Sequence[Vector], Sequence[Vector], int], Vector]
"""Adds the counts of all parties and the noise of the one at a place, given the counts and the noise of each."""


def plain_sum(counts: Sequence[Vector], noises: Sequence[Vector], kept: int) -> Vector:
    """The counts of all parties and the noise of one, added up in the clear."""
    total: Vector = np.sum(counts, axis=0) + noises[kept]
    return total


class Pooled:
    """An engine of the rows of several: their tables add up."""

    def __init__(self, engines: Sequence[Engine]):
        self._engines = tuple(engines)

    @property
    def domain(self) -> Domain:
        """The attributes that all of them have."""
        return self._engines[0].domain

    def count(self, coding: Coding, cliques: Sequence[Clique]) -> Iterator[Marginal]:
        """The exact table of each clique over all rows."""
        for tables in zip(*(engine.count(coding, cliques) for engine in self._engines), strict=True):
            yield Marginal(tables[0].domain, np.sum([table.counts for table in tables], axis=0))

    def close(self) -> None:
        """Forget the rows."""
        for engine in self._engines:
            engine.close()


class OneShareHolder:
    """The union of the rows of many parties in one process, answered with the noise of one of them, at random.

    Args:
        engines: the rows of each party.
        neighbours: which tables must look alike.
        ledger: what is charged, as if the noise that is kept protected everybody.
        entropy: of the noise, and of the choice of one.
        coding: the codes to count in.
        add: how counts and one share of noise are added up.
    """

    def __init__(
        self,
        engines: Sequence[Engine],
        neighbours: Neighbours,
        ledger: Ledger,
        entropy: Entropy | None = None,
        coding: Coding | None = None,
        add: Add = plain_sum,
    ):
        if not engines:
            raise MethodError("a union of no parties was asked for; give the engine of at least one")
        self.neighbours = neighbours
        self._engines = tuple(engines)
        self._ledger = ledger
        self._entropy = entropy or SystemEntropy()
        self._add = add
        self._pooled = LocalHolder(Pooled(engines), neighbours, ledger, self._entropy, coding)
        self._own: list[list[Vector]] = []

    @property
    def coding(self) -> Coding:
        """How the codes that are asked about follow from the attributes of the schema."""
        return self._pooled.coding

    @property
    def domain(self) -> Domain:
        """The attributes that may be asked about."""
        return self.coding.domain

    def note(self, question: str, reason: str) -> None:
        """Record a step that needs no answer about the rows and so costs nothing."""
        self._pooled.note(question, reason)

    def through(self, step: Step) -> OneShareHolder:
        """The same rows after one more step of coding; asks nothing and costs nothing."""
        coding = self.coding.then(step)
        return OneShareHolder(self._engines, self.neighbours, self._ledger, self._entropy, coding, self._add)

    def variance(self, part: Share) -> float:
        """The variance of the noise that a part of the budget buys for each cell of one table."""
        return self._pooled.variance(part)

    def dependence(self, pairs: Sequence[Clique], part: Share) -> Dependence:
        """How far each pair of attributes is from independence, as one who has all rows would answer."""
        return self._pooled.dependence(pairs, part)

    def choose(self, families: Sequence[Family], score: Score, part: Share, handicaps: Sequence[int]) -> int:
        """The place of one family, as one who has all rows would choose it."""
        return self._pooled.choose(families, score, part, handicaps)

    def measure(self, cliques: Sequence[Clique], parts: Sequence[Share]) -> tuple[Measurement, ...]:
        """The table of each clique over the union, with the noise that one party drew for it."""
        domains = [self.domain.project(clique) for clique in cliques]
        noises = table_noises(self._ledger.budget, parts, self.neighbours)
        numbers = self._charge(table_events(cliques, noises, self.neighbours))
        self._own = [
            [noise.draw(domain.cells(), self._entropy) for domain, noise in zip(domains, noises, strict=True)]
            for _ in self._engines
        ]
        counts = [flat(table.counts for table in engine.count(self.coding, cliques)) for engine in self._engines]
        total = self._add(counts, [flat(own) for own in self._own], self._kept())
        tables = np.split(total, np.cumsum([domain.cells() for domain in domains])[:-1])
        return tuple(
            Measurement(Marginal(domain, table.reshape(domain.shape)), noise.variance, self.coding, number)
            for domain, table, noise, number in zip(domains, tables, noises, numbers, strict=True)
        )

    def own_noise(self, party: int) -> tuple[Vector, ...]:
        """What a party knows of the last answer: the noise that it drew itself, whether it was kept or not."""
        return tuple(self._own[party])

    def _charge(self, events: Sequence[Event]) -> range:
        return self._ledger.charge(*events)

    def _kept(self) -> int:
        """The party whose noise is kept: a uniform number. Words that would favour some are thrown away."""
        count = len(self._engines)
        while True:
            word = int(self._entropy.words(1)[0])
            if word < (1 << 64) // count * count:
                return word % count


def flat(tables: Iterable[NDArray[np.generic]]) -> Vector:
    """Whole tables as one vector, cell after cell."""
    return np.concatenate([np.asarray(table, dtype=np.int64).ravel() for table in tables])
