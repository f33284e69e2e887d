"""A federation is a holder: it answers questions about the union of all parties' rows, and has none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import count
from math import pi, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.records import Records
from sfumato.data.selection import Family
from sfumato.errors import BudgetExceeded, DataError, MethodError, ProtocolError
from sfumato.parties import coding
from sfumato.parties.curator import Incoming, Opened, Plan, run_round
from sfumato.parties.messages import CURATOR, LARGE, REASON, ROUNDS, Done, End, Members, Message
from sfumato.parties.questions import Question
from sfumato.parties.store import Store
from sfumato.pipeline import Recipe
from sfumato.privacy.accountant import skellam_for
from sfumato.privacy.budget import Share
from sfumato.privacy.events import Gaussian, Noise, Noisy
from sfumato.privacy.holder import Codec, Neighbours, table_events
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.scores import Score
from sfumato.recipes import RECIPES
from sfumato.text import one_line

OFFERS = frozenset({"measure", "dependence"})
"""The questions that a federation answers."""

MOST_CELLS = LARGE // 8
"""Cells that one message can hold."""


MOST_ROWS = 1 << 36
"""Rows of the union in one cell, at most: more were never counted by anybody, but sent by somebody."""


class Wire(Protocol):
    """The curator's way to reach the parties; the one place where time passes."""

    def post(self, messages: Sequence[Message]) -> None:
        """Send messages."""
        ...

    def collect(self, limit: int, wanted: Callable[[Message], bool]) -> Incoming:
        """What has come since the last call and is wanted; vectors of more than `limit` bytes are refused.

        Waits a while for something. Nothing means that nothing came; None, that nobody shall be waited for any longer.
        What is not wanted is left out and makes no wait longer.
        """
        ...


class Rounds:
    """The rounds of one study, numbered as they are asked. Those that a store has the result of are not asked again."""

    def __init__(self, members: Members, wire: Wire, store: Store):
        self.members = members
        self._wire = wire
        self._store = store
        self._numbers: Iterator[int] = count()
        self._last = 0

    def play(
        self, stage: str, codes: str, questions: tuple[Question, ...], cells: int, pay_again: Callable[[], None]
    ) -> Opened:
        """Play the next round to its end; `pay_again` is called for each attempt that was lost on the way."""
        number = next(self._numbers)
        if number >= ROUNDS:
            raise ProtocolError(f"the method asks for more than {ROUNDS} rounds; declare fewer columns or values")
        self._last = number
        play = run_round(self.members, self._store, Plan(number, stage, codes, questions, cells), pay_again)
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
        self._wire.post([kind(self._last, attempt, CURATOR, name, content) for name in self.members.names])


