"""A run repeated from its noisy tables: a holder without rows, which answers with what was published.

If the method asks the same questions for the same parts of the budget, it pays what the ledger says and ends with the
same merged codes and the same selection. Scores and choices are not published, so a method that needs them can be
repeated up to the first of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
from sfumato.privacy.events import Event, Free
from sfumato.privacy.holder import Dependence, Distances, persons_event, table_events, table_noise, table_noises
from sfumato.privacy.ledger import Ledger, Purse
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.rows_per_person import RowsPerPerson
from sfumato.privacy.scores import Score
from sfumato.release import Release
from sfumato.verify.accounts import differences, is_shared
from sfumato.verify.findings import Finding, found, not_checked


class Unpublished(Exception):  # noqa: N818 -- the name says what happened
    """A method asks for an answer that a release does not hold."""


class Departure(Exception):  # noqa: N818 -- the name says what happened
    """A method does something else than its ledger says."""


class PublishedHolder:
    """Answers each question with the table that was released for it, and pays for it from a ledger of its own."""

    def __init__(self, release: Release, ledger: Ledger, coding: Coding):
        self._release = release
        self._ledger = ledger
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
        """The variance of the noise that a part of the budget buys; with shares, it depends on who answered."""
        if is_shared(self._release):
            raise Unpublished
        return table_noise(self._ledger.budget, part, self.neighbours).variance / self.neighbours.parts**2

    def measure(self, cliques: Sequence[Clique], parts: Sequence[Share]) -> tuple[Measurement, ...]:
        """The released tables, if they were paid for with these parts of the budget."""
        noises = table_noises(self._ledger.budget, parts, self.neighbours)
        events = table_events(cliques, noises, self.neighbours)
        first = len(self._ledger.statement().entries)
        self._expect(*events)
        self._ledger.charge(*events)
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
        self._expect(event)
        (number,) = self._ledger.charge(event)
        persons = self._release.persons
        if persons is None or (persons.most, persons.event) != (most, number):
            raise Departure("the table of persons by their number of rows is not the one that was paid for")
        return persons

    def dependence(self, pairs: Sequence[Clique], part: Share) -> Dependence:
        """Refuse: noisy scores are not published."""
        raise Unpublished

    def distances(self, cliques: Sequence[Clique], expected: Iterable[NDArray[np.float64]], part: Share) -> Distances:
        """Refuse: noisy distances are not published."""
        raise Unpublished

    def choose(self, families: Sequence[Family], score: Score, part: Share, handicaps: Sequence[int]) -> int:
        """Refuse: a choice is not published as such."""
        raise Unpublished

    def _expect(self, *events: Event) -> None:
        first = len(self._ledger.statement().entries)
        recorded = self._release.ledger.entries[first : first + len(events)]
        if tuple(events) != tuple(event for _, event in recorded):
            raise Departure(f"at event {first} the ledger says something else than the method does")


def check_run(release: Release) -> Finding:
    """The method, run again on the noisy tables, pays what the ledger says and learns what the model says."""
    recipe, model = release.recipe, release.model
    try:
        ledger, holder = _opened(release)
        encoded = recipe.encode(holder, release.schema, Purse(ledger, recipe.encode_part).left)
        problems = differences(encoded.recoding.to_dict(), model.recoding.to_dict(), "merged codes")
    except Unpublished:
        return not_checked("run", "the method begins with answers that are not published")
    except (Departure, SfumatoError) as problem:
        return found("run", [f"the method cannot be run again: {problem}"], "")
    try:
        ledger, holder = _opened(release)
        again = run(recipe, holder, release.schema, ledger)
    except Unpublished:
        how = "merged codes follow from the noisy tables; the choice of tables rests on scores that are not published"
        return found("run", problems, "") if problems else not_checked("run", how)
    except (Departure, SfumatoError) as problem:
        if release.schema.rules and not problems:
            # The run saw noise in these cells, and a method may choose by it; they are published as 0.
            how = "noise in cells that rules leave empty is not published, and the method may have chosen by it"
            return not_checked("run", f"merged codes follow from the noisy tables; {how}")
        return found("run", [*problems, f"the method cannot be run again: {problem}"], "")
    problems += differences(again.selection.to_dict(), model.selection.to_dict(), "selection")
    if ledger.statement().entries != release.ledger.entries:
        problems.append("the ledger has other events or stages than the method")
    return found("run", problems, "the method, run again on the noisy tables, asks and pays as the ledger says")


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
