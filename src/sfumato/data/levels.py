"""Levels of a column: coarser versions of it, which may stand in for it as a parent where the column is too fine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.errors import SchemaError


@dataclass(frozen=True)
class Level:
    """One coarser version of a column: code c of the column is code `to[c]` of the level."""

    name: str
    column: str
    to: tuple[int, ...]

    def __post_init__(self) -> None:
        if set(self.to) != set(range(max(self.to, default=-1) + 1)) or not self.to:
            raise SchemaError(f"level {self.name!r} must send the codes of {self.column!r} to 0, 1, 2, … without a gap")

    @property
    def size(self) -> int:
        """Number of codes of the level."""
        return max(self.to) + 1

    def to_dict(self) -> dict[str, Any]:
        """This level as JSON."""
        return {"name": self.name, "column": self.column, "to": list(self.to)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Level:
        """Read a level back from JSON."""
        return cls(record["name"], record["column"], tuple(map(int, record["to"])))


@dataclass(frozen=True)
class Leveled:
    """A codec that adds levels to a table as further columns; it changes nothing else and forgets nothing."""

    base: Domain
    levels: tuple[Level, ...]

    def __post_init__(self) -> None:
        for level in self.levels:
            if len(level.to) != self.base[level.column]:
                raise SchemaError(
                    f"level {level.name!r} speaks of {len(level.to)} codes; "
                    f"column {level.column!r} has {self.base[level.column]}"
                )

    @cached_property
    def domain(self) -> Domain:
        """The columns, and after them the levels."""
        return Domain([*self.base.items(), *((level.name, level.size) for level in self.levels)])

    def encode(self, records: Records) -> Records:
        """The rows with a further column for each level."""
        coarse = [np.array(level.to)[records[level.column]] for level in self.levels]
        return Records(self.domain, [*records.columns, *coarse])


def levels_of(maps: Mapping[str, Sequence[Sequence[int]]]) -> tuple[Level, ...]:
    """Levels from code maps: for each column one or more lists that say which coarse code each of its codes has."""
    return tuple(
        Level(f"{column} in {max(to, default=0) + 1}", column, tuple(map(int, to)))
        for column, lists in maps.items()
        for to in lists
    )


def halvings(domain: Domain, ordered: Iterable[str], least: int = 2) -> dict[str, list[list[int]]]:
    """For each ordered column the maps that merge 2, 4, 8, … neighbouring codes, down to `least` codes."""
    found: dict[str, list[list[int]]] = {}
    for column in ordered:
        size, width = domain[column], 2
        maps = []
        while -(-size // width) >= least:
            maps.append([code // width for code in range(size)])
            width *= 2
        if maps:
            found[column] = maps
    return found
