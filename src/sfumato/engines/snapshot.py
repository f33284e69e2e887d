"""One state of a table in a database: a transaction in which all queries of an engine run.

The table is named, or an Ibis table of the caller's. The caller's connection is used as it is, for the table may exist
in it alone, and is given back as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sfumato.engines import sql
from sfumato.engines.dialects import DIALECTS
from sfumato.engines.person_cases import hashed, tells
from sfumato.engines.written_numbers import written_number
from sfumato.errors import DataError, MethodError
from sfumato.tables.quiet import quiet

_BEGIN = {"postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "duckdb": "BEGIN", "sqlite": "BEGIN"}
_NAMES = {"postgres": "postgresql", "postgresql": "postgresql", "duckdb": "duckdb", "sqlite": "sqlite"}
_FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    "sfumato_seconds": (2, sql.sqlite_seconds),
    "sfumato_number": (2, written_number),
    "sfumato_tells": (1, tells),
    "sfumato_hashed": (1, hashed),
}
"""What SQLite lacks, with the number of arguments."""


class Snapshot:
    """A transaction over a table of PostgreSQL, DuckDB or SQLite, for reading.

    Attributes:
        kind: of the database.
        dialect: what it says differently.
        expression: the table in Ibis.
        table: how a query names it.
    """

    def __init__(self, data: Any):
        self._name = "the Ibis table"
        self._own = isinstance(data, str)
        self._give_back: Callable[[], None] | None = None
        self.connection: Any
        if self._own:
            source = sql.parse(data)
            self._name = str(source)
            self.kind = _NAMES[source.kind]
            self.connection = sql.connected(source)
        else:
            self.connection = quiet(f"{self._name} belongs to no database, or to several", data.get_backend)
            self.kind = _kind_of(self.connection, data)
        try:
            self.expression = sql.found(self.connection, source) if self._own else data
            self.dialect = DIALECTS[self.kind]
            table = sql.quoted(source.table) if self._own else f"({self._compiled()}) AS given"
            self.table = table.replace("%", "%%" if self.dialect.mark == "%s" else "%")
            if not self._own and quiet(f"{self._name} cannot be read; check your rights", self._is_busy):
                raise DataError(
                    "the connection of the Ibis table is in a transaction; commit it or roll it back first: all counts "
                    "are made in one of our own, which sees one state of the table"
                )
            quiet(f"{self._name} cannot be read; check your rights", self._begin)
        except BaseException:
            self.close()
            raise

    def __str__(self) -> str:
        return self._name

    def run(self, query: str, parameters: list[Any]) -> Any:
        """The cursor of a query."""
        failed = f"{self._name} could not count its rows; check your rights, and that it runs"
        return quiet(failed, lambda: self.connection.con.execute(query, parameters))

    def ask(self, query: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        """All rows of an answer."""
        failed = f"{self._name} could not count its rows; check your rights, and that it runs"
        return quiet(failed, self.run(query, parameters).fetchall)

    def close(self) -> None:
        """End the transaction; close the connection if it is ours. Nothing was written."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            with suppress(Exception):
                self.connection.con.rollback()
            give_back()
        if self._own:
            quiet(f"{self._name} cannot be closed", self.connection.disconnect)

    def _compiled(self) -> str:
        return quiet(
            f"{self._name} cannot be written as a query", lambda: str(self.connection.compile(self.expression))
        )

    def _is_busy(self) -> bool:
        """Whether a transaction of the caller's is under way, which we would end."""
        raw = self.connection.con
        if self.kind == "postgresql":
            return int(raw.info.transaction_status) != 0
        if self.kind == "sqlite":
            return bool(raw.in_transaction)
        # DuckDB does not tell, but each query outside of a transaction has one of its own.
        first, second = (raw.execute("SELECT txid_current()").fetchone() for _ in range(2))
        return bool(first == second)

    def _begin(self) -> None:
        raw = self.connection.con
        before = raw.autocommit if self.kind == "postgresql" else None
        if self._own and self.kind != "duckdb":
            raw.rollback()
        if self.kind == "postgresql":
            raw.autocommit = True  # so our own transaction lasts until we end it
        raw.execute(_BEGIN[self.kind])
        if self.kind == "sqlite":
            for name, (arguments, function) in _FUNCTIONS.items():
                raw.create_function(name, arguments, function, deterministic=True)

        def give_back() -> None:
            if self.kind == "postgresql":
                raw.autocommit = before
            elif self.kind == "sqlite":
                for name, (arguments, _) in _FUNCTIONS.items():
                    raw.create_function(name, arguments, None)

        self._give_back = give_back


def _kind_of(connection: Any, table: Any) -> str:
    """Which database an Ibis table lies in, if its rows can be counted there, and are the same each time."""
    import ibis.expr.operations as operations

    if connection.name not in _NAMES:
        raise MethodError(
            f"the Ibis table lies in {connection.name}; inside a database, rows of PostgreSQL, DuckDB and SQLite are "
            "counted: give engine 'spool'"
        )
    if table.op().find((operations.Impure, operations.Sample, operations.Limit)):
        raise MethodError(
            "the Ibis table may have other rows each time it is asked: it draws at random, takes a sample or some "
            "first rows, asks for the time or calls a function of yours. Save it as a table, or give engine 'spool'"
        )
    if table.op().find(operations.InMemoryTable):
        raise MethodError("the Ibis table holds rows in memory, and lies in no database; give engine 'memory'")
    return _NAMES[connection.name]
