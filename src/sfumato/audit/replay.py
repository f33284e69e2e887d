"""Record and replay: run a method on a table, and again on its neighbour with the answers of the first run.

If a method reaches rows through its holder alone, the second run asks the same questions, pays the same and learns the
same. And if exact answers differ by more than was charged for, a sensitivity is wrong. Nothing here is random but the
noise, and the noise of the second run is not used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.audit.rows import Pair, pairs
from sfumato.data.coding import Coding, Step
from sfumato.data.domain import Clique
from sfumato.data.marginal import Measurement
from sfumato.data.selection import Family
from sfumato.engines import Engine
from sfumato.engines.memory import Memory
from sfumato.errors import SfumatoError
from sfumato.fitting import count_persons, open_ledger
from sfumato.job import Job
from sfumato.pipeline import Model, run
from sfumato.privacy.budget import Share
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.events import Choice, Noisy
from sfumato.privacy.holder import Dependence, Distances, LocalHolder
from sfumato.privacy.ledger import Ledger, Statement
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.opening import open_engine
from sfumato.privacy.rows_per_person import RowsPerPerson
from sfumato.privacy.scores import Score, distance_to, independence_difference

Exact = list[np.ndarray[Any, np.dtype[np.int64]]]


@dataclass(frozen=True, eq=False)
class Answered:
    """One question, its noisy answer, and the exact one."""

    question: str
    answer: Any
    exact: Exact


@dataclass(eq=False)
class Tape:
    """The questions of a run. While it is played back, differences are noted as problems."""

    answered: list[Answered] = field(default_factory=list)
    playing: bool = False
    place: int = 0
    problems: list[str] = field(default_factory=list)
    reached: float = 0.0

    def rewind(self) -> None:
        """Begin to play it back."""
        self.playing, self.place = True, 0

    def next(self, question: str, answer: Any, exact: Exact, charged: Sequence[Noisy | Choice]) -> Any:
        """The answer to use: a new one while recording, that of the first run while playing."""
        if not self.playing:
            self.answered.append(Answered(question, answer, exact))
            return answer
        if self.place >= len(self.answered) or self.answered[self.place].question != question:
            raise _OtherQuestion
        before = self.answered[self.place]
        self.place += 1
        for one, two, event in zip(before.exact, exact, charged, strict=True):
            self._compare(np.abs(one.astype(object) - two.astype(object)).ravel(), event)
        return before.answer

    def _compare(self, moved: np.ndarray[Any, np.dtype[Any]], event: Noisy | Choice) -> None:
        if isinstance(event, Choice):
            ratio = float(max(moved, default=0)) / event.sensitivity
        else:
            l1, l2_squared = sum(moved.tolist()), sum(one * one for one in moved.tolist())
            ratio = max(float(l1 / event.sensitivity.l1), float(l2_squared / event.sensitivity.l2_squared))
        if ratio > 1:
            self.problems.append(f"{event.question[:60]!r} moves {ratio:.3g} times as far as was charged for")
        self.reached = max(self.reached, ratio)


class _OtherQuestion(SfumatoError):  # noqa: N818 -- the name says what happened
    """A run asks something else on the neighbour."""


class RecordingHolder(LocalHolder):
    """A local holder that does all that one does, and writes questions and exact answers of made-up rows on a tape."""

    def __init__(
        self, engine: Engine, neighbours: Neighbours, ledger: Ledger, tape: Tape, coding: Coding | None = None
    ):
        sizes = engine.sizes if isinstance(engine, Memory) else None
        super().__init__(engine, neighbours, ledger, SystemEntropy(), coding, sizes)
        self._tape = tape

    def through(self, step: Step) -> RecordingHolder:
        """The same rows after one more step of coding."""
        return RecordingHolder(self._engine, self.neighbours, self._ledger, self._tape, self.coding.then(step))

    def measure(self, cliques: Sequence[Clique], parts: Sequence[Share]) -> tuple[Measurement, ...]:
        """Measure, and write it on the tape."""
        answers, events = self._charged(lambda: super(RecordingHolder, self).measure(cliques, parts))
        exact = [_counts(table) for table in self._engine.count(self.coding, cliques)]
        found: tuple[Measurement, ...] = self._tape.next(self._asked("measure", cliques, parts), answers, exact, events)
        return found

    def rows_per_person(self, most: int, part: Share) -> RowsPerPerson:
        """Count persons, and write it on the tape."""
        answer, events = self._charged(lambda: super(RecordingHolder, self).rows_per_person(most, part))
        exact = RowsPerPerson.exact(most, np.zeros(0, np.int64) if self._persons is None else self._persons)
        found: RowsPerPerson = self._tape.next(self._asked(f"persons {most}", [], [part]), answer, [exact], events)
        return found

    def dependence(self, pairs: Sequence[Clique], part: Share) -> Dependence:
        """Score pairs, and write it on the tape."""
        answer, events = self._charged(lambda: super(RecordingHolder, self).dependence(pairs, part))
        scores = [independence_difference(_counts(table)) for table in self._engine.count(self.coding, pairs)]
        found: Dependence = self._tape.next(
            self._asked("dependence", pairs, [part]), answer, [np.array(scores, dtype=np.int64)], events
        )
        return found

    def distances(self, cliques: Sequence[Clique], expected: Iterable[NDArray[np.float64]], part: Share) -> Distances:
        """Tell how far tables are from public ones, and write it on the tape."""
        public = list(expected)
        answer, events = self._charged(lambda: super(RecordingHolder, self).distances(cliques, public, part))
        tables = zip(self._engine.count(self.coding, cliques), public, strict=True)
        exact = [distance_to(_counts(table), one * self.neighbours.parts) for table, one in tables]
        asked = self._asked(f"distances to {[one.tobytes() for one in public]}", cliques, [part])
        found: Distances = self._tape.next(asked, answer, [np.array(exact, dtype=np.int64)], events)
        return found

    def choose(self, families: Sequence[Family], score: Score, part: Share, handicaps: Sequence[int]) -> int:
        """Choose, and write it on the tape."""
        answer, events = self._charged(lambda: super(RecordingHolder, self).choose(families, score, part, handicaps))
        cliques = [(one.column, *one.parents) for one in families]
        tables = [_counts(table) for table in self._engine.count(self.coding, cliques)]
        scores = [score.of(table.reshape(table.shape[0], -1)) for table in tables]
        asked = self._asked(f"choose by {score.name} {list(handicaps)}", cliques, [part])
        found: int = self._tape.next(asked, answer, [np.array(scores, dtype=np.int64)], events)
        return found

    def _charged(self, ask: Any) -> tuple[Any, list[Noisy | Choice]]:
        before = len(self._ledger.statement().entries)
        answer = ask()
        new = self._ledger.statement().entries[before:]
        return answer, [event for _, event in new if isinstance(event, Noisy | Choice)]

    def _asked(self, kind: str, cliques: Sequence[Clique], parts: Sequence[Share]) -> str:
        amounts = [str(part.amount) for part in parts]
        return json.dumps([kind, self.coding.to_dict(), [list(clique) for clique in cliques], amounts])


@dataclass(frozen=True, eq=False)
class Replayed:
    """What came of the pairs of one schema and method.

    Args:
        problems: what differs that must not.
        pairs: how many pairs were tried.
        reached: the largest change of an exact answer, as a part of what was charged for.
        statement: the ledger of a run.
    """

    problems: tuple[str, ...]
    pairs: int
    reached: float
    statement: Statement


def replay(job: Job, few: bool = False) -> Replayed:
    """Try all pairs of neighbours that are made up for a schema, or a few."""
    problems: list[str] = []
    reached, tried = 0.0, 0
    statement = open_ledger(job).statement()
    for pair in pairs(job.schema, few):
        found, tape, statement = _tried(job, pair)
        problems += [f"{job.recipe.name}, {pair.name}: {one}" for one in found]
        reached, tried = max(reached, tape.reached), tried + 1
    return Replayed(tuple(problems), tried, reached, statement)


def _tried(job: Job, pair: Pair) -> tuple[list[str], Tape, Statement]:
    tape = Tape()
    first, statement = _run(job, pair.first, tape)
    tape.rewind()
    try:
        second, again = _run(job, pair.second, tape)
    except _OtherQuestion:
        return ["asks another question on the neighbour, so it has seen rows without paying"], tape, statement
    problems = list(dict.fromkeys(tape.problems))
    if again.entries != statement.entries:
        problems.append("pays something else on the neighbour")
    if _described(first) != _described(second):
        problems.append("learns something else from the same answers")
    try:
        statement.verify()
    except SfumatoError as problem:
        problems.append(str(problem))
    return problems, tape, statement


def _run(job: Job, table: pa.Table, tape: Tape) -> tuple[Model, Statement]:
    ledger = open_ledger(job)
    engine = open_engine(table, job.schema, SystemEntropy())
    holder = RecordingHolder(engine, Neighbours.of(job.schema), ledger, tape)
    count_persons(holder, job.schema, ledger)
    return run(job.recipe, holder, job.schema, ledger), ledger.statement()


def _described(model: Model) -> tuple[str, list[bytes]]:
    words = json.dumps([model.recoding.to_dict(), model.selection.to_dict()])
    return words, [table.counts.tobytes() for table in model.marginals.tables]


def _counts(table: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.asarray(table.counts, dtype=np.int64)
