"""Rules compiled: the cells of codes that may hold rows, and the groups of columns whose values are tied.

All of it follows from the public schema. Bins get an edge wherever a rule changes its mind, so no bin is half forbidden
by a condition; where values inside two bins are compared, a cell is allowed if some values in it are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.schema.axes import axis_of, first_values, scale_of
from sfumato.schema.bins import first_tick
from sfumato.schema.columns import Categorical, Column, Date, Datetime, Integer, Number, size_of
from sfumato.schema.features import Together
from sfumato.schema.periods import moment_of, seconds_of
from sfumato.schema.relations import Group, Relation, grouped
from sfumato.schema.rule_forms import Placed
from sfumato.schema.rules import Rule

MOST_CELLS = 1 << 22
"""A rule over more cells of codes has no table of its own; its rows are still looked at one by one."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Which cells over the codes of some columns, with those for missing, may hold rows; and which rule says so."""

    names: tuple[str, ...]
    allowed: NDArray[np.bool_]
    rule: Rule | None = None


@dataclass(frozen=True, eq=False)
class Tied:
    """Columns whose values are tied inside bins.

    `scale` units make 1 for columns of numbers; `rules` are those that tie them.
    """

    group: Group
    scale: int
    rules: tuple[Rule, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.group.axes)


@dataclass(frozen=True, eq=False)
class Wide:
    """A rule over too many cells for a table: it is asked of rows."""

    rule: Rule

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.rule.names

    def broken(self, codes: Mapping[str, NDArray[np.integer]], named: Mapping[str, Column]) -> NDArray[np.bool_]:
        """Which rows of codes break it; a bin stands for its least value, since conditions do not cut bins."""
        rows = {}
        for name in self.names:
            missing = codes[name] == size_of(named[name])
            rows[name] = Placed(named[name], first_values(named[name])[np.where(missing, 0, codes[name])], missing)
        return self.rule.root.broken(rows)


@dataclass(frozen=True, eq=False)
class Compiled:
    """All cells, all tied columns, and all rules without a table of cells."""

    cells: tuple[Cells, ...] = ()
    tied: tuple[Tied, ...] = ()
    wide: tuple[Wide, ...] = ()


def compiled(rules: Sequence[Rule], columns: Sequence[Column]) -> Compiled:
    """The cells and the tied columns of rules; columns must have the edges of `with_cuts`."""
    named = {column.name: column for column in columns}
    wide = [rule for rule in rules if not _ties(rule, named) and _cells(rule.names, named) > MOST_CELLS]
    tabled = [rule for rule in rules if not any(rule is one for one in wide)]
    cells = [Cells(names, np.array(allowed), rule) for rule in tabled for names, allowed in rule.root.cells(named)]
    tied = list(_tied(rules, named))
    for one in tied:
        for rule in one.rules:
            cells += _tied_cells(one, rule, named)
    return Compiled(tuple(cells), tuple(tied), tuple(map(Wide, wide)))


def merged(cells: Sequence[Cells]) -> tuple[Cells, ...]:
    """The same demands with one table for each set of columns."""
    found: dict[frozenset[str], Cells] = {}
    for one in cells:
        known = found.get(frozenset(one.names))
        if known is not None:
            axes = [one.names.index(name) for name in known.names]
            one = Cells(known.names, known.allowed & one.allowed.transpose(axes))
        found[frozenset(one.names)] = one
    return tuple(found.values())


def with_cuts(columns: Sequence[Column], rules: Sequence[Rule], together: Sequence[Together]) -> tuple[Column, ...]:
    """The columns with a bin edge at every place where a condition of a rule begins or ends to hold."""
    named = {column.name: column for column in columns}
    places: dict[str, set[float]] = {}
    for rule in rules:
        for name, condition in rule.root.conditions:
            if isinstance(column := named[name], Integer | Number | Date | Datetime):
                places.setdefault(name, set()).update(condition.cuts(column))
    for group in together:  # columns that move together have the same bins
        shared = set().union(*(places.get(name, set()) for name in group.columns))
        shared |= set().union(*(set(_own_cuts(named[name])) for name in group.columns))
        places |= {name: set(shared) for name in group.columns if shared}
    return tuple(_cut(column, places[column.name]) if column.name in places else column for column in columns)


