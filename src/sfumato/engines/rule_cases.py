"""Rules in SQL: which rows break one, by their codes; these alone are grouped by all that rules speak of.

Rows that obey are counted where they are, as ever. Of rows that break a rule, the database gives counts by the codes of
the columns that rules speak of; what each of them counts as is decided by `intake.obedience`, as in every engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.data.records import Records
from sfumato.errors import MethodError
from sfumato.intake.codec import SchemaCodec
from sfumato.intake.obedience import Obedience
from sfumato.intake.ruled import Ruled
from sfumato.schema.compiled import Cells
from sfumato.schema.derived import derived_codes
from sfumato.schema.schema import Schema

LISTED = 50_000
"""The most cells that a query lists for one rule."""


@dataclass(frozen=True)
class RuleCases:
    """The rules of a schema, for queries over the codes of columns."""

    schema: Schema

    def __post_init__(self) -> None:
        for demand in Ruled(self.schema).demands:
            if not isinstance(demand, Cells) or len(_listed(demand)[1]) > LISTED:
                raise MethodError(
                    f"the rules on {', '.join(demand.names)} are too many for a query: several sums or differences of "
                    f"the same columns, or more than {LISTED:,} cells; give engine 'spool'"
                )

    @cached_property
    def _demands(self) -> tuple[Cells, ...]:
        return tuple(one for one in Ruled(self.schema).demands if isinstance(one, Cells))

    @cached_property
    def spoken(self) -> tuple[str, ...]:
        """The columns that rules speak of; for a derived one, that which it follows."""
        return tuple(dict.fromkeys(self._origin(name) for one in self._demands for name in one.names))

    @cached_property
    def codes(self) -> tuple[tuple[str, NDArray[np.int64] | None], ...]:
        """What `condition` asks for, in this order: columns, and how the codes of derived ones follow from them."""
        return tuple((self._origin(name), self._through(name)) for name in self._asked)

    def condition(self, places: Sequence[str]) -> str:
        """What is true of a row that breaks a rule, where `places` are the names that `codes` have in the query."""
        place = dict(zip(self._asked, places, strict=True))
        found = []
        for demand in self._demands:
            index = "0"
            for name, size in zip(demand.names, demand.allowed.shape, strict=True):
                index = f"({index} * {size} + {place[name]})"
            word, cells = _listed(demand)
            if cells:
                found.append(f"{index} {word} ({', '.join(map(str, cells))})")
            elif word == "NOT IN":  # no cell is allowed
                found.append("1 = 1")
        return " OR ".join(found) or "1 = 0"

    def placed(self, codes: Mapping[str, NDArray[np.int64]]) -> Records:
        """The codes of all columns that rows with these codes count as; a row that is refused is a DataError."""
        domain, rows = SchemaCodec(self.schema).domain, len(next(iter(codes.values())))
        whole = [codes.get(name, np.zeros(rows, dtype=np.int64)) for name in domain]
        return Obedience(self.schema).require(Records(domain, whole))

    @cached_property
    def _asked(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for one in self._demands for name in one.names))

    def _origin(self, name: str) -> str:
        column = self.schema[name]
        return column.derived.of if column.derived else name

    def _through(self, name: str) -> NDArray[np.int64] | None:
        column = self.schema[name]
        return derived_codes(column, self.schema[column.derived.of]) if column.derived else None


def _listed(demand: Cells) -> tuple[str, list[int]]:
    """The forbidden cells by their number, or the allowed ones if they are fewer."""
    allowed = np.flatnonzero(demand.allowed)
    if 2 * len(allowed) < demand.allowed.size:
        return "NOT IN", allowed.tolist()
    return "IN", np.flatnonzero(~demand.allowed.ravel()).tolist()
