"""A holder that writes questions, noisy answers and exact ones down: rows of this room are made up, so it may."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.data.coding import Coding, Step
from sfumato.data.domain import Clique
from sfumato.data.marginal import Measurement
from sfumato.data.selection import Family
from sfumato.engines import Engine
from sfumato.privacy.budget import Share
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.events import Choice, Noisy
from sfumato.privacy.holder import LocalHolder
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.questions import Dependence, Distances
from sfumato.privacy.rows_per_person import RowsPerPerson
from sfumato.privacy.scores import GRID, Score, distance_to, independence_difference

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Asked:
    """One question and its answer.

    Args:
        question: what was asked, of which codes and for how much, as text.
        answer: what the method got.
        noisy: the whole numbers in the answer, for each event; of a choice, the place of what was chosen.
        exact: the same numbers without noise, for each event, of each table of rows; of a choice, all scores.
        events: what was charged.
    """

    question: str
    answer: Any
    noisy: list[Integers]
    exact: tuple[list[Integers], ...]
    events: list[Noisy | Choice]


class Listener(Protocol):
    """Hears each question, and says which answer the method gets."""

    def hear(self, asked: Asked) -> Any:
        """The answer to use."""
        ...


class RecordingHolder(LocalHolder):
    """A local holder that does all that one does, and tells a listener.

    The first of the engines has the rows that are asked about. The exact answers of the others are told too.
    """

    def __init__(
        self,
        engines: Sequence[Engine],
        neighbours: Neighbours,
        ledger: Ledger,
        listener: Listener,
        coding: Coding | None = None,
    ):
        super().__init__(engines[0], neighbours, ledger, SystemEntropy(), coding, _persons(engines[0]))
        self._engines = engines
        self._listener = listener

    def through(self, step: Step) -> RecordingHolder:
        """The same rows after one more step of coding."""
        return RecordingHolder(self._engines, self.neighbours, self._ledger, self._listener, self.coding.then(step))

    def measure(self, cliques: Sequence[Clique], parts: Sequence[Share]) -> tuple[Measurement, ...]:
        """Measure, and tell."""
        answer, events = self._charged(lambda: super(RecordingHolder, self).measure(cliques, parts))
        noisy = [_whole(one.marginal.counts * self.neighbours.parts) for one in answer]
        exact = [self._counts(engine, cliques) for engine in self._engines]
        found: tuple[Measurement, ...] = self._told("measure", cliques, parts, answer, noisy, exact, events)
        return found

    def rows_per_person(self, most: int, part: Share) -> RowsPerPerson:
        """Count persons, and tell."""
        answer, events = self._charged(lambda: super(RecordingHolder, self).rows_per_person(most, part))
        sizes = [_persons(engine) for engine in self._engines]
        exact = [[RowsPerPerson.exact(most, np.zeros(0, np.int64) if one is None else one)] for one in sizes]
        noisy = [np.array(answer.counts, dtype=np.int64)]
        found: RowsPerPerson = self._told(f"persons {most}", [], [part], answer, noisy, exact, events)
        return found

    def dependence(self, pairs: Sequence[Clique], part: Share) -> Dependence:
        """Score pairs, and tell."""
        answer, events = self._charged(lambda: super(RecordingHolder, self).dependence(pairs, part))
        exact = [
            [np.array([independence_difference(one) for one in self._counts(engine, pairs)], dtype=np.int64)]
            for engine in self._engines
        ]
        noisy = [_whole(answer.scores * GRID * self.neighbours.parts)]
        found: Dependence = self._told("dependence", pairs, [part], answer, noisy, exact, events)
        return found

    def distances(self, cliques: Sequence[Clique], expected: Iterable[NDArray[np.float64]], part: Share) -> Distances:
        """Tell how far tables are from public ones, and tell the listener too."""
        public, parts = list(expected), self.neighbours.parts
        answer, events = self._charged(lambda: super(RecordingHolder, self).distances(cliques, public, part))
        exact = []
        for engine in self._engines:
            pairs = zip(self._counts(engine, cliques), public, strict=True)
            exact.append([np.array([distance_to(one, two * parts) for one, two in pairs], dtype=np.int64)])
        noisy = [_whole(answer.values * GRID * parts)]
        kind = f"distances to {[one.tobytes() for one in public]}"
        found: Distances = self._told(kind, cliques, [part], answer, noisy, exact, events)
        return found

    def choose(self, families: Sequence[Family], score: Score, part: Share, handicaps: Sequence[int]) -> int:
        """Choose, and tell."""
        answer, events = self._charged(lambda: super(RecordingHolder, self).choose(families, score, part, handicaps))
        cliques = [(one.column, *one.parents) for one in families]
        less = np.array(handicaps, dtype=np.int64) * self.neighbours.parts
        exact = []
        for engine in self._engines:
            scores = [score.of(one.reshape(one.shape[0], -1)) for one in self._counts(engine, cliques)]
            exact.append([np.array(scores, dtype=np.int64) - less])
        kind = f"choose by {score.name} {list(handicaps)}"
        found: int = self._told(kind, cliques, [part], answer, [np.array([answer])], exact, events)
        return found

    def _charged(self, ask: Any) -> tuple[Any, list[Noisy | Choice]]:
        before = len(self._ledger.statement().entries)
        answer = ask()
        new = self._ledger.statement().entries[before:]
        return answer, [event for _, event in new if isinstance(event, Noisy | Choice)]

    def _counts(self, engine: Engine, cliques: Sequence[Clique]) -> list[Integers]:
        return [np.asarray(table.counts, dtype=np.int64) for table in engine.count(self.coding, cliques)]

    def _told(
        self,
        kind: str,
        cliques: Sequence[Clique],
        parts: Sequence[Share],
        answer: Any,
        noisy: list[Integers],
        exact: Sequence[list[Integers]],
        events: list[Noisy | Choice],
    ) -> Any:
        amounts = [str(part.amount) for part in parts]
        question = json.dumps([kind, self.coding.to_dict(), [list(clique) for clique in cliques], amounts])
        return self._listener.hear(Asked(question, answer, noisy, tuple(exact), events))


def _persons(engine: Engine) -> Integers | None:
    """How many rows each person has, where the engine knows."""
    sizes: Integers | None = getattr(engine, "sizes", None)
    return sizes


def _whole(numbers: NDArray[Any]) -> Integers:
    return np.asarray(np.rint(numbers), dtype=np.int64)
