"""Rows that may not leave their database: coded and counted there, by grouping sets: the joints of the covering plan.

Only tables of counts come here. All queries run in one transaction that sees one state of the table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.coding import Coding
from sfumato.data.domain import Clique
from sfumato.data.marginal import Marginal
from sfumato.data.records import Records
from sfumato.engines import MOST_CELLS
from sfumato.engines.cases import Case, case_of
from sfumato.engines.counting import closed, require_base
from sfumato.engines.person_cases import PersonCases, key_of
from sfumato.engines.persons import Words
from sfumato.engines.plan import plan
from sfumato.engines.rule_cases import RuleCases
from sfumato.engines.snapshot import Snapshot
from sfumato.engines.written_numbers import with_values
from sfumato.errors import DataError, MethodError
from sfumato.intake.attribute_kinds import Plain
from sfumato.intake.attributes import Attributes
from sfumato.intake.codec import check_names
from sfumato.intake.persons import check_person, nobody
from sfumato.intake.refusals import refusal
from sfumato.schema.column_base import Unit
from sfumato.schema.schema import Schema
from sfumato.tables.quiet import quiet

_POSTGRES_TEXT = (25, 1043)
"""The types text and varchar. Others that look like text, such as char(n), compare in ways of their own."""

MOST_SETS = 64
"""Joints that one query counts; each value is coded once for all of them."""

Ints = NDArray[np.int64]


class Database:
    """An engine over a table of PostgreSQL, DuckDB or SQLite that is counted where it is."""

    def __init__(self, data: Any, schema: Schema, words: Words):
        self.sizes: NDArray[np.integer] | None = None
        self.domain = _plain_attributes(schema).domain
        self._rules = _rule_cases(schema)
        self._snapshot: Snapshot | None = None
        opened = Snapshot(data)
        self._snapshot, self._kind, self._source = opened, opened.kind, str(opened)
        self._dialect, self._table = opened.dialect, opened.table
        try:
            kinds = self._kinds(opened.expression)
            check_names([one for one in kinds if one not in schema.ignore], schema)
            self._cases = {
                column.name: case_of(column, kinds[column.name][0], schema.policy(column)) for column in schema.columns
            }
            if written := {name: one.kind == "written whole" for name, one in self._cases.items() if one.written}:
                self._table = with_values(self._table, self._kind, written, self._dialect)
            self._persons = self._persons_of(schema, kinds, words)
            self._refuse_bad_values(schema, {name: kind for name, (_, kind) in kinds.items()})
            # A row that no rule lets in is refused here, before anything is charged.
            list(self._broken({(): ()}, everyone=True))
            self._count_rows(schema.unit)
        except BaseException:
            self.close()
            raise

    def count(self, coding: Coding, cliques: Sequence[Clique]) -> Iterator[Marginal]:
        """The exact table of each clique, in the codes of `coding`, whose base is the domain of this engine."""
        if self._snapshot is None:
            raise closed()
        require_base(self.domain, coding)
        for clique in cliques:
            coding.domain.require_cells(clique, MOST_CELLS)
        homes = plan(coding.domain, tuple(cliques))
        joints = list(dict.fromkeys(homes))
        tables: dict[Clique, Marginal] = {}
        most = 1 if self._kind == "sqlite" else MOST_SETS  # SQLite has no grouping sets
        for first in range(0, len(joints), most):
            tables |= self._joints(coding, joints[first : first + most])
        return (tables[home].project(clique) for clique, home in zip(cliques, homes, strict=True))

    def _joints(self, coding: Coding, joints: Sequence[Clique]) -> dict[Clique, Marginal]:
        """The tables of some joints."""
        counts = {joint: np.zeros(coding.domain.project(joint).shape, dtype=np.int64) for joint in joints}
        if () in counts:
            counts[()][()] = self._total
        asked = [joint for joint in joints if joint]
        lookups = {name: coding.lookup(name) for joint in asked for name in joint}
        for joint, found in zip(asked, self._grouped(lookups, asked, breaking=False), strict=True):
            counts[joint][tuple(found.T[:-1])] = found[:, -1]
        for joint, placed, numbers in self._broken({joint: [lookups[name][0] for name in joint] for joint in asked}):
            through = [(placed[source], to) for source, to in map(lookups.__getitem__, joint)]
            np.add.at(counts[joint], tuple(codes if to is None else to[codes] for codes, to in through), numbers)
        if any(int(one.sum()) != self._total for one in counts.values()):
            raise DataError(f"{self._source} changed while it was counted; count a copy that nobody writes to")
        return {joint: Marginal(coding.domain.project(joint), one) for joint, one in counts.items()}

    def _grouped(
        self, lookups: Mapping[str, tuple[str, Any]], sets: Sequence[Clique], breaking: bool, everyone: bool = False
    ) -> list[Ints]:
        """For each set of names the codes that rows have there, and in the last column what these rows count.

        Of rows that break a rule, or of the others; also those that are cut, with `everyone`. One query codes each
        value once for all sets.
        """
        if not sets:
            return []
        asked = [] if self._rules is None else self._rules.codes
        wanted = [*lookups.values(), *asked]
        coded, parameters = self._coded([(source, self._cases[source], to) for source, to in wanted], everyone)
        where = ""
        if self._rules is not None:
            condition = self._rules.condition([f"c{place}" for place in range(len(lookups), len(wanted))])
            where = f" WHERE {condition}" if breaking else f" WHERE NOT ({condition})"
        place = {name: place for place, name in enumerate(lookups)}
        by = [", ".join(f"c{place[name]}" for name in one) for one in {frozenset(one): one for one in sets}.values()]
        grouped = by[0] if len(by) == 1 else f"GROUPING SETS ({', '.join(f'({one})' for one in by)})"
        names = ", ".join(f"c{place}" for place in place.values())
        counted = "COUNT(*)" if self._persons is None or everyone else self._persons.counted
        query = f"SELECT {names}, {counted} FROM ({coded}) AS kept{where} GROUP BY {grouped}"  # noqa: S608
        # A code is never null, so a null says that a column is not of this set.
        found: dict[frozenset[str], list[tuple[Any, ...]]] = defaultdict(list)
        for row in self._ask(query, parameters):
            found[frozenset(name for name, code in zip(lookups, row, strict=False) if code is not None)].append(row)
        return [
            np.array(
                [[*(row[place[name]] for name in one), row[-1]] for row in found[frozenset(one)]], dtype=np.int64
            ).reshape(-1, len(one) + 1)
            for one in sets
        ]

    def _broken(
        self, joints: Mapping[Clique, Sequence[str]], everyone: bool = False
    ) -> Iterator[tuple[Clique, Records, Ints]]:
        """What rows that break a rule count as, right in the columns of each joint, and how many there are of each."""
        if self._rules is None or not self._rules.spoken:
            return
        sets = [tuple(dict.fromkeys((*columns, *self._rules.spoken))) for columns in joints.values()]
        lookups = {name: (name, None) for one in sets for name in one}
        grouped = self._grouped(lookups, sets, breaking=True, everyone=everyone)
        for joint, names, found in zip(joints, sets, grouped, strict=True):
            if len(found):
                yield joint, self._rules.placed(dict(zip(names, found.T[:-1], strict=True))), found[:, -1]

    def _refuse_bad_values(self, schema: Schema, types: dict[str, Any]) -> None:
        """Every value is looked at here, before anything is charged."""
        coded, parameters = self._coded([(name, case, None) for name, case in self._cases.items()], everyone=True)
        worst = ", ".join(f"MAX(CASE WHEN c{place} < 0 THEN c{place} END)" for place in range(len(self._cases)))
        (found,) = self._ask(f"SELECT {worst} FROM ({coded}) AS coded", parameters)  # noqa: S608
        for column, mark in zip(schema.columns, found, strict=True):
            if mark is not None:
                raise refusal(column, int(mark), types[column.name])

    def _coded(self, wanted: Sequence[tuple[str, Case, Any]], everyone: bool) -> tuple[str, list[Any]]:
        """A query of the codes of columns as c0, c1, …, and the parameters in it.

        Of the rows that are counted, with what each counts as `weight` if persons are told apart; or of all rows.
        """
        made = [case.sql(name, self._dialect, through) for name, case, through in wanted]
        named = [f"c{place}" for place in range(len(made))]
        if self._persons is None:
            return self._select(made, named), _parameters(made)
        told = self._persons.told()
        if everyone:
            return f"{self._select(made, named)} WHERE {told[0]}", _parameters([*made, told])
        # The whole row decides, whatever is asked for, so each query makes the same choice.
        row = [case.sql(name, self._dialect, None) for name, case in self._cases.items()]
        codes = [f"r{place}" for place in range(len(row))]
        order = self._persons.order(self._cases.get(self._persons.schema.unit.order_by or ""))
        made = [*made, *row, (self._persons.person, []), order]
        coded = f"{self._select(made, [*named, *codes, 'person', 'priority'])} WHERE {told[0]}"
        return self._persons.kept(coded, codes), _parameters([*made, told])

    def _select(self, made: Sequence[tuple[str, list[Any]]], names: Sequence[str]) -> str:
        expressions = ", ".join(f"{one} AS {name}" for (one, _), name in zip(made, names, strict=True))
        return f"SELECT {expressions} FROM {self._table}"  # noqa: S608 -- names are quoted, values are parameters

    def _persons_of(self, schema: Schema, kinds: Mapping[str, tuple[str, Any]], words: Words) -> PersonCases | None:
        """How persons are told apart; rows that do not say whose they are are refused or left out, as everywhere."""
        unit = schema.unit
        if unit.column is None:
            return None
        check_person(list(kinds), unit.column)
        persons = PersonCases(schema, kinds[unit.column][0], self._dialect, key_of(words(2)))
        if schema.default_policy == "refuse":
            told, parameters = persons.told()
            ((strangers,),) = self._ask(f"SELECT COUNT(*) FROM {self._table} WHERE NOT {told}", parameters)  # noqa: S608
            if strangers:
                raise nobody(unit.column)
        return persons

    def _count_rows(self, unit: Unit) -> None:
        """How many rows there are, how many each person has, and what all that are counted add up to."""
        if self._persons is None:
            ((self.rows,),) = self._ask(f"SELECT COUNT(*) FROM {self._table}", [])  # noqa: S608
            self._total = self.rows
            return
        told, parameters = self._persons.told()
        each = f"SELECT {self._persons.person} AS person FROM {self._table} WHERE {told}"  # noqa: S608
        each = f"SELECT COUNT(*) AS many FROM ({each}) AS told GROUP BY person"  # noqa: S608
        found = self._ask(f"SELECT many, COUNT(*) FROM ({each}) AS each_one GROUP BY many", parameters)  # noqa: S608
        many, times = np.array(found, dtype=np.int64).reshape(-1, 2).T
        kept = np.minimum(many, unit.rows)
        self.rows = int(many @ times)
        self._total = int((kept * (unit.parts // kept) if unit.parts > 1 else kept) @ times)
        self.sizes = np.repeat(np.minimum(many, np.iinfo(np.int32).max).astype(np.int32), times)

    def _kinds(self, expression: Any) -> dict[str, tuple[str, Any]]:
        """For each column of the table its kind as `cases` names it, and its Arrow type."""
        words = {"is_string": "text", "is_boolean": "truth", "is_integer": "whole", "is_floating": "real",
                 "is_date": "day"}  # fmt: skip
        found = {}
        for name, dtype in quiet(f"{self._source} has a column of an unknown type", expression.schema).items():
            kind = next((kind for test, kind in words.items() if getattr(dtype, test)()), str(dtype))
            if dtype.is_timestamp() and dtype.scale in (None, 6):  # finer and coarser ones have other ends
                kind = "moment" if dtype.timezone is None else "zoned moment"
            found[name] = (kind, quiet(f"{self._source} has a column of an unknown type", dtype.to_pyarrow))
        if self._kind == "postgresql":
            for one in self._opened.run(f"SELECT * FROM {self._table} LIMIT 0", []).description:  # noqa: S608
                if found[one.name][0] == "text" and one.type_code not in _POSTGRES_TEXT:
                    found[one.name] = ("another type of text", found[one.name][1])
        return found

    @property
    def _opened(self) -> Snapshot:
        if self._snapshot is None:
            raise closed()
        return self._snapshot

    def _ask(self, query: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        return self._opened.ask(query, parameters)

    def close(self) -> None:
        """End the transaction; nothing was written."""
        opened, self._snapshot, self.sizes = self._snapshot, None, None
        if opened is not None:
            opened.close()

    def __repr__(self) -> str:
        return f"Database({self.domain!r})"


def _plain_attributes(schema: Schema) -> Attributes:
    """The attributes, if each is a column by itself."""
    attributes = Attributes(schema)
    if not all(isinstance(one, Plain) for one in attributes.all):
        raise MethodError(
            "inside a database every attribute must be a column by itself: this schema has 'recode', 'together', "
            "'missing_patterns' or 'bitwise'; give engine 'spool'"
        )
    return attributes


def _rule_cases(schema: Schema) -> RuleCases | None:
    """The rules, if they do not change the order of a person's rows."""
    if not schema.rules:
        return None
    rules, order = RuleCases(schema), schema.unit.order_by
    if order is not None and (order in rules.spoken or schema[order].derived):
        raise MethodError(
            f"'unit.order_by' is {order!r}, which rules speak of: inside a database, rows cannot be ordered by what "
            "rules make of them; give engine 'spool'"
        )
    return rules


def _parameters(made: Sequence[tuple[str, list[Any]]]) -> list[Any]:
    return [value for _, some in made for value in some]