def _own_cuts(column: Column) -> Iterator[float]:
    if isinstance(column, Date | Datetime):
        yield from (float(axis_of(column, 1).up(np.array([seconds_of(cut)]))[0]) for cut in column.cuts)
    elif isinstance(column, Integer | Number):
        yield from column.cuts


def _cut(column: Column, places: set[float]) -> Column:
    """A column whose bins begin at these places too."""
    if isinstance(column, Categorical) or not places or getattr(column, "values", None) is not None:
        return column
    cuts: set[object] = set(column.cuts)  # type: ignore[union-attr]  # only columns of bins have places
    for place in places:
        match column:
            case Integer():
                cuts.add(int(place))
            case Number():
                scale = 10 ** (column.decimals or 0)
                cuts.add(float(place) if column.decimals is None else first_tick(float(place), scale) / scale)
            case Date() | Datetime():
                moment = moment_of(int(axis_of(column, 1).up(np.array([int(place)]))[0]))
                cuts.add(moment.date() if isinstance(column, Date) else moment)
    inside = sorted(cut for cut in cuts if column.min < cut <= column.max)  # type: ignore[union-attr,operator,type-var]
    return column.model_copy(update={"cuts": tuple(inside)})


def _tied(rules: Sequence[Rule], named: Mapping[str, Column]) -> Iterator[Tied]:
    steps = {name: found for rule in rules for name, found in rule.root.increments().items()}
    sketches = [relation for rule in rules for relation in rule.root.relations(named, 1)]
    for names, _ in grouped(sketches, list(steps)):
        scale = scale_of([named[name] for name in names])
        held = tuple(rule for rule in rules if _ties(rule, named) and set(rule.names) <= set(names))
        axes = {}
        for name in names:
            step, start = steps.get(name, (0, 0))
            axes[name] = axis_of(named[name], scale, int(step * scale), int(start * scale))
        relations = tuple(relation for rule in held for relation in rule.root.relations(named, scale))
        yield Tied(Group(axes, relations), scale, held)


def _cells(names: Sequence[str], named: Mapping[str, Column]) -> int:
    return prod(size_of(named[name]) + named[name].nullable for name in names)


def _ties(rule: Rule, named: Mapping[str, Column]) -> bool:
    return bool(rule.root.increments()) or any(True for _ in rule.root.relations(named, 1))


def _tied_cells(tied: Tied, rule: Rule, named: Mapping[str, Column]) -> Iterator[Cells]:
    """The cells of each relation of a rule, and of increments, where there are not too many."""
    relations: list[tuple[tuple[str, ...], tuple[Relation, ...]]] = [
        (relation.names, (relation,)) for relation in rule.root.relations(named, tied.scale)
    ]
    relations += [((name,), ()) for name in rule.root.increments()]
    for names, held in relations:
        shape = tuple(size_of(named[name]) + named[name].nullable for name in names)
        if _cells(names, named) > MOST_CELLS:
            continue
        codes = dict(zip(names, np.indices(shape).reshape(len(names), -1), strict=True))
        group = Group({name: tied.group.axes[name] for name in names}, held)
        yield Cells(names, possible(group, codes, named).reshape(shape), rule)


def possible(group: Group, codes: Mapping[str, NDArray[np.integer]], named: Mapping[str, Column]) -> NDArray[np.bool_]:
    """In which rows of codes, with those for missing, the bins hold values that a group leaves."""
    missing = {name: codes[name] == size_of(named[name]) for name in group.axes}
    inside = {name: np.where(missing[name], 0, codes[name]).astype(np.int64) for name in group.axes}
    return group.possible(inside, missing)
