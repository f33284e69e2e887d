"""How many rows of a person to count: what is cut against what noise it costs, from a public assumption."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Literal

from sfumato.errors import BudgetError
from sfumato.privacy.budget import Budget
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.questions import table_noise
from sfumato.privacy.rows_per_person import PRICE
from sfumato.schema.column_base import MOST_PARTED
from sfumato.schema.schema import Schema

USUAL = (1, 2, 3, 5, 10, 20, 50, 100)
"""Numbers of rows that are compared, beside those of the assumption and of the schema."""

CASES = 1.96
"""Standard deviations that hold 95 of 100 cases."""

ASK = (
    "How many rows of a person to count ('unit.rows') depends on how many persons have. Give a public assumption, such "
    "as --rows-per-person '1:70 2:20 8:10' for 70 of 100 persons with one row, 20 with two and 10 with eight, and the "
    "plan compares choices. It must not be read from the private rows."
)


@dataclass(frozen=True)
class RowsAssumed:
    """A public assumption: the share of persons who have each number of rows."""

    shares: tuple[tuple[int, Fraction], ...]

    @classmethod
    def parse(cls, text: str) -> RowsAssumed:
        """Read "1:70 2:20 8:10": numbers of rows, and how many persons have them, in any unit."""
        found: dict[int, Fraction] = {}
        for one in re.split(r"[\s,;]+", text.strip()):
            match = re.fullmatch(r"([0-9]{1,7}):([0-9]{1,12}(?:\.[0-9]{1,9})?)%?", one)
            if match is None or int(match[1]) < 1 or int(match[1]) in found:
                raise BudgetError(
                    f"rows per person are given as {text[:60]!r}; give each number of rows once, with the share of "
                    "persons who have it, such as '1:70 2:20 8:10'"
                )
            found[int(match[1])] = Fraction(match[2])
        total = sum(found.values())
        if not total:
            raise BudgetError("rows per person are given with no persons at all; give shares above 0")
        return cls(tuple(sorted((rows, share / total) for rows, share in found.items())))

    @property
    def mean(self) -> float:
        """Rows of a person, on average."""
        return float(sum(rows * share for rows, share in self.shares))

    def cut(self, most: int) -> float:
        """The share of all rows that lie beyond the first `most` of their person."""
        return float(sum(max(0, rows - most) * share for rows, share in self.shares)) / self.mean


@dataclass(frozen=True)
class PersonsChoice:
    """One way to count persons with several rows.

    Args:
        count: what a table adds up to.
        rows: how many rows of a person are counted.
        cut: the share of rows that are not counted.
        noise: of one cell of a single column, in 95 of 100 cases, as a share of all that is counted.
        error: how far a share of rows can be off: what is cut, were it all alike, and noise. Where persons are counted,
            noise alone: shares are then those of a typical person.
    """

    count: Literal["rows", "persons"]
    rows: int
    cut: float
    noise: float
    error: float


def persons_choices(
    schema: Schema, budget: Budget, rows: int, columns: int, assumed: RowsAssumed
) -> tuple[PersonsChoice, ...]:
    """The ways to count, for a table of about this many rows whose columns share the budget."""
    if schema.unit.column is None:
        raise BudgetError("rows per person are given, but the schema names no identifier; set 'unit.column'")
    most = max(number for number, _ in assumed.shares)
    numbers = {schema.unit.rows, *(number for number, _ in assumed.shares), *USUAL}
    part = budget.total.part((1 - PRICE) / columns)

    def choices() -> Iterator[PersonsChoice]:
        for count in ("rows", "persons"):
            for number in sorted(one for one in numbers if one <= most or one == schema.unit.rows):
                if count == "persons" and number > MOST_PARTED:
                    continue
                unit = schema.unit.model_copy(update={"rows": number, "count": count})
                neighbours = Neighbours.of(schema.model_copy(update={"unit": unit}))
                deviation = sqrt(table_noise(budget, part, neighbours).variance) / neighbours.parts
                cut = assumed.cut(number)
                counted = rows * (1 - cut) if count == "rows" else rows / assumed.mean
                noise = CASES * deviation / max(counted, 1)
                yield PersonsChoice(count, number, cut, noise, noise + cut if count == "rows" else noise)

    return tuple(choices())


def advice(choices: tuple[PersonsChoice, ...]) -> str:
    """Which number of rows the assumption speaks for."""
    best = min((one for one in choices if one.count == "rows"), key=lambda one: one.error)
    return (
        f"For totals and shares of rows, count at most {best.rows} rows of a person: cutting {best.cut:.1%} of the "
        f"rows and noise of ±{best.noise:.2%} in a cell are least together. For shares of a typical person, count "
        "persons: each of m rows counts 1/m, and noise does not grow with the rows that are counted"
    )
