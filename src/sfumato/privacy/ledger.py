"""The ledger: all privacy events of a run. It charges first, refuses what is too much, and proves the total."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.errors import BudgetError, BudgetExceeded
from sfumato.privacy.accountant import membership_advantage
from sfumato.privacy.budget import ApproxDP, Budget, PureDP, SkellamDP, budget_from_dict
from sfumato.privacy.events import Event, Free, event_from_dict

Entry = tuple[str, Event]
"""An event and the stage that asked for it."""


@dataclass(frozen=True)
class Statement:
    """What a run spent: its budget, whom it protects, and every event. Totals are recomputed from the events."""

    budget: Budget
    protects: str
    entries: tuple[Entry, ...]

    @property
    def spent(self) -> Fraction:
        """Sum of the costs of all events, in the unit of the budget."""
        return sum((self.budget.cost(event) for _, event in self.entries), Fraction(0))

    @property
    def guarantee(self) -> dict[str, float]:
        """What the events together guarantee: epsilon and delta, or rho."""
        return self.budget.spent(self.spent)

    def sentence(self) -> str:
        """The guarantee in plain words."""
        numbers = self.guarantee
        if not isinstance(self.budget, PureDP | ApproxDP | SkellamDP):
            return f"rho = {numbers['rho']:.6g} of zero-concentrated DP, protecting {self.protects}"
        promise = f"epsilon = {numbers['epsilon']:.6g}"
        promise += f", delta = {numbers['delta']:g}" if numbers["delta"] else " (pure)"
        advantage = membership_advantage(numbers["epsilon"], numbers["delta"])
        return (
            f"{promise}, protecting {self.protects}. Whoever sees the release and knows everything about everybody "
            f"else can tell whether one person is in the table at most {100 * (1 + advantage) / 2:.4g} % of the time "
            "(a coin: 50 %)"
        )

    def verify(self) -> None:
        """Recompute the total from the events; refuse a statement that spends more than its budget."""
        if self.spent > self.budget.total.amount:
            raise BudgetExceeded(
                "the events of this ledger cost more than its budget; the release does not keep its promise"
            )

    def to_dict(self) -> dict[str, Any]:
        """This statement as JSON; the totals in it are for readers and are not read back."""
        entries = [
            {"stage": stage, **event.to_dict(), "cost": float(self.budget.cost(event))} for stage, event in self.entries
        ]
        return {
            "budget": self.budget.to_dict(),
            "protects": self.protects,
            "unit": self.budget.total.unit,
            "available": float(self.budget.total.amount),
            "spent": float(self.spent),
            "guarantee": self.guarantee,
            "sentence": self.sentence(),
            "events": entries,
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Statement:
        """Read a statement back from JSON and verify it."""
        try:
            entries = tuple((str(event["stage"]), event_from_dict(event)) for event in record["events"])
            statement = cls(budget_from_dict(record["budget"]), str(record["protects"]), entries)
        except (KeyError, TypeError) as problem:
            raise BudgetError(f"a ledger cannot be read ({problem!r}); wanted the keys that Sfumato writes") from None
        statement.verify()
        return statement


class Ledger:
    """The book of one run. Only a holder charges it."""

    def __init__(self, budget: Budget, protects: str):
        self.budget = budget
        self.protects = protects
        self.stage = "start"
        self._total = budget.total.amount
        self._spent = Fraction(0)
        self._entries: list[Entry] = []

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return self._total - self._spent

    def charge(self, *events: Event) -> None:
        """Record the events, or refuse all of them and record nothing."""
        cost = sum((self.budget.cost(event) for event in events), Fraction(0))
        if cost > self.left:
            raise BudgetExceeded(
                f"{events[0].question} would cost {float(cost):.4g} {self.budget.total.unit}; "
                f"{float(self.left):.4g} is left of {float(self._total):.4g}; nothing was computed"
            )
        self._spent += cost
        self._entries.extend((self.stage, event) for event in events)

    def note(self, question: str, reason: str) -> None:
        """Record a step that reads no rows."""
        self._entries.append((self.stage, Free(question, reason)))

    def statement(self) -> Statement:
        """The book so far, as a value."""
        return Statement(self.budget, self.protects, tuple(self._entries))
