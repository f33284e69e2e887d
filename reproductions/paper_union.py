"""All parties of DP-SUBN in one process, asked as the paper asks them: together, one alone, or the first few.

It is here to reproduce published figures. Each party has a ledger, which is charged for every answer that its rows are
part of; the paper charges less.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproductions.one_share import Add, OneShareHolder, plain_sum
from sfumato.data.coding import Coding, Step
from sfumato.data.selection import Family
from sfumato.engines import Engine
from sfumato.privacy.budget import Share
from sfumato.privacy.entropy import Entropy
from sfumato.privacy.events import Event
from sfumato.privacy.holder import Holder, LocalHolder
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.scores import Score


class Turn:
    """A party whose turn it is to choose parents, from its own rows alone; only it pays."""

    def __init__(self, holder: Holder, ledger: Ledger):
        self._holder = holder
        self._ledger = ledger

    def choose(self, families: Sequence[Family], score: Score, part: Share, handicaps: Sequence[int]) -> int:
        """The place of one family, by the exponential mechanism."""
        self._ledger.stage = "structure initialization"
        return self._holder.choose(families, score, part, handicaps)


class PaperUnion(OneShareHolder):
    """The union of the parties' rows, the parties one by one, and the union of the first few.

    Args:
        engines: the rows of each party.
        neighbours: which tables must look alike.
        ledgers: the book of each party. `stage` says which phase is charged.
        entropy: of noise and choices.
        coding: the codes to count in.
        add: how counts and one share of noise are added up.
        updates: whether the noise that is kept is the last party's, as in a sequential update, and not one at random.
    """

    def __init__(
        self,
        engines: Sequence[Engine],
        neighbours: Neighbours,
        ledgers: Sequence[Ledger],
        entropy: Entropy | None = None,
        coding: Coding | None = None,
        add: Add = plain_sum,
        *,
        updates: bool = False,
    ):
        super().__init__(engines, neighbours, ledgers[0], entropy, coding, add)
        self._ledgers = tuple(ledgers)
        self._updates = updates
        self.stage = "correlation quantification"
        self.parties = [
            Turn(LocalHolder(engine, neighbours, ledger, self._entropy, coding), ledger)
            for engine, ledger in zip(engines, ledgers, strict=True)
        ]

    def through(self, step: Step) -> PaperUnion:
        """The same rows after one more step of coding; asks nothing and costs nothing."""
        return self._like(len(self._engines), self.coding.then(step), self._updates)

    def first(self, count: int) -> PaperUnion:
        """The union of the first parties. The noise in its answers is the last one's, and that one knows it."""
        part = self._like(count, self.coding, updates=True)
        part.stage = f"update by party {count}"
        return part

    def _like(self, count: int, coding: Coding, updates: bool) -> PaperUnion:
        engines, ledgers = self._engines[:count], self._ledgers[:count]
        return PaperUnion(engines, self.neighbours, ledgers, self._entropy, coding, self._add, updates=updates)

    def _charge(self, events: Sequence[Event]) -> range:
        """Every party pays. The numbers are those of the first one's ledger."""
        numbers = []
        for ledger in self._ledgers:
            ledger.stage = self.stage
            numbers.append(ledger.charge(*events))
        return numbers[0]

    def _kept(self) -> int:
        return len(self._engines) - 1 if self._updates else super()._kept()
