"""The ledger: all privacy events of a run. It charges first, refuses what is too much, and proves the total."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.errors import BudgetError, BudgetExceeded
from sfumato.exact import printed_up
from sfumato.privacy.accountant import membership_advantage
from sfumato.privacy.budget import ZCDP, Budget, PureDP, Share, budget_from_dict
from sfumato.privacy.events import Event, Free, event_from_dict, total_cost
from sfumato.schema.acceptance import observed_words
from sfumato.text import html_line

Entry = tuple[str, Event]
"""An event and the stage that asked for it."""

ROUNDING = Fraction(1, 1 << 20)
"""Widths of noise are rounded up, so a little of every share stays unspent: far less than this part of the budget."""


@dataclass(frozen=True)
class Statement:
    """What a run promised and what it did.

    The guarantee is the budget that was opened, fixed before the first question. What was spent follows from the
    answers, so it is a figure for readers and no guarantee (docs/proofs/accounting.md, section 3).

    Args:
        budget: what the run was allowed to spend.
        protects: whose rows the guarantee is about, and which change of them it hides.
        entries: every event, in order, with the stage that asked for it; the total is recomputed from them.
        observed: what was read from the data, which the guarantee does not cover: columns whose domain was, and keys.
    """

    budget: Budget
    protects: str
    entries: tuple[Entry, ...]
    observed: tuple[str, ...] = ()

    @property
    def spent(self) -> Fraction:
        """Sum of the costs of all events, in the unit of the budget."""
        return total_cost((event for _, event in self.entries), self.budget.notion)

    @property
    def guarantee(self) -> dict[str, float]:
        """Epsilon and delta, or rho, as they were agreed before the run."""
        return self.budget.guarantee

    def sentence(self) -> str:
        """The guarantee in plain words, with its exceptions."""
        protecting = f"protecting {self.protects}"
        if self.observed:
            protecting += f", except that {observed_words(self.observed)} was read from the data"
        if isinstance(self.budget, ZCDP):
            return f"rho = {printed_up(self.budget.rho)} of zero-concentrated DP, {protecting}"
        promise = f"epsilon = {printed_up(self.budget.epsilon)}"
        promise += " (pure)" if isinstance(self.budget, PureDP) else f", delta = {printed_up(self.budget.delta)}"
        numbers = self.guarantee
        advantage = membership_advantage(numbers["epsilon"], numbers["delta"])
        return (
            f"{promise}, {protecting}. {'Apart from that, whoever' if self.observed else 'Whoever'} sees the release "
            "and knows everything else can tell which of the two tables it was made from at most "
            f"{printed_up(Fraction(50 * (1 + advantage)), 4)} % of the time (a coin: 50 %)"
        )

    def verify(self) -> None:
        """Recompute the total from the events; refuse a statement that spends more than its budget."""
        if self.spent > self.budget.total.amount:
            raise BudgetExceeded(
                "the events of this ledger cost more than its budget; the release does not keep its promise"
            )

    def to_dict(self) -> dict[str, Any]:
        """This statement as JSON; totals, guarantee and sentence are for readers and are not read back."""
        entries = [
            {"stage": stage, **event.to_dict(), "cost": float(event.cost(self.budget.notion))}
            for stage, event in self.entries
        ]
        return {
            "budget": self.budget.to_dict(),
            "protects": self.protects,
            "observed": list(self.observed),
            "guarantee": self.guarantee,
            "sentence": self.sentence(),
            "unit": self.budget.currency.value,
            "available": float(self.budget.total.amount),
            "spent": float(self.spent),
            "events": entries,
        }

    def _repr_html_(self) -> str:
        """Every question and its price, for notebooks."""
        whole = float(self.budget.total.amount)
        rows = "".join(
            f"<tr><td>{html_line(stage)}</td><td>{html_line(event.question)}</td>"
            f'<td style="text-align:right">{float(event.cost(self.budget.notion)) / whole:.2%}</td></tr>'
            for stage, event in self.entries
        )
        head = "<tr><th>stage</th><th>question</th><th>of the budget</th></tr>"
        return f"<p>{html_line(self.sentence())}.</p><table>{head}{rows}</table>"

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Statement:
        """Read a statement back from JSON and verify it."""
        try:
            entries = tuple((str(event["stage"]), event_from_dict(event)) for event in record["events"])
            observed = tuple(map(str, record["observed"]))
            statement = cls(budget_from_dict(record["budget"]), str(record["protects"]), entries, observed)
        except (AttributeError, KeyError, TypeError) as problem:
            raise BudgetError(f"a ledger cannot be read ({problem!r}); wanted the keys that Sfumato writes") from None
        statement.verify()
        return statement


class Ledger:
    """The book of one run. Only a holder charges it."""

    def __init__(self, budget: Budget, protects: str, observed: Sequence[str] = ()):
        self.budget = budget
        self.protects = protects
        self.observed = tuple(observed)
        self.stage = "start"
        self._total = budget.total.amount
        self._spent = Fraction(0)
        self._entries: list[Entry] = []
        self._answers: dict[int, tuple[int, ...]] = {}

    @property
    def answers(self) -> dict[int, tuple[int, ...]]:
        """Noisy whole numbers, by the event that paid for them: scores, distances and choices, which are no tables."""
        return dict(self._answers)

    @property
    def spent(self) -> Fraction:
        """Sum of the costs of all events, in the unit of the budget."""
        return self._spent

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return self._total - self._spent

    def charge(self, *events: Event) -> range:
        """Record the events and give their numbers, or refuse all of them and record nothing."""
        cost = total_cost(events, self.budget.notion)
        if cost > self.left:
            raise BudgetExceeded(
                f"{events[0].question} would cost {printed_up(cost, 4)} {self.budget.currency.value}; "
                f"{printed_up(self.left, 4)} is left of {printed_up(self._total, 4)}; nothing was computed"
            )
        self._spent += cost
        self._entries.extend((self.stage, event) for event in events)
        return range(len(self._entries) - len(events), len(self._entries))

    def answer(self, number: int, numbers: Sequence[int]) -> None:
        """Keep what left the holder for an event. It was paid for, noise and all, so it may be published."""
        if number in self._answers or isinstance(self._entries[number][1], Free):
            raise BudgetError(
                f"event {number} has been answered, or is no question; each answer has an event of its own"
            )
        self._answers[number] = tuple(map(int, numbers))

    def note(self, question: str, reason: str) -> None:
        """Record a step that reads no rows."""
        self._entries.append((self.stage, Free(question, reason)))

    def statement(self) -> Statement:
        """The book so far, as a value."""
        return Statement(self.budget, self.protects, tuple(self._entries), self.observed)


class Purse:
    """The budget that a stage may still spend: so much of what a ledger has left, less what was charged since."""

    def __init__(self, ledger: Ledger, fraction: Fraction = Fraction(1)):
        self._ledger = ledger
        self._floor = ledger.left * (1 - fraction)

    @property
    def left(self) -> Share:
        """What may still be spent."""
        return Share(self._ledger.budget.currency, max(Fraction(0), self._ledger.left - self._floor))

    @property
    def is_empty(self) -> bool:
        """Whether only the rounding of noise widths is left, which is far less than this part of the budget."""
        return self.left.amount <= self._ledger.budget.total.amount * ROUNDING
