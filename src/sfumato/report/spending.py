"""The ledger of a release as figures: what it guarantees, and what each question cost, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from sfumato.privacy.accountant import membership_advantage
from sfumato.privacy.events import Choice, Event, Free, Noisy
from sfumato.privacy.ledger import Statement
from sfumato.report import charts
from sfumato.report.svg import percent


@dataclass(frozen=True)
class Question:
    """One event of the ledger.

    Args:
        stage: which stage asked.
        question: what was asked.
        noise: the noise that was added, or why there was none.
        cost: in the unit of the budget.
    """

    stage: str
    question: str
    noise: str
    cost: float


@dataclass(frozen=True)
class Spending:
    """What a release guarantees, and what it spent.

    Args:
        unit: epsilon or rho.
        available: the budget, in this unit.
        spent: how much of it was spent.
        protects: whom the guarantee protects.
        sentence: the guarantee in plain words.
        guarantee: epsilon and delta, or rho, as agreed before the run.
        best_guess: how often, at most, an attacker guesses rightly who is in the table; None where only rho is known.
        questions: all events, in order.
    """

    unit: str
    available: float
    spent: float
    protects: str
    sentence: str
    guarantee: dict[str, float]
    best_guess: float | None
    questions: tuple[Question, ...]


def spending_of(statement: Statement) -> Spending:
    """The figures of a ledger; the totals are recomputed from its events."""
    numbers = statement.guarantee
    best = None
    if "epsilon" in numbers:
        best = (1 + membership_advantage(numbers["epsilon"], numbers["delta"])) / 2
    questions = []
    for stage, event in statement.entries:
        questions.append(Question(stage, event.question, _noise(event), float(event.cost(statement.budget.notion))))
    return Spending(
        statement.budget.total.currency.value,
        float(statement.budget.total.amount),
        float(statement.spent),
        statement.protects,
        statement.sentence(),
        numbers,
        best,
        tuple(questions),
    )


def _noise(event: Event) -> str:
    match event:
        case Free(reason=reason):
            return f"free: {reason}"
        case Choice(mechanism=mechanism):
            return f"random choice, rate {float(mechanism.rate):.4g}"
        case Noisy(noise=noise):
            return f"{noise.kind.capitalize()}, standard deviation {sqrt(noise.variance):.4g}"


def drawn(spending: Spending) -> str:
    """The ledger as a picture: stages that paid, cut into their questions."""
    stages: dict[str, list[tuple[str, float]]] = {}
    for question in spending.questions:
        if question.cost > 0:
            stages.setdefault(question.stage, []).append((question.question, question.cost))
    says = f"{percent(spending.spent / spending.available)} of the budget was spent: " + ", ".join(
        f"{stage} {percent(sum(cost for _, cost in events) / spending.available)}" for stage, events in stages.items()
    )
    return charts.spending(list(stages.items()), spending.available, spending.unit, says)
