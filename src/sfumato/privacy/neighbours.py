"""Neighbours: which two tables must look alike, and how far apart they can be in each kind of answer.

Proofs: docs/proofs/sensitivity.md; tests/privacy/test_sensitivity.py brute-forces them.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.privacy.scores import GRID, Score
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.schema.schema import Schema


@dataclass(frozen=True)
class Neighbours:
    """Which two tables must look alike: at most `rows` rows more or less, or exchanged for others.

    `persons` says that an identifier tells which rows are one person's, and that no person has more. Without one, it is
    only an assumption that these rows are all that a person has. Where rows are with many parties, no identifier tells
    who is at several of them; `parties` says at how many a person may be, with this many rows in all.

    Where persons are counted, each has `parts` parts, shared evenly by its rows, and tables count parts: to all
    answers, a person is this many rows. What is published is divided by `parts` again.
    """

    rows: int = 1
    replace: bool = False
    persons: bool = False
    parties: int = 1
    parts: int = 1

    @classmethod
    def of(cls, schema: Schema, parties: int = 1) -> Neighbours:
        """The relation that a schema declares, for persons who may be at this many parties."""
        unit = schema.unit
        replace = schema.neighbours == "replace-one"
        return cls(unit.rows * parties, replace, unit.column is not None, parties, unit.parts)

    @property
    def reach(self) -> int:
        """How much of what is counted one person has at most."""
        return self.parts * self.parties if self.parts > 1 else self.rows

    @property
    def changes(self) -> int:
        """How many rows must be added or removed, one by one, to get from a table to its neighbour."""
        return self.reach * (2 if self.replace else 1)

    @property
    def marginal(self) -> Sensitivity:
        """Of one table of counts. All rows of a person may lie in one cell; an exchanged person moves two cells."""
        cells = Sensitivity.single(self.reach)
        return cells.repeated(2) if self.replace else cells

    @property
    def person(self) -> Sensitivity:
        """Of one table of persons: each lies in one cell, once, whatever rows it has."""
        cell = Sensitivity.single(1)
        return cell.repeated(2) if self.replace else cell

    @property
    def dependence(self) -> Sensitivity:
        """Of one dependence score on the grid: 4 for each row added or removed, and one grid step for rounding down."""
        return Sensitivity.single(4 * self.changes * GRID + 1)

    @property
    def distance(self) -> Sensitivity:
        """Of the L1 distance of one table to a public one, on the grid: 1 for each row added or removed."""
        return Sensitivity.single(self.changes * GRID)

    def score(self, score: Score) -> int:
        """Of one score for a choice, in units of 1/GRID."""
        return score.sensitivity(self.reach, self.replace)

    def score_of_one_party(self, score: Score) -> int:
        """Of one score of the rows of one party, times the number of parties at which a person may be.

        Each of them charges for its own choices in full, so a person who is at several pays no more than one book says.
        """
        return self.parties * score.sensitivity(self.rows // self.parties, self.replace)

    def __str__(self) -> str:
        if self.persons:
            who = "one person's row" if self.rows == 1 else f"all rows of one person (at most {self.rows})"
        else:
            who = "one row" if self.rows == 1 else f"any {self.rows} rows"
        if self.parties > 1:
            each = self.rows // self.parties
            who = f"all rows of one person (at most {each} at each of at most {self.parties} parties)"
        others = "any other" if self.rows == 1 else "any others"
        return f"{who}, {f'replaced by {others}' if self.replace else 'added or removed'}"
