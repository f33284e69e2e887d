"""Rows that may not leave their database: coded and counted there, by grouping sets: the joints of the covering plan.

Only tables of counts come here. All queries run in one transaction that sees one state of the table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.coding import Coding
from sfumato.data.domain import Clique
from sfumato.data.marginal import Marginal
from sfumato.data.records import Records
from sfumato.engines import MOST_CELLS, sql
from sfumato.engines.cases import DIALECTS, Case, case_of
from sfumato.engines.counting import closed, require_base
from sfumato.engines.plan import plan
from sfumato.engines.rule_cases import RuleCases
from sfumato.errors import DataError, MethodError
from sfumato.intake.attribute_kinds import Plain
from sfumato.intake.attributes import Attributes
from sfumato.intake.codec import check_names
from sfumato.intake.refusals import refusal
from sfumato.schema.schema import Schema
from sfumato.tables.quiet import quiet

_BEGIN = {"postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "duckdb": "BEGIN", "sqlite": "BEGIN"}
_POSTGRES_TEXT = (25, 1043)
"""The types text and varchar. Others that look like text, such as char(n), compare in ways of their own."""

MOST_SETS = 64
"""Joints that one query counts; each value is coded once for all of them."""

Ints = NDArray[np.int64]


class Database:
    """An engine over a table of PostgreSQL, DuckDB or SQLite that is counted where it is."""

    sizes = None

    def __init__(self, name: str, schema: Schema):
        source = sql.parse(name)
        self.domain = _plain_attributes(schema).domain
        self._rules = RuleCases(schema) if schema.rules else None
        self._kind = {"postgres": "postgresql"}.get(source.kind, source.kind)
        self._dialect = DIALECTS[self._kind]
        self._source = str(source)
        self._table = sql.quoted(source.table)
        self._connection: Any = sql.connected(source)
        try:
            expression = sql.found(self._connection, source)
            quiet(f"{source} cannot be read; check your rights", self._begin)
            kinds = self._kinds(expression)
            check_names([one for one in kinds if one not in schema.ignore], schema)
            self._cases = {
                column.name: case_of(column, kinds[column.name][0], schema.policy(column)) for column in schema.columns
            }
            self._refuse_bad_values(schema, {name: kind for name, (_, kind) in kinds.items()})
            list(self._broken({(): ()}))  # a row that no rule lets in is refused here, before anything is charged
            ((self.rows,),) = self._ask(f"SELECT COUNT(*) FROM {self._table}", [])  # noqa: S608
        except BaseException:
            self.close()
            raise

    def count(self, coding: Coding, cliques: Sequence[Clique]) -> Iterator[Marginal]:
        """The exact table of each clique, in the codes of `coding`, whose base is the domain of this engine."""
        if self._connection is None:
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
            counts[()][()] = self.rows
        asked = [joint for joint in joints if joint]
        lookups = {name: coding.lookup(name) for joint in asked for name in joint}
        for joint, found in zip(asked, self._grouped(lookups, asked, breaking=False), strict=True):
            counts[joint][tuple(found.T[:-1])] = found[:, -1]
        for joint, placed, numbers in self._broken({joint: [lookups[name][0] for name in joint] for joint in asked}):
            through = [(placed[source], to) for source, to in map(lookups.__getitem__, joint)]
            np.add.at(counts[joint], tuple(codes if to is None else to[codes] for codes, to in through), numbers)
        if any(int(one.sum()) != self.rows for one in counts.values()):
            raise DataError(f"{self._source} changed while it was counted; count a copy that nobody writes to")
        return {joint: Marginal(coding.domain.project(joint), one) for joint, one in counts.items()}

    def _grouped(self, lookups: Mapping[str, tuple[str, Any]], sets: Sequence[Clique], breaking: bool) -> list[Ints]:
        """For each set of names the codes that rows have there, and in the last column how many rows.

        Of rows that break a rule, or of the others. One query codes each value once for all sets.
        """
        if not sets:
            return []
        asked = [] if self._rules is None else self._rules.codes
        wanted = [*lookups.values(), *asked]
        codes, parameters = self._codes([(source, self._cases[source], to) for source, to in wanted])
        where = ""
        if self._rules is not None:
            condition = self._rules.condition([f"c{place}" for place in range(len(lookups), len(wanted))])
            where = f" WHERE {condition}" if breaking else f" WHERE NOT ({condition})"
        place = {name: place for place, name in enumerate(lookups)}
        by = [", ".join(f"c{place[name]}" for name in one) for one in {frozenset(one): one for one in sets}.values()]
        grouped = by[0] if len(by) == 1 else f"GROUPING SETS ({', '.join(f'({one})' for one in by)})"
        names = ", ".join(f"c{place}" for place in place.values())
        coded = f"SELECT {codes} FROM {self._table}"  # noqa: S608 -- names are quoted, values are parameters
        query = f"SELECT {names}, COUNT(*) FROM ({coded}) AS coded{where} GROUP BY {grouped}"  # noqa: S608
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

    def _broken(self, joints: Mapping[Clique, Sequence[str]]) -> Iterator[tuple[Clique, Records, Ints]]:
        """What rows that break a rule count as, right in the columns of each joint, and how many there are of each."""
        if self._rules is None or not self._rules.spoken:
            return
        sets = [tuple(dict.fromkeys((*columns, *self._rules.spoken))) for columns in joints.values()]
        lookups = {name: (name, None) for one in sets for name in one}
        for joint, names, found in zip(joints, sets, self._grouped(lookups, sets, breaking=True), strict=True):
            if len(found):
                yield joint, self._rules.placed(dict(zip(names, found.T[:-1], strict=True))), found[:, -1]

    def _refuse_bad_values(self, schema: Schema, types: dict[str, Any]) -> None:
        """Every value is looked at here, before anything is charged."""
        codes, parameters = self._codes([(name, case, None) for name, case in self._cases.items()])
        worst = ", ".join(f"MAX(CASE WHEN c{place} < 0 THEN c{place} END)" for place in range(len(self._cases)))
        (found,) = self._ask(f"SELECT {worst} FROM (SELECT {codes} FROM {self._table}) AS coded", parameters)  # noqa: S608
        for column, mark in zip(schema.columns, found, strict=True):
            if mark is not None:
                raise refusal(column, int(mark), types[column.name])

    def _codes(self, wanted: Sequence[tuple[str, Case, Any]]) -> tuple[str, list[Any]]:
        """The codes of columns as c0, c1, …, and the parameters in them."""
        made = [case.sql(name, self._dialect, through) for name, case, through in wanted]
        expressions = ", ".join(f"{one} AS c{place}" for place, (one, _) in enumerate(made))
        return expressions, [value for _, some in made for value in some]

    def _kinds(self, expression: Any) -> dict[str, tuple[str, Any]]:
        """For each column of the table its kind as `cases` names it, and its Arrow type."""
        words = {"is_string": "text", "is_boolean": "truth", "is_integer": "whole", "is_floating": "real",
                 "is_date": "day"}  # fmt: skip
        found = {}
        for name, dtype in quiet(f"{self._source} has a column of an unknown type", expression.schema).items():
            kind = next((kind for test, kind in words.items() if getattr(dtype, test)()), str(dtype))
            found[name] = (kind, quiet(f"{self._source} has a column of an unknown type", dtype.to_pyarrow))
        if self._kind == "postgresql":
            for one in self._run(f"SELECT * FROM {self._table} LIMIT 0", []).description:  # noqa: S608
                if found[one.name][0] == "text" and one.type_code not in _POSTGRES_TEXT:
                    found[one.name] = ("another type of text", found[one.name][1])
        return found

    def _begin(self) -> None:
        raw = self._connection.con
        if self._kind == "postgresql":
            raw.rollback()
            raw.autocommit = True  # so our own transaction lasts until we end it
        elif self._kind == "sqlite":
            raw.rollback()
        raw.execute(_BEGIN[self._kind])

    def _ask(self, query: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        return quiet(self._failed, lambda: self._run(query, parameters).fetchall())

    def _run(self, query: str, parameters: list[Any]) -> Any:
        return quiet(self._failed, lambda: self._connection.con.execute(query, parameters))

    @property
    def _failed(self) -> str:
        return f"{self._source} could not count its rows; check your rights, and that it runs"

    def close(self) -> None:
        """End the transaction and the connection; nothing was written."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            with suppress(Exception):
                connection.con.rollback()
            quiet(f"{self._source} cannot be closed", connection.disconnect)

    def __repr__(self) -> str:
        return f"Database({self.domain!r})"


def _plain_attributes(schema: Schema) -> Attributes:
    """The attributes, if each is a column by itself and no person has to be looked up in other rows."""
    attributes = Attributes(schema)
    plain = all(isinstance(one, Plain) for one in attributes.all)
    if schema.unit.column is not None or not plain:
        raise MethodError(
            "inside a database every attribute must be a column by itself, and every row a unit: this schema has "
            "'unit.column', 'recode', 'together', 'missing_patterns' or 'bitwise'; give engine 'spool'"
        )
    return attributes
