"""Choices that one party makes on its own rows: which set of parents a column is to have. Data, never code.

No party knows the scores of the union, and noise shares make no exponential mechanism. But rows are with one party
each: a choice by one of them costs the persons of that party alone. So parties choose in turn (`parties.turns`), each
with all that the others' choices have not cost it. The argument: docs/proofs/parties.md, section 6.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.data.domain import Domain
from sfumato.data.selection import Family
from sfumato.errors import ProtocolError
from sfumato.exact import exact_number
from sfumato.privacy.events import Choice
from sfumato.privacy.mechanisms.exponential import Exponential
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.scores import SCORES, Score

MOST_FAMILIES = 1 << 16
MOST_CELLS = 1 << 27
"""Of all tables of one choice together: they are counted, and not sent."""

_LARGEST_TABLE = 1 << 20
_HANDICAPS = 1 << 60
_RATE = re.compile(r"[0-9]{1,40}(/[0-9]{1,40})?")
_STEPS = 1 << 100  # rates are rounded down to multiples of one part of this


@dataclass(frozen=True)
class ChoiceQuestion:
    """Families, of which one is to be chosen, by score R, at a rate, with a public handicap for each."""

    families: tuple[Family, ...]
    rate: Fraction
    handicaps: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 2 <= len(self.families) <= MOST_FAMILIES or len(self.handicaps) != len(self.families):
            raise ProtocolError(f"{len(self.families)} candidates were given; a choice is among 2 to {MOST_FAMILIES:,}")
        if not all(0 <= one <= _HANDICAPS for one in self.handicaps):
            raise ProtocolError("a candidate of a choice has a handicap that is none")

    def require(self, domain: Domain) -> None:
        """Refuse candidates whose tables are none of a domain, or are too much to count."""
        cells = 0
        for family in self.families:
            table = domain.project((family.column, *family.parents)).cells()
            if table > _LARGEST_TABLE:
                raise ProtocolError(
                    f"a choice wants a table of {table:,} cells; at most {_LARGEST_TABLE:,} are counted"
                )
            cells += table
        if cells > MOST_CELLS:
            raise ProtocolError(f"a choice wants tables of {cells:,} cells; at most {MOST_CELLS:,} are counted")

    def pack(self) -> dict[str, Any]:
        """As JSON: names once each, and for each family its numbers."""
        used = sorted({name for one in self.families for name in (one.column, *one.parents)})
        places = {name: place for place, name in enumerate(used)}
        families = [[places[name] for name in (one.column, *one.parents)] for one in self.families]
        return {"columns": used, "families": families, "rate": str(self.rate), "handicaps": list(self.handicaps)}

    @classmethod
    def unpack(cls, record: Mapping[str, Any]) -> ChoiceQuestion:
        """Read a question back; anything that `pack` would not write is an error."""
        if len(record["families"]) > MOST_FAMILIES or not _RATE.fullmatch(record["rate"]):
            raise ValueError
        columns = [_plain(name, str) for name in record["columns"]]
        families = tuple(
            Family(columns[_plain(column, int)], tuple(columns[_plain(one, int)] for one in parents))
            for column, *parents in record["families"]
        )
        rate = exact_number(record["rate"])
        if not rate > 0:
            raise ValueError
        return cls(families, rate, tuple(_plain(one, int) for one in record["handicaps"]))


SCORE: Score = SCORES["R"]
"""The score of such choices: the others limit how many rows there may be, and a refusal would tell."""


def event_of(question: ChoiceQuestion, neighbours: Neighbours) -> Choice:
    """What a choice costs whoever makes it."""
    words = f"one of {len(question.families)} sets of parents, by score {SCORE.name}, on the rows of one party"
    return Choice(words, Exponential(question.rate), neighbours.score_of_one_party(SCORE))


def rounded(mechanism: Exponential) -> Fraction:
    """The rate of a choice, a little less, so its text is short."""
    return max(Fraction(int(mechanism.rate * _STEPS), _STEPS), Fraction(1, _STEPS))


def _plain(value: Any, wanted: type) -> Any:
    if type(value) is not wanted:
        raise ValueError
    return value
