"""A federation is a holder: it answers questions about the union of all parties' rows, and has none of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import count

import numpy as np
from numpy.typing import NDArray

from sfumato.data.coding import Coding, Step
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.selection import Family
from sfumato.errors import MethodError, ProtocolError
from sfumato.intake.attributes import Attributes
from sfumato.parties.choices import SCORE
from sfumato.parties.curator import Chair, Incoming, Opened, Plan, run_round
from sfumato.parties.letters import CHOICES, CURATOR, LARGE, REASON, ROUNDS
from sfumato.parties.messages import Done, End
from sfumato.parties.questions import Question, coding_text
from sfumato.parties.totals import Totals
from sfumato.parties.turns import Turns
from sfumato.parties.wire import Wire
from sfumato.pipeline import Recipe
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import CHOOSE, DEPENDENCE
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.questions import Dependence, Distances, choice_event, table_events, table_noise, table_noises
from sfumato.privacy.scores import Score
from sfumato.recipes import RECIPES
from sfumato.recipes.auto import over_parties
from sfumato.schema.schema import Schema
from sfumato.text import one_line

OFFERS = frozenset({DEPENDENCE, CHOOSE})
"""The questions besides measuring that a federation answers."""

MOST_CELLS = LARGE // 8
"""Cells that one message can hold."""


class Rounds:
    """The rounds of one study, numbered as they are asked. Those that a store has the result of are not asked again."""

    def __init__(self, chair: Chair, wire: Wire):
        self.members = chair.members
        self._chair = chair
        self._wire = wire
        self.totals = Totals(chair.members.most_rows)
        self.turns = Turns(chair, wire)
        self._numbers: Iterator[int] = count()
        self._last = -1

    def require(self, more: int) -> None:
        """Refuse more rounds than a study may have, before any of them is paid for."""
        if self._last + more >= ROUNDS:
            raise ProtocolError(
                f"the method asks for {more} more rounds of {MOST_CELLS:,} cells at most, and a study has {ROUNDS}; "
                "declare fewer columns or values"
            )

    def play(self, stage: str, codes: str, questions: tuple[Question, ...], cells: int) -> Opened:
        """Play the next round to its end."""
        self._last = number = next(self._numbers)
        play = run_round(self._chair, Plan(number, stage, codes, questions, cells))
        incoming: Incoming = None
        while True:
            try:
                turn = play.send(incoming)
            except StopIteration as stop:
                opened: Opened = stop.value
                break
            self._wire.post(turn.outgoing)
            incoming = self._wire.collect(8 * cells, turn.awaits)
        self._tell(Done, opened.attempt, opened.digest)
        return opened

    def end(self, reason: str = "") -> None:
        """Tell all parties that the study is over, for good: a party that starts again reads this and stops."""
        self._tell(End, 0, one_line(reason, REASON))

    def _tell(self, kind: type[Done] | type[End], attempt: int, content: str) -> None:
        self._wire.post([kind(max(self._last, 0), attempt, CURATOR, name, content) for name in self.members.names])


class Federation:
    """A holder of the union of many parties' tables.

    Each `measure` is one round. Noise comes in shares, of which any h = K - t - q add up to the noise that is charged,
    so tables of n parties have n / h times its variance.
    """

    def __init__(self, coding: Coding, neighbours: Neighbours, ledger: Ledger, rounds: Rounds):
        self._ledger = ledger
        self._rounds = rounds
        self.coding = coding
        self.neighbours = neighbours

    @property
    def domain(self) -> Domain:
        """The attributes that may be asked about; public."""
        return self.coding.domain

    def note(self, question: str, reason: str) -> None:
        """Record a step that needs no answer about the rows and so costs nothing."""
        self._ledger.note(question, reason)

    def through(self, step: Step) -> Federation:
        """The same rows after one more step of coding; asks nothing and costs nothing."""
        return Federation(self.coding.then(step), self.neighbours, self._ledger, self._rounds)

    def variance(self, part: Share) -> float:
        """The variance of the noise in each cell of one table, if all parties answer; asks nothing."""
        members = self._rounds.members
        wider = len(members.names) / members.honest
        return table_noise(self._ledger.budget, part, self.neighbours).variance * wider

    def measure(self, cliques: Sequence[Clique], parts: Sequence[Share]) -> tuple[Measurement, ...]:
        """The table of each clique over the union, every cell with independent noise, for a part of the budget each.

        All tables are asked for in one round, or in as many as messages of allowed length need.
        """
        for clique in cliques:
            self.domain.require_cells(clique, MOST_CELLS)
        batches = list(_batches([self.domain.cells(clique) for clique in cliques]))
        self._rounds.require(len(batches))
        noises = table_noises(self._ledger.budget, parts, self.neighbours)
        numbers = self._ledger.charge(*table_events(cliques, noises, self.neighbours))
        questions = [Question(tuple(clique), noise) for clique, noise in zip(cliques, noises, strict=True)]
        measured: list[Measurement] = []
        for start, end in batches:
            measured += self._round(questions[start:end], numbers[start:end])
        return tuple(measured)

    def _round(self, questions: Sequence[Question], numbers: Sequence[int]) -> Iterator[Measurement]:
        domains = [self.domain.project(question.clique) for question in questions]
        cells = [domain.cells() for domain in domains]
        opened = self._rounds.play(self._ledger.stage, coding_text(self.coding), tuple(questions), sum(cells))
        wider = len(opened.names) / self._rounds.members.honest
        tables = np.split(opened.total, np.cumsum(cells)[:-1])
        self._rounds.totals.check(opened.names, tables, [question.noise.variance * wider for question in questions])
        for domain, table, question, number in zip(domains, tables, questions, numbers, strict=True):
            noisy = Marginal(domain, table.reshape(domain.shape))
            yield Measurement(noisy, question.noise.variance * wider, self.coding, number)

    def dependence(self, pairs: Sequence[Clique], part: Share) -> Dependence:
        """How far each pair of attributes is from independence, in rows, computed from noisy tables of the pairs.

        The score of a union is no sum of scores. So the part is spent on the tables of all pairs, equally.
        """
        tables = self.measure(pairs, [part.part(Fraction(1, len(pairs)))] * len(pairs))
        return Dependence.of_tables(tables)

    def distances(self, cliques: Sequence[Clique], expected: Iterable[NDArray[np.float64]], part: Share) -> Distances:
        """Refuse: the distance of a union is no sum of distances."""
        raise MethodError("distances of exact tables were asked for, which nobody has when rows are with many parties")

    def choose(self, families: Sequence[Family], score: Score, part: Share, handicaps: Sequence[int]) -> int:
        """The place of one family, chosen by one party on its own rows, for all that choices have not cost it yet.

        No party knows the scores of the union. Rows are with one party each, so its choice costs the others nothing
        (see `parties.turns`). Handicaps are for the rows of the union; a party has the K-th part of them on average.
        """
        if score != SCORE:
            raise MethodError(f"a choice by score {score.name} was asked for; parties choose by {SCORE.name}")
        budget, parties = self._ledger.budget, len(self._rounds.members.names)
        event = choice_event(budget, part, self.neighbours, score, len(families))
        (number,) = self._ledger.charge(event)
        self._rounds.turns.allow(event.cost(budget.notion))
        lower = [one // parties for one in handicaps]
        stage, codes = self._ledger.stage, coding_text(self.coding)
        chosen = self._rounds.turns.choose(stage, codes, families, lower, self.neighbours, budget.notion)
        self._ledger.answer(number, [chosen])
        return chosen

    def __repr__(self) -> str:
        return f"Federation({', '.join(self._rounds.members.names)}; {self.domain!r})"


def check_method(recipe: Recipe) -> None:
    """Refuse a method that needs what no federation can answer; called before anybody signs or pays."""
    if not OFFERS.issuperset(recipe.needs):
        able = ", ".join(name for name, one in RECIPES.items() if OFFERS.issuperset(over_parties(one).needs))
        raise MethodError(
            f"method {recipe.name!r} compares a model with exact tables, which nobody has when rows are with many "
            f"parties; use one of {able}"
        )


def check_columns(recipe: Recipe, schema: Schema) -> None:
    """Refuse more columns than parties can choose parents for; called before anybody signs or pays."""
    columns = len(Attributes(schema).domain)
    if CHOOSE in recipe.needs and columns > CHOICES:
        raise MethodError(
            f"method {recipe.name!r} chooses parents for each of {columns:,} columns, and parties make {CHOICES:,} "
            "choices at most; put columns into 'ignore', or use dp-subn"
        )


def check_unit(schema: Schema) -> None:
    """Refuse to count persons, who may have rows with several parties; called before anybody signs or pays."""
    if schema.unit.count == "persons":
        raise MethodError(
            "persons cannot be counted by many parties, since one person may have rows at several; "
            "set 'unit.count' to rows"
        )


def _batches(cells: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Consecutive parts of a list of tables, each as long as one message can hold."""
    start = total = 0
    for place, size in enumerate(cells):
        if total + size > MOST_CELLS and place > start:
            yield start, place
            start, total = place, 0
        total += size
    if cells:
        yield start, len(cells)
