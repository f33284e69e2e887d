"""Rows of a table of PostgreSQL as Arrow batches: its binary COPY, read by ADBC without a Python object for each value.

No value stops the reading. What Arrow has no place for is said in SQL: a number that is none is missing, and a day at
infinity is a day far outside all bounds.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pyarrow as pa

from sfumato.errors import DataError
from sfumato.tables.raw import MIXED

READ_ONLY = "-c default_transaction_read_only=on"
_SOCKETS = ("/var/run/postgresql", "/tmp")  # noqa: S108 -- where servers listen; nothing is written there

_AS_THEY_ARE = {
    "boolean", "smallint", "integer", "bigint", "real", "double precision", "text", "character varying", "character",
    "name", "time without time zone",
}  # fmt: skip
_MOMENT = (
    "CASE WHEN {0} > '20000-01-01' THEN '20000-01-01' WHEN {0} < '4000-01-01 BC' THEN '4000-01-01 BC' ELSE {0} END"
)
_OTHERS = {
    "numeric": "replace(trim_scale(NULLIF({0}, 'NaN'))::text, 'Infinity', 'inf')",  # all digits, as we spell numbers
    "date": _MOMENT,
    "timestamp without time zone": _MOMENT,
    "timestamp with time zone": _MOMENT,
}


def connected(database: str, host: str | None, port: int | None, user: str | None) -> Any:
    """A connection of ADBC that can only read; what is not given here the driver takes from the environment."""
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        dbapi = None
    if dbapi is None:
        raise DataError("reading PostgreSQL needs more packages; install them with pip install 'sfumato[sql]'")
    given = {"host": host or _socket(), "port": port, "user": user, "options": READ_ONLY, "client_encoding": "UTF8"}
    words = urlencode({name: value for name, value in given.items() if value is not None}, quote_via=quote)
    return dbapi.connect(f"postgresql:///{quote(database, safe='')}?{words}")


def batches(connection: Any, table: str) -> Generator[pa.Table, None, None]:
    """The rows of a table, by its quoted name, after a part with none that shows its columns. One query: one state."""
    with connection.cursor() as cursor:
        names = cursor.adbc_execute_schema(f"SELECT * FROM {table}").names  # noqa: S608 -- names are quoted
        kinds = _types(cursor, table, names)
        wanted = ", ".join(
            f"{_expression(kind, _quoted(name))} AS {_quoted(name)}" for name, kind in zip(names, kinds, strict=True)
        )
        cursor.execute(f"SELECT {wanted} FROM {table}")  # noqa: S608
        reader = cursor.fetch_record_batch()
        yield _with_numbers(reader.schema.empty_table(), kinds)
        for batch in reader:
            yield _with_numbers(pa.Table.from_batches([batch]), kinds)


def _types(cursor: Any, table: str, names: list[str]) -> list[str]:
    """The types of columns as the server calls them, of a row of nulls; COALESCE tells what a domain is made of."""
    if not names:
        return []
    asked = ", ".join(f"pg_typeof(coalesce(t.{_quoted(name)}, NULL))::text" for name in names)
    cursor.execute(f"SELECT {asked} FROM (SELECT 1) AS one LEFT JOIN (SELECT * FROM {table} LIMIT 0) AS t ON true")  # noqa: S608
    return list(cursor.fetchone())


def _expression(kind: str, name: str) -> str:
    """A column as Arrow can have it; types that only PostgreSQL has come as it writes them."""
    return name if kind in _AS_THEY_ARE else _OTHERS.get(kind, "{0}::text").format(name)


def _with_numbers(table: pa.Table, kinds: list[str]) -> pa.Table:
    """The same table, in which the texts of numbers are known for numbers."""
    columns = [
        _numbers(column.combine_chunks()) if kind == "numeric" else column
        for column, kind in zip(table.columns, kinds, strict=True)
    ]
    return pa.table(columns, names=table.column_names)


def _numbers(texts: pa.Array) -> pa.Array:
    parts = [texts.cast(one.type) if one.name == "number" else pa.nulls(len(texts), one.type) for one in MIXED]
    return pa.StructArray.from_arrays(parts, fields=list(MIXED))


def _socket() -> str | None:
    """Where a server on this machine listens, if nothing names another; ADBC's own idea of it is not the system's."""
    if {"PGHOST", "PGHOSTADDR", "PGSERVICE"} & os.environ.keys():
        return None
    return ",".join(one for one in _SOCKETS if Path(one).is_dir()) or None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
