"""Record and replay: run a method on a table, and again on its neighbour with the answers of the first run.

If a method reaches rows through its holder alone, the second run asks the same questions, pays the same and learns the
same. And if exact answers differ by more than was charged for, a sensitivity is wrong. Nothing here is random but the
noise, and the noise of the second run is not used.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.audit.recording import Asked, Integers, RecordingHolder
from sfumato.audit.rows import Pair, pairs
from sfumato.engines import Engine
from sfumato.errors import SfumatoError
from sfumato.fitting import count_persons, open_ledger
from sfumato.job import Job
from sfumato.pipeline import Model, run
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.events import Choice, Noisy
from sfumato.privacy.ledger import Statement
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.opening import open_engine


@dataclass(eq=False)
class Tape:
    """The questions of a run. While it is played back, differences are noted as problems."""

    heard: list[Asked] = field(default_factory=list)
    playing: bool = False
    place: int = 0
    problems: list[str] = field(default_factory=list)
    reached: float = 0.0

    def rewind(self) -> None:
        """Begin to play it back."""
        self.playing, self.place = True, 0

    def hear(self, asked: Asked) -> Any:
        """The answer to use: a new one while recording, that of the first run while playing."""
        if not self.playing:
            self.heard.append(asked)
            return asked.answer
        if self.place >= len(self.heard) or self.heard[self.place].question != asked.question:
            raise _OtherQuestion
        before = self.heard[self.place]
        self.place += 1
        for one, two, event in zip(before.exact[0], asked.exact[0], asked.events, strict=True):
            self.compare(one, two, event)
        return before.answer

    def compare(self, one: Integers, two: Integers, event: Noisy | Choice) -> None:
        """Note how far an exact answer moves, as a part of what was charged for."""
        moved = np.abs(one.astype(object) - two.astype(object)).ravel().tolist()
        if isinstance(event, Choice):
            ratio = float(max(moved, default=0)) / event.sensitivity
        else:
            l1, l2_squared = sum(moved), sum(one * one for one in moved)
            ratio = max(float(l1 / event.sensitivity.l1), float(l2_squared / event.sensitivity.l2_squared))
        if ratio > 1:
            self.problems.append(f"{event.question[:60]!r} moves {ratio:.3g} times as far as was charged for")
        self.reached = max(self.reached, ratio)


class _OtherQuestion(SfumatoError):  # noqa: N818 -- the name says what happened
    """A run asks something else on the neighbour."""


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
        found, tape, statement = compared(job, pair)
        problems += [f"{job.recipe.name}, {pair.name}: {one}" for one in found]
        reached, tried = max(reached, tape.reached), tried + 1
    return Replayed(tuple(problems), tried, reached, statement)


def compared(
    job: Job, pair: Pair, opening: Callable[[pa.Table], Engine] | None = None
) -> tuple[list[str], Tape, Statement]:
    """What differs that must not between runs on two neighbours, with the tape and the ledger of a run.

    Args:
        job: what is run on both.
        pair: the neighbours.
        opening: an engine over the rows of a table, if not the usual one.
    """
    opened = opening or (lambda table: open_engine(table, job.schema, SystemEntropy()))
    tape = Tape()
    first, statement = _run(job, opened(pair.first), tape)
    tape.rewind()
    try:
        second, again = _run(job, opened(pair.second), tape)
    except _OtherQuestion:
        return ["asks another question on the neighbour, so it has seen rows without paying"], tape, statement
    problems = list(dict.fromkeys(tape.problems))
    if again.entries != statement.entries:
        problems.append("pays something else on the neighbour")
    if described(first) != described(second):
        problems.append("learns something else from the same answers")
    try:
        statement.verify()
    except SfumatoError as problem:
        problems.append(str(problem))
    return problems, tape, statement


def _run(job: Job, engine: Engine, tape: Tape) -> tuple[Model, Statement]:
    ledger = open_ledger(job)
    try:
        holder = RecordingHolder([engine], Neighbours.of(job.schema), ledger, tape)
        count_persons(holder, job.schema, ledger)
        return run(job.recipe, holder, job.schema, ledger), ledger.statement()
    finally:
        engine.close()


def described(model: Model) -> tuple[str, list[bytes]]:
    """What a run learned, to compare two bit for bit."""
    words = json.dumps([model.recoding.to_dict(), model.selection.to_dict()])
    return words, [table.counts.tobytes() for table in model.marginals.tables]
