"""How many rows persons have: a small noisy table that says what truncation cuts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

PRICE = Fraction(1, 100)
"""The part of the budget that the table costs."""

BEYOND = 2
"""Persons with more than this many times the rows that are counted, and more than 8, lie in one last cell.

Noise in a cell counts as often as its persons have rows that are cut. With cells up to 4 times the rows, the share had
three times the noise.
"""


@dataclass(frozen=True)
class RowsPerPerson:
    """Noisy numbers of persons by their number of rows: 1, 2, …, 7, 8 to 9, 10 to 11, 12 to 14 ….

    Args:
        most: how many rows of a person are counted.
        counts: the noisy table.
        variance: of the noise in each cell.
        event: the number of the event in the ledger that paid for it.
    """

    most: int
    counts: tuple[int, ...]
    variance: float
    event: int

    @staticmethod
    def spans_of(most: int) -> tuple[tuple[int, int | None], ...]:
        """The first and last number of rows of each cell; the last cell has no last number."""
        firsts = [1]
        while firsts[-1] <= max(8, BEYOND * most):
            # A cell is a quarter as wide as where it begins: few cells have less noise together. One begins at the cut.
            following = firsts[-1] + max(1, firsts[-1] // 4)
            firsts.append(min(following, most + 1) if firsts[-1] <= most else following)
        return tuple(zip(firsts, [*(first - 1 for first in firsts[1:]), None], strict=True))

    @classmethod
    def exact(cls, most: int, sizes: NDArray[np.integer]) -> NDArray[np.int64]:
        """How many persons lie in each cell, of the number of rows of each person: private."""
        spans = cls.spans_of(most)
        places = np.searchsorted([first for first, _ in spans], sizes, side="right") - 1
        return np.bincount(places, minlength=len(spans))

    @property
    def share_cut(self) -> float:
        """The share of all rows that are not counted, as far as the noisy table tells, between 0 and 1.

        Every cell counts, also one whose count is no more than noise: to leave these out would understate small shares.
        A person in a wide cell counts with its middle, one in the last cell with its first number of rows: where many
        persons have more, the true share is higher.
        """
        rows, cut = self._sums()
        return min(max(cut / rows, 0.0), 1.0) if rows > 0 else 0.0

    @property
    def share_error(self) -> float:
        """The standard error that noise makes in the share, at most 1."""
        rows, _ = self._sums()
        if rows <= 0:
            return 1.0
        steps = [(cut - self.share_cut * middle) / rows for middle, cut in self._middles()]
        return min(1.0, sqrt(self.variance * sum(step**2 for step in steps)))

    def _middles(self) -> list[tuple[float, float]]:
        """For each cell the rows that a person in it has, and those of them that are cut."""
        middles = [(first + (last or first)) / 2 for first, last in self.spans_of(self.most)]
        return [(middle, max(0.0, middle - self.most)) for middle in middles]

    def _sums(self) -> tuple[float, float]:
        """All rows, and those that are cut."""
        told = list(zip(self._middles(), self.counts, strict=True))
        return sum(middle * count for (middle, _), count in told), sum(cut * count for (_, cut), count in told)

    def sentence(self) -> str:
        """What was cut, in words."""
        return (
            f"about {self.share_cut:.1%} (standard error {self.share_error:.1%}) of the rows were not counted, those "
            f"beyond {self.most} of one person (from a table of persons by their number of rows, noise of "
            f"±{sqrt(self.variance):.3g} persons a cell, {float(PRICE):.0%} of the budget)"
        )

    def to_dict(self) -> dict[str, Any]:
        """This table as JSON."""
        return {
            "most": self.most,
            "counts": list(self.counts),
            "variance": self.variance,
            "event": self.event,
            "share_of_rows_cut": round(self.share_cut, 4),
            "standard_error": round(self.share_error, 4),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> RowsPerPerson:
        """Read a table back from JSON; a KeyError, TypeError or ValueError if it is none."""
        counts = tuple(int(count) for count in record["counts"])
        found = cls(int(record["most"]), counts, float(record["variance"]), int(record["event"]))
        if len(counts) != len(cls.spans_of(found.most)) or not found.variance > 0:
            raise ValueError
        return found
