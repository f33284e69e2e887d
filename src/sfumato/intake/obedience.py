"""What becomes of rows that break a rule: they are given a place, by a public function of one row, or refused.

A row breaks a rule here if its codes lie in a cell that no row may hold. `on_bad_value` of the columns that rules speak
of says what may be changed in it: a column that says `refuse` keeps its value, any other is a place for what does not
fit, and one that says nothing counts as its nearest value that is allowed. What is left is refused. So no cell that is
known to be empty loses a row, and where nobody asked for a refusal, a run does not depend on whether rows obey.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.data.records import Records
from sfumato.errors import DataError
from sfumato.intake.attributes import Attributes
from sfumato.intake.ruled import Demand, Ruled, breaks
from sfumato.schema.columns import Categorical, Column, size_of
from sfumato.schema.compiled import Cells
from sfumato.schema.derived import derived_codes
from sfumato.schema.schema import Schema

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Codes = dict[str, Ints]
Replacement = Callable[[Codes], Ints]
"""New codes of a column, of the codes of rows."""

PASSES = 3
"""How often every replacement is tried: one that does not help at first may help after others."""


@dataclass(frozen=True, eq=False)
class Placed:
    """Rows of codes after those that break a rule were given a place, and which of them have none."""

    columns: Records
    broken: Mask


@dataclass(frozen=True)
class Obedience:
    """The rules of a schema, and what it says of rows that break them."""

    schema: Schema

    def require(self, columns: Records) -> Records:
        """Rows in codes of columns that obey; a row that is refused is a DataError that names a rule and no value."""
        placed = self.placed(columns)
        if placed.broken.any():
            left = {name: placed.columns[name][placed.broken] for name in placed.columns.domain}
            number = next(number for number, rule in self.broken_rules(left) if rule.any())
            raise DataError(
                f"rule number {number}, {str(self.schema.rules[number - 1])!r}: a row breaks it. Say what becomes of "
                f"such rows: 'on_bad_value' of a column that the rule speaks of (docs/rules.md), or correct the table"
            )
        return placed.columns

    def placed(self, columns: Records) -> Placed:
        """The same rows, where those that break a rule have other codes in the columns that may change."""
        # All rows are settled, also if none is bad: what becomes of a row must not depend on the others.
        codes = self._settled({name: columns[name].astype(np.int64) for name in columns.domain})
        bad = np.flatnonzero(self._broken(codes))
        if not len(bad):
            return Placed(Records(columns.domain, codes.values()), np.zeros(len(columns), dtype=np.bool_))
        rows = {name: one[bad] for name, one in codes.items()}
        for _ in range(PASSES):
            for name, replacement in self._steps:
                self._try(rows, {name: replacement})
        if self._example is not None:
            self._try(rows, {name: self._example[name] for name in self._free}, whole=True)
        broken = np.zeros(len(columns), dtype=np.bool_)
        if self.schema.rules_may_refuse:
            broken[bad] = self._broken(rows)
        for name, one in codes.items():
            one[bad] = rows[name]
        return Placed(Records(columns.domain, codes.values()), broken)

    def broken_rules(self, codes: Mapping[str, NDArray[np.integer]]) -> Iterator[tuple[int, Mask]]:
        """The number of each rule, and which rows break it in their codes."""
        compiled = self.schema.compiled
        for number, rule in enumerate(self.schema.rules, 1):
            demands: list[Demand] = [one for one in compiled.cells if one.rule is rule]
            demands += [one for one in compiled.wide if one.rule is rule]
            demands += [one for one in compiled.tied if any(held is rule for held in one.rules)]
            found = [breaks(one, codes, self.schema) for one in demands]
            yield number, np.logical_or.reduce(found) if found else np.zeros(len(next(iter(codes.values()))), np.bool_)

    @cached_property
    def _demands(self) -> tuple[Demand, ...]:
        return Ruled(self.schema).demands

    @cached_property
    def _ruled(self) -> tuple[str, ...]:
        """The columns that rules speak of, those that are derived by their origins."""
        return tuple(dict.fromkeys(_origin(self.schema[name]) for rule in self.schema.rules for name in rule.names))

    @cached_property
    def _free(self) -> tuple[str, ...]:
        """The columns that may change, in the order of the schema."""
        return tuple(
            one.name
            for one in self.schema.columns
            if one.name in self._ruled and self.schema.rule_policy(one) != "refuse"
        )

    @cached_property
    def _steps(self) -> tuple[tuple[str, Replacement], ...]:
        """What is tried, in order: for each column what its policy says, then what is left to try."""
        tried = [(rank, name, one) for name in self._free for rank, one in self._replacements(self.schema[name])]
        return tuple((name, one) for _, name, one in sorted(tried, key=lambda step: step[0]))

    def _replacements(self, column: Column) -> Iterator[tuple[int, Replacement]]:
        kinds: dict[str, list[Replacement]] = {"nearest": list(self._nearest(column.name)), "missing": [], "other": []}
        if column.nullable:
            kinds["missing"] = [_constant(column.name, size_of(column))]
        if isinstance(column, Categorical) and column.other is not None:
            kinds["other"] = [_constant(column.name, column.labels.index(column.other))]
        policy = self.schema.rule_policy(column)
        first = "nearest" if policy in (None, "clip") else policy
        for rank, kind in enumerate(dict.fromkeys([first, "missing", "other", "nearest"])):
            yield from ((rank, one) for one in kinds[kind])

    def _nearest(self, name: str) -> Iterator[Replacement]:
        """For each table of cells that has a column: the nearest code that the other columns of the table allow."""
        column = self.schema[name]
        derived = {
            one.name: derived_codes(one, column) for one in self.schema.columns if _origin(one) == name != one.name
        }
        for demand in self._demands:
            if not isinstance(demand, Cells):
                continue
            for axis, said in enumerate(demand.names):
                if said == name or (said in derived and name not in demand.names):
                    allowed = demand.allowed if said == name else demand.allowed.take(derived[said], axis)
                    table = _nearest_allowed(np.moveaxis(allowed, axis, -1), size_of(column))
                    names = [name if place == axis else other for place, other in enumerate(demand.names)]
                    yield _looked_up(np.moveaxis(table, -1, axis), names)

    @cached_property
    def _example(self) -> dict[str, Replacement] | None:
        """One public row that obeys every rule."""
        found = Ruled(self.schema).example()
        if found is None:
            return None
        row = Attributes(self.schema).decode(found)
        return {name: _constant(name, int(row[name][0])) for name in row.domain}

    def _try(self, rows: Codes, replacements: Mapping[str, Replacement], whole: bool = False) -> None:
        """Change columns of broken rows, in place, where fewer demands are then broken; with `whole`, none."""
        around = {one.name for one in self.schema.columns if _origin(one) in replacements}
        touching = self._demands if whole else [one for one in self._demands if around & set(one.names)]
        wrong = np.flatnonzero(self._broken(rows, touching))
        if not len(wrong):
            return
        part = {name: codes[wrong] for name, codes in rows.items()}
        tried = self._settled(part | {name: one(part) for name, one in replacements.items()})
        before, after = (self._count(codes, self._demands) for codes in (part, tried))
        better = after == 0 if whole else after < before
        for name, codes in rows.items():
            codes[wrong[better]] = tried[name][better]

    def _settled(self, codes: Codes) -> Codes:
        """Codes of columns as they follow from attributes: columns that are derived or move with others have no own."""
        schema = self.schema
        if not (schema.recode or schema.together or schema.missing_patterns) and not any(
            one.derived for one in schema.columns
        ):
            return codes
        attributes = Attributes(schema)
        rows = attributes.decode(attributes.encode(Records(attributes.columns, codes.values())))
        return {name: rows[name].astype(np.int64) for name in codes}

    def _count(self, codes: Codes, demands: Sequence[Demand]) -> Ints:
        found = np.zeros(len(next(iter(codes.values()))), dtype=np.int64)
        for one in demands:
            found += breaks(one, codes, self.schema)
        return found

    def _broken(self, codes: Codes, demands: Sequence[Demand] | None = None) -> Mask:
        return self._count(codes, self._demands if demands is None else demands) > 0


def _origin(column: Column) -> str:
    """The column that a derived one follows; any other is its own."""
    return column.derived.of if column.derived else column.name


def _constant(name: str, code: int) -> Replacement:
    return lambda codes: np.full(len(codes[name]), code, dtype=np.int64)


def _looked_up(table: NDArray[np.int32], names: Sequence[str]) -> Replacement:
    return lambda codes: table[tuple(codes[name] for name in names)].astype(np.int64)


def _nearest_allowed(allowed: Mask, size: int) -> NDArray[np.int32]:
    """For each cell the nearest code along the last axis that may hold rows, and the lower of two equally near ones.

    Missing is the last resort, and a line in which nothing is allowed keeps its codes.
    """
    codes = np.arange(allowed.shape[-1], dtype=np.int32)
    present = allowed & (codes < size)
    far = np.int32(4 * len(codes))
    below = np.maximum.accumulate(np.where(present, codes, -far), axis=-1)
    above = np.flip(np.minimum.accumulate(np.flip(np.where(present, codes, far), axis=-1), axis=-1), axis=-1)
    nearest = np.where(codes - below <= above - codes, below, above)
    last = np.where(allowed[..., -1:], codes[-1], codes)
    return np.where(present.any(axis=-1, keepdims=True), nearest, last).astype(np.int32)
