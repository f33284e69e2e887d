"""Holders: the only objects that reach private rows. A holder calibrates, charges the ledger, and then answers.

A stage asks for a part of the budget, never for a noise: sensitivity, mechanism and charge meet in this one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.data.coding import Coding, Step
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.selection import Family
from sfumato.engines import MOST_CELLS, Engine
from sfumato.errors import MethodError
from sfumato.privacy.budget import Share
from sfumato.privacy.entropy import Entropy, SystemEntropy
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.mechanisms.exponential import Race
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
from sfumato.privacy.scores import Score, distance_to, independence_difference

DEPENDENCE, CHOOSE, DISTANCES = "dependence", "choose", "distances"
"""Questions that not every holder can answer; all can measure tables. A recipe says which of them it needs."""


class Holder(Protocol):
    """Answers questions about private rows with noise, and charges for each answer before it looks."""

    @property
    def coding(self) -> Coding:
        """How the codes that are asked about follow from the attributes of the schema; public."""
        ...

    @property
    def domain(self) -> Domain:
        """The attributes that may be asked about; public."""
        ...

    @property
    def neighbours(self) -> Neighbours:
        """Which tables must look alike."""
        ...

    def variance(self, part: Share) -> float:
        """The variance of the noise that a part of the budget buys for each cell of one table; asks nothing."""
        ...

    def measure(self, cliques: Sequence[Clique], parts: Sequence[Share]) -> tuple[Measurement, ...]:
        """The table of each clique, every cell with independent noise, for a part of the budget each."""
        ...

    def dependence(self, pairs: Sequence[Clique], part: Share) -> Dependence:
        """How far each pair of attributes is from independence, in rows, plus noise; all of them for one part."""
        ...

    def distances(self, cliques: Sequence[Clique], expected: Iterable[NDArray[np.float64]], part: Share) -> Distances:
        """How far each table is from a public one, in rows (L1), plus noise; all of them for one part."""
        ...

    def choose(self, families: Sequence[Family], score: Score, part: Share, handicaps: Sequence[int]) -> int:
        """The place of one family, those of high score more likely, by the exponential mechanism."""
        ...

    def note(self, question: str, reason: str) -> None:
        """Record a step that needs no answer about the rows and so costs nothing."""
        ...

    def through(self, step: Step) -> Holder:
        """The same rows after one more step of coding; asks nothing and costs nothing."""
        ...


class LocalHolder:
    """A holder of rows that one engine can count."""

    def __init__(
        self,
        engine: Engine,
        neighbours: Neighbours,
        ledger: Ledger,
        entropy: Entropy | None = None,
        coding: Coding | None = None,
        persons: NDArray[np.integer] | None = None,
    ):
        self._engine = engine
        self._ledger = ledger
        self._entropy = entropy or SystemEntropy()
        self._persons = persons
        self._scores: dict[str, dict[Family, int]] = {}
        self.neighbours = neighbours
        self.coding = Coding(engine.domain) if coding is None else coding

    @property
    def domain(self) -> Domain:
        """The attributes that may be asked about; public."""
        return self.coding.domain

    def note(self, question: str, reason: str) -> None:
        """Record a step that needs no answer about the rows and so costs nothing."""
        self._ledger.note(question, reason)

    def through(self, step: Step) -> LocalHolder:
        """The same rows after one more step of coding; asks nothing and costs nothing."""
        return LocalHolder(self._engine, self.neighbours, self._ledger, self._entropy, self.coding.then(step))

    def variance(self, part: Share) -> float:
        """The variance of the noise that a part of the budget buys for each cell of one table; asks nothing."""
        return table_noise(self._ledger.budget, part, self.neighbours).variance / self.neighbours.parts**2

    def measure(self, cliques: Sequence[Clique], parts: Sequence[Share]) -> tuple[Measurement, ...]:
        """The table of each clique, every cell with independent noise, for a part of the budget each."""
        domains = self._require_tables(cliques)
        events = table_events(cliques, table_noises(self._ledger.budget, parts, self.neighbours), self.neighbours)
        numbers = self._ledger.charge(*events)
        # Noise is drawn before the rows are counted: its running time cannot depend on them.
        drawn = [event.noise.draw(domain.cells(), self._entropy) for event, domain in zip(events, domains, strict=True)]
        exact = self._engine.count(self.coding, cliques)
        per_person = self.neighbours.parts
        return tuple(
            Measurement(
                Marginal(domain, whole(_integers(table) + extra.reshape(domain.shape), per_person)),
                event.noise.variance / per_person**2,
                self.coding,
                number,
            )
            for domain, table, extra, event, number in zip(domains, exact, drawn, events, numbers, strict=True)
        )

    def rows_per_person(self, most: int, part: Share) -> RowsPerPerson:
        """How many persons have this many rows, before any are cut: each person lies in one cell of one table."""
        if self._persons is None:
            raise MethodError("this holder does not know persons; name their identifier in 'unit.column'")
        event = persons_event(self._ledger.budget, part, self.neighbours)
        (number,) = self._ledger.charge(event)
        drawn = event.noise.draw(len(RowsPerPerson.spans_of(most)), self._entropy)
        counts = RowsPerPerson.exact(most, self._persons) + drawn
        return RowsPerPerson(most, tuple(counts.tolist()), event.noise.variance, number)

    def dependence(self, pairs: Sequence[Clique], part: Share) -> Dependence:
        """How far each pair of attributes is from independence, in rows, plus noise.

        The score of attributes a and b is InDif = sum over cells |M_ab - M_a M_b / n|, in units of 1/GRID rows.
        """
        self._require_tables(pairs)
        event = dependence_event(self._ledger.budget, part, self.neighbours, len(pairs))
        (number,) = self._ledger.charge(event)
        drawn = event.noise.draw(len(pairs), self._entropy)
        scores = (independence_difference(_integers(table)) for table in self._tables(pairs))
        noisy = np.fromiter(scores, dtype=np.int64, count=len(pairs)) + drawn
        self._ledger.answer(number, noisy.tolist())
        return Dependence.of(noisy, self.neighbours)

    def distances(self, cliques: Sequence[Clique], expected: Iterable[NDArray[np.float64]], part: Share) -> Distances:
        """How far each table is from a public one, in rows (L1), plus noise.

        Args:
            cliques: the tables.
            expected: what each is compared with, one after the other, so they need not be in memory together. It must
                follow from public facts and earlier answers.
            part: what all distances together cost.
        """
        self._require_tables(cliques)
        event = distances_event(self._ledger.budget, part, self.neighbours, len(cliques))
        (number,) = self._ledger.charge(event)
        drawn = event.noise.draw(len(cliques), self._entropy)
        pairs, parts = zip(self._tables(cliques), expected, strict=True), self.neighbours.parts
        found = (distance_to(_integers(table), public * parts) for table, public in pairs)
        noisy = np.fromiter(found, np.int64, len(cliques)) + drawn
        self._ledger.answer(number, noisy.tolist())
        return Distances.of(noisy, event, self.neighbours)

    def choose(self, families: Sequence[Family], score: Score, part: Share, handicaps: Sequence[int]) -> int:
        """The place of one family, drawn with probability proportional to exp(rate * (score - handicap)).

        Args:
            families: an attribute and its parents, each.
            score: what the choice prefers.
            part: what the choice costs.
            handicaps: public numbers, one for each family, in the unit of the score.
        """
        if self.neighbours.parts > 1 and score.name != "R":
            # The others are not in proportion to rows, and limit how many there are: a limit that parts would reach.
            raise MethodError(f"score {score.name} cannot be asked of persons in parts; use score R, or count rows")
        # A family is a candidate in many choices, and its exact score does not change between them.
        scored = self._scores.setdefault(score.name, {})
        new = [family for family in families if family not in scored]
        cliques = [(one.column, *one.parents) for one in new]
        self._require_tables(cliques)
        event = choice_event(self._ledger.budget, part, self.neighbours, score, len(families))
        (number,) = self._ledger.charge(event)
        # What decides is drawn before the rows are counted, for all candidates: that takes as long on every table.
        race = Race.draw(len(families), self._entropy)
        scored.update(scores_of(self._engine, self.coding, new, score))
        parts = self.neighbours.parts
        exact = [scored[family] - less * parts for family, less in zip(families, handicaps, strict=True)]
        chosen = race.winner(exact, event.mechanism.rate)
        self._ledger.answer(number, [chosen])
        return chosen

    def close(self) -> None:
        """Forget the rows; nothing can be asked any more."""
        self._engine.close()

    def _require_tables(self, cliques: Sequence[Clique]) -> list[Domain]:
        """The domains of tables. Those that cannot be counted are refused, before anything is charged for them."""
        for clique in cliques:
            self.domain.require_cells(clique, MOST_CELLS)
        return [self.domain.project(clique) for clique in cliques]

    def _tables(self, cliques: Sequence[Clique]) -> Iterator[Marginal]:
        return _exact_tables(self._engine, self.coding, cliques)

    def __repr__(self) -> str:
        return f"LocalHolder({self.domain!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a holder has private rows and cannot be pickled or copied")


def scores_of(engine: Engine, coding: Coding, families: Sequence[Family], score: Score) -> dict[Family, int]:
    """The exact score of each family on the rows of an engine; as private as they are."""
    exact = {}
    for family, table in zip(
        families, _exact_tables(engine, coding, [(one.column, *one.parents) for one in families]), strict=True
    ):
        counts = _integers(table)
        exact[family] = score.of(counts.reshape(counts.shape[0], -1))
    return exact


def _exact_tables(engine: Engine, coding: Coding, cliques: Sequence[Clique]) -> Iterator[Marginal]:
    """Exact tables, one after the other, no more of them in memory than fit."""
    for batch in _batches(coding.domain, cliques):
        yield from engine.count(coding, batch)


def whole(counts: NDArray[np.int64], parts: int) -> NDArray[np.int64] | NDArray[np.float64]:
    """Counts of persons of counts of their parts."""
    return counts if parts == 1 else counts / parts


def _batches(domain: Domain, cliques: Sequence[Clique], most_cells: int = 1 << 23) -> Iterator[list[Clique]]:
    """Consecutive parts of a list of cliques whose tables fit in memory together."""
    batch: list[Clique] = []
    cells = 0
    for clique in cliques:
        cells += domain.cells(clique)
        if batch and cells > most_cells:
            yield batch
            batch, cells = [], domain.cells(clique)
        batch.append(clique)
    if batch:
        yield batch


def _integers(table: Marginal) -> NDArray[np.int64]:
    """The counts of an exact table."""
    return table.counts.astype(np.int64, copy=False)
