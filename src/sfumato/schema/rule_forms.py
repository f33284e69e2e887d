"""What the forms of a rule share; each is one small frozen class that knows its words, its cells and its relations.

A form says which cells over the codes of its columns may hold rows (`cells`), which relations the values inside bins
obey (`relations`, `increments`), and which rows of values break it (`broken`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_serializer

from sfumato.schema.allowed import Allowed, Mask
from sfumato.schema.columns import Column
from sfumato.schema.fields import Name
from sfumato.schema.relations import Relation

Columns = Mapping[str, Column]
Names = Annotated[tuple[Name, ...], Field(min_length=2)]


@dataclass(frozen=True, eq=False)
class Placed:
    """Where the value of each row lies in the order of its column; the place of a missing one has no meaning."""

    column: Column
    places: NDArray[Any]
    missing: Mask

    def holds(self, condition: Allowed) -> Mask:
        """For each row, whether its value is one of those that are meant."""
        return condition.holds(self.column, self.places, self.missing)


Rows = Mapping[str, Placed]
Cells = tuple[tuple[str, ...], Mask]
"""Columns, and for each cell of their codes whether it may hold rows."""


class Form(BaseModel):
    """What all forms share: nothing is tied, no edge is added, and nothing is wrong, unless a form says so."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, populate_by_name=True)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the rule speaks of."""
        raise NotImplementedError

    @property
    def conditions(self) -> Sequence[tuple[str, Allowed]]:
        """The conditions on single columns, which bins must not cut."""
        return ()

    def problems(self, columns: Columns) -> Iterator[str]:
        """What is wrong with this rule for these columns, which it names."""
        for name, condition in self.conditions:
            yield from condition.problems(columns[name])

    def cells(self, columns: Columns) -> Iterator[Cells]:
        """Which cells may hold rows; relations have cells of their own."""
        yield from ()

    def relations(self, columns: Columns, scale: int) -> Iterator[Relation]:
        """What ties the values of columns, in units of 1 / scale, seconds or ranks."""
        yield from ()

    def increments(self) -> dict[str, tuple[Fraction, Fraction]]:
        """Columns whose values go in steps: the step, and one of the values."""
        return {}

    def broken(self, rows: Rows) -> Mask:
        """Which rows break the rule."""
        raise NotImplementedError

    @model_serializer
    def _write(self) -> dict[str, Any]:
        fields = type(self).model_fields
        return {
            field.alias or name: _plain(getattr(self, name))
            for name, field in fields.items()
            if getattr(self, name) != field.default
        }

    def __hash__(self) -> int:
        return hash(str(self))


def _plain(held: Any) -> Any:
    if isinstance(held, Mapping):
        return {key: _plain(value) for key, value in held.items()}
    if isinstance(held, tuple):
        return [_plain(value) for value in held]
    return held.model_dump(mode="json") if isinstance(held, BaseModel) else held
