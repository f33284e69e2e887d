"""A run repeated from its noisy answers: a holder without rows, which answers with what was published.

If the method asks the same questions for the same parts of the budget, it pays what the ledger says and ends with the
same merged codes and the same selection. Noisy tables, scores and distances are published, and of a choice what was
chosen; so every step between the private rows and the release can be repeated but the noise itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.data.coding import Coding, Step
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Measurement
from sfumato.data.selection import Family
from sfumato.errors import SfumatoError
from sfumato.fitting import count_persons
from sfumato.intake.attributes import Attributes
from sfumato.pipeline import run
from sfumato.privacy.budget import Share
from sfumato.privacy.events import Choice, Event, Free, Noisy
from sfumato.privacy.ledger import Ledger, Purse
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.questions import (
    Dependence,
    Distances,
    choice_event,
    dependence_event,
    distances_event,
    persons_event,
    table_events,
    table_noise,
    table_noises,
)
from sfumato.privacy.rows_per_person import RowsPerPerson
from sfumato.privacy.scores import Score
from sfumato.release import Release
from sfumato.verify.accounts import differences, is_shared, is_table, share_ratio
from sfumato.verify.findings import Finding, found, not_checked


class Unpublished(Exception):  # noqa: N818 -- the name says what happened
    """A method asks for an answer that a release does not hold."""


class Departure(Exception):  # noqa: N818 -- the name says what happened
    """A method does something else than its ledger says."""


class PublishedHolder:
    """Answers each question with what was released for it, and pays for it from a ledger of its own."""

    def __init__(self, release: Release, ledger: Ledger, coding: Coding):
        self._release = release
        self._ledger = ledger
        self._wider = share_ratio(release)
        self.coding = coding
        self.neighbours = Neighbours.of(release.schema)

    @property
    def domain(self) -> Domain:
        """The attributes that may be asked about."""
        return self.coding.domain

    def note(self, question: str, reason: str) -> None:
        """Compare a note with that of the ledger."""
        self._expect(Free(question, reason))
        self._ledger.note(question, reason)

    def through(self, step: Step) -> PublishedHolder:
        """The same tables after one more step of coding."""
        return PublishedHolder(self._release, self._ledger, self.coding.then(step))

    def variance(self, part: Share) -> float:
        """The variance of the noise that a part of the budget buys; shares of all parties add up to more."""
        noise = table_noise(self._ledger.budget, part, self.neighbours)
        return noise.variance * self._wider / self.neighbours.parts**2

    def measure(self, cliques: Sequence[Clique], parts: Sequence[Share]) -> tuple[Measurement, ...]:
        """The released tables, if they were paid for with these parts of the budget."""
        noises = table_noises(self._ledger.budget, parts, self.neighbours)
        events = table_events(cliques, noises, self.neighbours)
        first = self._paid(*events)
        tables = {one.event: one for one in self._release.model.measurements}
        answers = tuple(tables[first + place] for place in range(len(events)) if first + place in tables)
        if len(answers) < len(events) or any(one.coding != self.coding for one in answers):
            raise Departure("a table was asked for in other codes than it was released in")
        return answers

    def rows_per_person(self, most: int, part: Share) -> RowsPerPerson:
        """The released table of persons, if it was paid for with this part of the budget."""
        if is_shared(self._release):  # parties do not count persons
            raise Unpublished
        event = persons_event(self._ledger.budget, part, self.neighbours)
        number = self._paid(event)
        persons = self._release.persons
        if persons is None or (persons.most, persons.event) != (most, number):
            raise Departure("the table of persons by their number of rows is not the one that was paid for")
        return persons

    def dependence(self, pairs: Sequence[Clique], part: Share) -> Dependence:
        """The released scores, or those of the tables that parties answered with."""
        if any(is_table(event) for _, event in self._release.ledger.entries[self._asked : self._asked + 1]):
            return Dependence.of_tables(self.measure(pairs, [part.part(Fraction(1, len(pairs)))] * len(pairs)))
        event = dependence_event(self._ledger.budget, part, self.neighbours, len(pairs))
        return Dependence.of(self._answer(event, len(pairs)), self.neighbours)

    def distances(self, cliques: Sequence[Clique], expected: Iterable[NDArray[np.float64]], part: Share) -> Distances:
        """The released distances; what tables were compared with is worked out, since a method may want it later."""
        event = distances_event(self._ledger.budget, part, self.neighbours, len(cliques))
        found = self._answer(event, len(cliques))
        for _ in expected:
            pass
        return Distances.of(found, event, self.neighbours)

    def choose(self, families: Sequence[Family], score: Score, part: Share, handicaps: Sequence[int]) -> int:
        """The place that was chosen."""
        event = choice_event(self._ledger.budget, part, self.neighbours, score, len(families))
        place = int(self._answer(event, 1)[0])
        if place not in range(len(families)):
            raise Departure("something else was chosen than what there was to choose from")
        return place

    def _answer(self, event: Noisy | Choice, size: int) -> NDArray[np.int64]:
        """The numbers that were released for an event."""
        if self._release.answers is None:
            raise Unpublished
        found = self._release.answers.get(self._paid(event), ())
        if len(found) != size:
            raise Departure(f"{len(found)} numbers were released where {size} were asked for")
        return np.array(found, dtype=np.int64)

    def _paid(self, *events: Event) -> int:
        """Pay for questions if they are those of the ledger; gives the number of the first."""
        first = self._asked
        self._expect(*events)
        self._ledger.charge(*events)
        return first

    @property
    def _asked(self) -> int:
        return len(self._ledger.statement().entries)

    def _expect(self, *events: Event) -> None:
        recorded = self._release.ledger.entries[self._asked : self._asked + len(events)]
        if tuple(events) != tuple(event for _, event in recorded):
            raise Departure(f"at event {self._asked} the ledger says something else than the method does")


def check_run(release: Release, unlike: str) -> Finding:
    """The method, run again on the noisy answers, pays what the ledger says and learns what the model says."""
    try:
        ledger, holder = _opened(release)
        again = run(release.recipe, holder, release.schema, ledger)
        problems = differences(again.recoding.to_dict(), release.model.recoding.to_dict(), "merged codes")
        problems += differences(again.selection.to_dict(), release.model.selection.to_dict(), "selection")
        if ledger.statement().entries != release.ledger.entries:
            problems.append("the ledger has other events or stages than the method")
    except Unpublished:
        return _merged(release)
    except (Departure, SfumatoError) as problem:
        problems = [f"the method cannot be run again: {problem}"]
    if problems and (why := _may_depart(release, unlike)):
        return not_checked("run", f"run again here, the method goes another way, which proves nothing: {why}")
    return found("run", problems, "the method, run again on the noisy answers, asks and pays as the ledger says")


def _may_depart(release: Release, unlike: str) -> str:
    """Why a method may go another way here, though nothing is wrong; empty if nothing excuses it."""
    if unlike:
        return f"made with {unlike}"
    if is_shared(release):
        return "which parties answered is not published, and a lost round is asked again"
    if release.schema.rules and release.answers is None:
        return "a method of this version may have chosen by noise in cells that rules leave empty"
    return ""


def _merged(release: Release) -> Finding:
    """Of a release without its scores, at least the merged codes follow from its tables."""
    recipe = release.recipe
    try:
        ledger, holder = _opened(release)
        encoded = recipe.encode(holder, release.schema, Purse(ledger, recipe.encode_part).left)
        problems = differences(encoded.recoding.to_dict(), release.model.recoding.to_dict(), "merged codes")
    except Unpublished:
        return not_checked("run", "the method begins with answers that are not published")
    except (Departure, SfumatoError) as problem:
        problems = [f"the method cannot be run again: {problem}"]
    how = "merged codes follow from the noisy tables; the choice of tables rests on scores that are not published"
    return found("run", problems, "") if problems else not_checked("run", how)


def _opened(release: Release) -> tuple[Ledger, PublishedHolder]:
    """A new ledger, with the notes that were made before the first question, and a holder of what was published."""
    statement = release.ledger
    ledger = Ledger(statement.budget, statement.protects, statement.observed)
    for stage, event in statement.entries:
        if stage != ledger.stage:
            break
        ledger.charge(event)
    holder = PublishedHolder(release, ledger, Coding(Attributes(release.schema).domain))
    count_persons(holder, release.schema, ledger)
    return ledger, holder
