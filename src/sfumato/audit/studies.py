"""A whole study, recorded and replayed: three parties, of which one has a person more in the second run.

Every party answers the second run with the numbers of the first, under the masks of the second. If nothing but the
answers reaches the curator, he asks the same questions, everybody pays the same, and the same model is learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.audit.replay import Tape, described
from sfumato.audit.rows import ROWS, Pair, made_up, pairs
from sfumato.data.coding import Coding
from sfumato.data.domain import Clique
from sfumato.engines import Engine
from sfumato.errors import SfumatoError
from sfumato.job import Job, recipe_of
from sfumato.parties.local import Outcome, run
from sfumato.privacy.budget import ApproxDP, PureDP
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.mechanisms import Noise
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.opening import open_engine
from sfumato.privacy.party_holder import PartyHolder
from sfumato.privacy.questions import table_events
from sfumato.recipes.auto import over_parties
from sfumato.schema.schema import Schema

Words = NDArray[np.uint64]
METHODS = (("dpview", PureDP("1")), ("auto", ApproxDP("2", "1e-3")))
"""Studies with shares of Laplace and of Skellam noise."""


@dataclass(eq=False)
class _Spoken:
    """What a party said in the first run: questions, and counts with its share of noise, without masks."""

    questions: list[str] = field(default_factory=list)
    answers: list[Words] = field(default_factory=list)
    exact: list[list[NDArray[np.int64]]] = field(default_factory=list)


class _Speaker(PartyHolder):
    """A party that does all that one does, and is heard; or one that says again what was said."""

    def __init__(self, engine: Engine, neighbours: Neighbours, spoken: _Spoken, tape: Tape | None):
        super().__init__(engine, neighbours, SystemEntropy())
        self._spoken, self._tape, self._place = spoken, tape, 0

    def share(
        self,
        coding: Coding,
        cliques: Sequence[Clique],
        noises: Sequence[Noise],
        honest: int,
        mask: Words,
        ledger: Ledger,
    ) -> Words:
        """Charge and answer as a party does, and listen."""
        answer = super().share(coding, cliques, noises, honest, mask, ledger)
        question = f"{coding.to_dict()} {cliques} {noises} {honest}"
        exact = [np.asarray(one.counts, dtype=np.int64).ravel() for one in self._engine.count(coding, cliques)]
        said = self._spoken
        if self._tape is None:
            said.questions.append(question)
            said.answers.append(answer - mask)
            said.exact.append(exact)
            return answer
        place = self._place
        self._place += 1
        if place >= len(said.questions) or said.questions[place] != question:
            raise _OtherQuestion
        for one, two, event in zip(
            said.exact[place], exact, table_events(cliques, noises, self.neighbours), strict=True
        ):
            self._tape.compare(one, two, event)
        return said.answers[place] + mask


class _OtherQuestion(SfumatoError):  # noqa: N818 -- the name says what happened
    """A study asks something else when one party has a neighbouring table."""


def study_problems(schema: Schema) -> tuple[list[str], int]:
    """What differs in studies of neighbours that must not, and how many pairs were tried."""
    problems, tried = [], 0
    for method, budget in METHODS:
        job = Job(schema, over_parties(recipe_of(method)), budget)
        tape = Tape()
        for pair in pairs(schema, few=True):
            problems += [f"study by {method}, {pair.name}: {one}" for one in _replayed(job, pair, tape)]
            tried += 1
        problems += tape.problems
    return list(dict.fromkeys(problems)), tried


def _replayed(job: Job, pair: Pair, tape: Tape) -> list[str]:
    others = [made_up(job.schema, ROWS, seed, first_person=seed * 10**7) for seed in (2, 3)]
    spoken = [_Spoken() for _ in range(3)]
    try:
        first = _run(job, [pair.first, *others], spoken, None)
    except SfumatoError as refusal:  # its rows are made up, so the reason may be told
        return [f"does not run at all: {refusal}"]
    try:
        second = _run(job, [pair.second, *others], spoken, tape)
    except SfumatoError:
        return ["asks another question when one party has another person"]
    problems = []
    if (first.statement.entries, _paid(first)) != (second.statement.entries, _paid(second)):
        problems.append("pays something else when one party has another person")
    if described(first.model) != described(second.model):
        problems.append("learns something else from the same answers")
    return problems


def _run(job: Job, tables: Sequence[pa.Table], spoken: Sequence[_Spoken], tape: Tape | None) -> Outcome:
    neighbours = Neighbours.of(job.schema)
    engines = [open_engine(table, job.schema, SystemEntropy()) for table in tables]
    return run(job, [_Speaker(one, neighbours, said, tape) for one, said in zip(engines, spoken, strict=True)])


def _paid(outcome: Outcome) -> list[object]:
    return [statement.entries for statement in outcome.parties.values()]
