"""Privacy events: what was done to the rows, as data. Noise is drawn and charged from one and the same object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sfumato.errors import BudgetError
from sfumato.exact import exact_number
from sfumato.privacy.mechanisms import NOISES, Noise
from sfumato.privacy.mechanisms.exponential import Exponential
from sfumato.privacy.sensitivity import Notion, Sensitivity, require_positive

PERSONS = "persons by their number of rows"
"""What a ledger calls the table of persons. Tables of columns, whose names are anybody's, begin otherwise."""


def table_question(columns: Sequence[str], parts: int = 1) -> str:
    """What a ledger calls a table; the one over no column is the number of rows. Of persons, it counts parts."""
    unit = f", in persons / {parts}" if parts > 1 else ""
    return f"table {' × '.join(columns)}{unit}" if columns else f"table of no column: the number of rows{unit}"


@dataclass(frozen=True)
class Noisy:
    """An answer of integers about the rows, released with independent noise on each of them."""

    question: str
    noise: Noise
    sensitivity: Sensitivity

    def cost(self, notion: Notion) -> Fraction:
        """What this event costs."""
        return self.noise.cost(self.sensitivity, notion)

    def to_dict(self) -> dict[str, Any]:
        """This event as JSON; every number is an exact fraction in text form."""
        return {
            "event": self.noise.kind,
            "question": self.question,
            self.noise.width_name: str(self.noise.width),
            "sensitivity_l1": str(self.sensitivity.l1),
            "sensitivity_l2_squared": str(self.sensitivity.l2_squared),
        }


@dataclass(frozen=True)
class Choice:
    """One of several candidates, drawn by the exponential mechanism.

    One person moves every score by at most `sensitivity`, in the unit of the scores.
    """

    question: str
    mechanism: Exponential
    sensitivity: int

    def __post_init__(self) -> None:
        require_positive("a choice among scores of sensitivity", self.sensitivity)

    def cost(self, notion: Notion) -> Fraction:
        """What this event costs."""
        return self.mechanism.cost(self.sensitivity, notion)

    def to_dict(self) -> dict[str, Any]:
        """This event as JSON; every number is exact."""
        return {
            "event": "choice",
            "question": self.question,
            "rate": str(self.mechanism.rate),
            "sensitivity": str(self.sensitivity),
        }


@dataclass(frozen=True)
class Free:
    """A step that read no rows, recorded so the ledger is the whole story of a run."""

    question: str
    reason: str

    def cost(self, notion: Notion) -> Fraction:
        """Nothing."""
        return Fraction(0)

    def to_dict(self) -> dict[str, Any]:
        """This event as JSON."""
        return {"event": "free", "question": self.question, "reason": self.reason}


Event = Noisy | Choice | Free


def total_cost(events: Iterable[Event], notion: Notion) -> Fraction:
    """What events cost together, exactly.

    Tables that have the very same noise are priced once: a round of a wide table has tens of thousands of them, and
    fractions are slow, even to compare.
    """
    total = Fraction(0)
    numbers: Counter[tuple[int, int]] = Counter()
    alike: dict[tuple[int, int], Noisy] = {}  # keeps what the numbers are ids of
    for event in events:
        if isinstance(event, Noisy):
            place = id(event.noise), id(event.sensitivity)
            numbers[place] += 1
            alike.setdefault(place, event)
        else:
            total += event.cost(notion)
    return total + sum((number * alike[place].cost(notion) for place, number in numbers.items()), Fraction(0))


def event_from_dict(record: dict[str, Any]) -> Event:
    """Read an event back; a kind that is not known is an error, never free, and so is a number that cannot be true."""
    try:
        kind, question = record["event"], str(record["question"])
        if kind == "free":
            return Free(question, str(record["reason"]))
        if kind == "choice":
            return Choice(question, Exponential(exact_number(record["rate"])), _whole(record["sensitivity"]))
        if kind in NOISES:
            sensitivity = _sensitivity(record["sensitivity_l1"], record["sensitivity_l2_squared"])
            return Noisy(question, _noise(kind, record[NOISES[kind].width_name]), sensitivity)
    except (KeyError, TypeError, ValueError) as problem:
        raise BudgetError(f"a ledger event cannot be read ({problem!r}); wanted the keys that Sfumato writes") from None
    raise BudgetError(f"a ledger has an event of kind {kind!r}; known kinds are {', '.join(NOISES)}, choice and free")


@lru_cache(maxsize=4096, typed=True)
def _noise(kind: str, width: Any) -> Noise:
    return NOISES[kind](exact_number(width))


@lru_cache(maxsize=64, typed=True)
def _sensitivity(*norms: Any) -> Sensitivity:
    sensitivity = Sensitivity(*map(exact_number, norms))
    # One person moves whole numbers by whole numbers, so no coordinate's square is below its size.
    if not sensitivity.l1 <= sensitivity.l2_squared <= sensitivity.l1**2:
        raise ValueError("no whole numbers move by these L1 and L2 norms")
    return sensitivity


def _whole(value: Any) -> int:
    exact = exact_number(value)
    if exact.denominator != 1:
        raise ValueError(f"{exact} is not whole")
    return int(exact)
