"""All parties of DP-SUBN in one process, asked as the paper asks them: together, one alone, or the first few.

It is here to reproduce published figures. Each party has a ledger, which is charged for every answer that its rows are
part of; the paper charges less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.records import Records
from sfumato.data.selection import Family
from sfumato.engines import memory
from sfumato.privacy.entropy import Entropy
from sfumato.privacy.events import Noise
from sfumato.privacy.holder import Codec, LocalHolder, table_events
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.one_share import OneShareHolder, _one_of
from sfumato.privacy.scores import Score

Vector = NDArray[np.int64]
Add = Callable[[Sequence[Vector], Sequence[Vector], int], Vector]
"""Adds the counts of all parties and the noise of the one at a place, given the counts and the noise of each."""


def plain_sum(counts: Sequence[Vector], noises: Sequence[Vector], kept: int) -> Vector:
    """The counts of all parties and the noise of one, added up in the clear."""
    total: Vector = np.sum(counts, axis=0) + noises[kept]
    return total


class PaperUnion(OneShareHolder):
    """The union of the parties' rows, the parties one by one, and the union of the first few.

    Args:
        holders: the rows of each party.
        ledgers: the book of each party. `stage` says which phase is charged.
        add: how counts and one share of noise are added up.
        updates: whether the noise that is kept is the last party's, as in a sequential update, and not one at random.
    """

    def __init__(
        self,
        holders: Sequence[LocalHolder],
        ledgers: Sequence[Ledger],
        add: Add = plain_sum,
        entropy: Entropy | None = None,
        *,
        updates: bool = False,
    ):
        super().__init__(holders, ledgers[0], entropy)
        self._ledgers = tuple(ledgers)
        self._add = add
        self._updates = updates
        self.stage = "correlation quantification"
        self.parties = [
            _Turn(one._records, one.neighbours, ledger, self._entropy)
            for one, ledger in zip(holders, ledgers, strict=True)
        ]

    def through(self, codec: Codec[Records]) -> PaperUnion:
        """The same rows in the codes of `codec`; asks nothing and costs nothing."""
        holders = [one.through(codec) for one in self._holders]
        return PaperUnion(holders, self._ledgers, self._add, self._entropy, updates=self._updates)

    def first(self, count: int) -> PaperUnion:
        """The union of the first parties. The noise in its answers is the last one's, and that one knows it."""
        part = PaperUnion(self._holders[:count], self._ledgers[:count], self._add, self._entropy, updates=True)
        part.stage = f"update by party {count}"
        return part

    def measure(self, cliques: Sequence[Clique], noises: Sequence[Noise]) -> tuple[Measurement, ...]:
        """The marginal of each clique over the union, with the noise that one party drew; every party pays."""
        domains = [self.domain.project(clique) for clique in cliques]
        events = table_events(cliques, noises, self.neighbours)
        for ledger in self._ledgers:
            ledger.stage = self.stage
            ledger.charge(*events)
        self._own = [
            [self._draw(noise, domain.cells()) for domain, noise in zip(domains, noises, strict=True)]
            for _ in self._holders
        ]
        kept = len(self._own) - 1 if self._updates else _one_of(len(self._own), self._entropy)
        counts = [_flat([table.counts for table in memory.count(one._records, cliques)]) for one in self._holders]
        total = self._add(counts, [_flat(own) for own in self._own], kept)
        tables = np.split(total, np.cumsum([domain.cells() for domain in domains])[:-1])
        return tuple(
            Measurement(Marginal(domain, table.reshape(domain.shape)), noise.variance)
            for domain, table, noise in zip(domains, tables, noises, strict=True)
        )


class _Turn(LocalHolder):
    """A party whose turn it is to choose parents, from its own rows alone."""

    def choose(self, families: Sequence[Family], score: Score, epsilon: Fraction, handicaps: Sequence[int]) -> int:
        """The place of one family, by the exponential mechanism; only this party pays."""
        self._ledger.stage = "structure initialization"
        return super().choose(families, score, epsilon, handicaps)


def _flat(tables: Sequence[NDArray[np.generic]]) -> Vector:
    return np.concatenate([np.asarray(table, dtype=np.int64).ravel() for table in tables])