class Federation:
    """A holder of the union of many parties' tables.

    Each `measure` is one round. Noise comes in shares, of which any h = K - t - q add up to the noise that is charged,
    so that tables of n parties have n / h times its variance. A Gaussian is answered by Skellam noise of the same cost.
    """

    def __init__(
        self, domain: Domain, neighbours: Neighbours, ledger: Ledger, rounds: Rounds, codes: str = coding.PLAIN
    ):
        self._domain = domain
        self._ledger = ledger
        self._rounds = rounds
        self._codes = codes
        self.neighbours = neighbours

    @property
    def domain(self) -> Domain:
        """The public domain of the rows."""
        return self._domain

    @property
    def budget(self) -> Share:
        """What the whole budget is worth: the one with which a single holder's noise would be as wide as ours."""
        total = self._ledger.budget.total
        members = self._rounds.members
        variance = Fraction(members.honest, len(members.names))
        if total.unit == "rho":
            return Share(total.unit, total.amount * variance)
        return Share(total.unit, total.amount * Fraction(sqrt(variance)).limit_denominator(10**6))

    def note(self, question: str, reason: str) -> None:
        """Record a step that needs no answer about the rows and so costs nothing."""
        self._ledger.note(question, reason)

    def through(self, codec: Codec[Records]) -> Federation:
        """The same rows in the codes of `codec`; asks nothing and costs nothing."""
        codes = coding.then(self._codes, codec)
        return Federation(codec.domain, self.neighbours, self._ledger, self._rounds, codes)

    def measure(self, cliques: Sequence[Clique], noises: Sequence[Noise]) -> tuple[Measurement, ...]:
        """The marginal of each clique over the union, every cell with independent noise.

        All tables are asked for in one round, or in as many as messages of allowed length need.
        """
        domains = [self.domain.project(clique) for clique in cliques]
        for clique in cliques:
            self.domain.require_cells(clique, MOST_CELLS)
        added = [self._in_shares(noise) for noise in noises]
        self._ledger.charge(*table_events(cliques, added, self.neighbours))
        questions = [Question(tuple(clique), noise) for clique, noise in zip(cliques, added, strict=True)]
        measured: list[Measurement] = []
        for start, end in _batches([domain.cells() for domain in domains]):
            measured += self._round(domains[start:end], questions[start:end])
        return tuple(measured)

    def _round(self, domains: Sequence[Domain], questions: Sequence[Question]) -> Iterator[Measurement]:
        cells = [domain.cells() for domain in domains]
        cliques, noises = ([getattr(one, field) for one in questions] for field in ("clique", "noise"))
        events = table_events(cliques, noises, self.neighbours)

        def pay_again() -> None:
            try:
                self._ledger.charge(*events)
            except BudgetExceeded as problem:
                raise BudgetExceeded(
                    "an attempt was lost after parties may have answered it, so another costs as much again "
                    f"({problem}); the study ends here, and what was spent is spent: agree on a new one"
                ) from None
            self._ledger.note("ask for these tables again", "the attempt before was lost, and is charged above")

        opened = self._rounds.play(self._ledger.stage, self._codes, tuple(questions), sum(cells), pay_again)
        wider = opened.answered / self._rounds.members.honest
        widest = sqrt(wider * max(question.noise.variance for question in questions))
        if int(opened.total.max()) - MOST_ROWS > 100 * widest or int(opened.total.min()) + MOST_ROWS < -100 * widest:
            raise DataError(
                f"the sum of a round has a count beyond {MOST_ROWS:,}, which no table has: a party has sent wrong "
                "numbers, or runs another version; the study ends here, and what was spent is spent"
            )
        tables = np.split(opened.total, np.cumsum(cells)[:-1])
        for domain, table, question in zip(domains, tables, questions, strict=True):
            yield Measurement(Marginal(domain, table.reshape(domain.shape)), question.noise.variance * wider)

    def dependence(self, pairs: Sequence[Clique], noise: Noise) -> NDArray[np.float64]:
        """How far each pair of columns is from independence, in rows, computed from noisy tables of the pairs.

        The score of a union is no sum of scores. So what it would cost is spent on the tables of all pairs, in equal
        parts. Noise alone makes a table look dependent; what it adds on average is taken off.
        """
        sensitivity = self.neighbours.dependence.repeated(len(pairs))
        total = self._ledger.budget.total
        cost = self._ledger.budget.cost(Noisy("dependence", noise, sensitivity))
        each = Share(total.unit, cost / len(pairs)).noise(self.neighbours.marginal)
        return np.array([noisy_dependence(one) for one in self.measure(pairs, [each] * len(pairs))])

    def choose(self, families: Sequence[Family], score: Score, epsilon: Fraction, handicaps: Sequence[int]) -> int:
        """Refuse: no party knows the scores of the union, and noise shares do not make an exponential mechanism."""
        raise MethodError("a choice by exact scores was asked for, which nobody has when rows are with many parties")

    def _in_shares(self, noise: Noise) -> Noise:
        if not isinstance(noise, Gaussian):
            return noise
        cost = self._ledger.budget.cost(Noisy("table", noise, self.neighbours.marginal))
        return skellam_for(cost, self.neighbours.marginal)

    def __repr__(self) -> str:
        return f"Federation({', '.join(self._rounds.members.names)}; {self.domain!r})"


def check_method(recipe: Recipe) -> None:
    """Refuse a method that needs what no federation can answer; called before anybody signs or pays."""
    if not recipe.needs <= OFFERS:
        able = ", ".join(name for name, one in RECIPES.items() if one.needs <= OFFERS)
        raise MethodError(
            f"method {recipe.name!r} draws a structure by the exponential mechanism on exact scores, which nobody has "
            f"when rows are with many parties; use one of {able}"
        )


def noisy_dependence(measurement: Measurement) -> float:
    """InDif of a noisy pair table, less what its noise adds to that of independent columns; not below 0, in rows."""
    counts = np.asarray(measurement.marginal.counts, dtype=np.float64)
    rows = counts.sum()
    if rows <= 0:
        return 0.0
    product = np.multiply.outer(counts.sum(axis=1), counts.sum(axis=0)) / rows
    free = (counts.shape[0] - 1) * (counts.shape[1] - 1) / counts.size  # of the noise, margins explain the rest
    noise = counts.size * sqrt(2 / pi * measurement.variance * free)
    return max(0.0, float(np.abs(counts - product).sum()) - noise)


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
