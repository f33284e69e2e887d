"""Tables in databases, by name or as an Ibis expression: their rows come as Arrow batches, from one query each.

One query sees one state of the table, so all counts are of that state. Values are turned into codes here, by the same
codec as those of files: a database has no say in bins, in which texts are equal, or in what is missing. What a driver
says when it fails may quote values or a password, so none of its words are passed on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

import pyarrow as pa

from sfumato.engines import postgres
from sfumato.errors import DataError
from sfumato.tables.objects import cell, mixed
from sfumato.tables.quiet import quiet

ROWS_AT_ONCE = 1 << 16

KINDS = {"postgresql": "PostgreSQL", "postgres": "PostgreSQL", "duckdb": "DuckDB", "sqlite": "SQLite"}
_UNREACHED = "{} cannot be reached; check its name, your rights and, for a server, that it runs"
FORMS = "postgresql://host/database/table, duckdb:///file?table=name or sqlite:///file?table=name"


@dataclass(frozen=True)
class Source:
    """A table in a database, without anything secret.

    Args:
        kind: the scheme of its name.
        place: the file, or the name of the database.
        table: the name of the table, and before it that of its schema if one was given.
        host: of a server; None for the one that the environment names.
        port: of a server.
        user: of a server; None for the one that the environment names.
    """

    kind: str
    place: str
    table: tuple[str, ...]
    host: str | None = None
    port: int | None = None
    user: str | None = None

    def __str__(self) -> str:
        return f"table {'.'.join(self.table)!r} of {KINDS[self.kind]} database {self.place!r}"


def is_source(data: Any) -> bool:
    """Whether this names a table in a database, or is an Ibis expression."""
    if isinstance(data, str):
        return data.partition("://")[0] in KINDS and "://" in data
    return type(data).__module__.partition(".")[0] == "ibis" and hasattr(data, "to_pyarrow_batches")


def batches(data: Any) -> Iterator[pa.Table]:
    """The rows of a table, part by part, after a part with none that shows its columns."""
    if not isinstance(data, str):
        yield from _read(data, "the Ibis table")
        return
    source = parse(data)
    if KINDS[source.kind] == "PostgreSQL":
        yield from _read_postgres(source)
        return
    connection = connected(source)
    try:
        expression = found(connection, source)
        yield from (
            _read_sqlite(connection, expression, source) if source.kind == "sqlite" else _read(expression, str(source))
        )
    finally:
        quiet(f"{source} cannot be closed", connection.disconnect)


def connected(source: Source) -> Any:
    """A connection of Ibis to the database of a source."""
    return quiet(_UNREACHED.format(source), lambda: _connect(source))


def found(connection: Any, source: Source) -> Any:
    """The table of a source as an Ibis expression."""
    *schema, name = source.table
    return quiet(
        f"{source} cannot be found; check its name, with its schema if it has one, and your rights",
        lambda: connection.table(name, database=schema[0] if schema else None),
    )


def quoted(table: Sequence[str]) -> str:
    """The name of a table for a query."""
    return ".".join('"' + one.replace('"', '""') + '"' for one in table)


def parse(name: str) -> Source:
    """Read the name of a source. A password in it is refused: command lines and logs are no place for one."""
    parts = urlsplit(name)
    if parts.password is not None:
        raise DataError(
            "the name of a database has a password in it, where others can read it; leave it out and give it in "
            "PGPASSWORD, or in a password file that PGPASSFILE names"
        )
    query = parse_qs(parts.query)
    if set(query) - {"table"} or len(query.get("table", [])) > 1 or parts.fragment:
        raise DataError(f"the name of a database has more in it than a table; write {FORMS}")
    return _server(parts, query) if KINDS[parts.scheme] == "PostgreSQL" else _file(parts, query)


def _server(parts: SplitResult, query: dict[str, list[str]]) -> Source:
    path = [unquote(one) for one in parts.path.split("/") if one]
    table = query["table"][0] if "table" in query else path.pop() if len(path) == 2 else ""
    names = tuple(table.split("."))
    try:
        port = parts.port
    except ValueError:
        port = -1
    if len(path) != 1 or not all(names) or len(names) > 2 or port == -1:
        raise DataError(f"the name of a database does not say which table; write {FORMS}")
    host = None if parts.hostname is None else unquote(parts.hostname)
    return Source(parts.scheme, path[0], names, host, port, parts.username and unquote(parts.username))


def _file(parts: SplitResult, query: dict[str, list[str]]) -> Source:
    path, table = unquote(parts.path), query.get("table", [""])[0]
    if parts.netloc or not path or not table:
        raise DataError(f"the name of a database does not say which file and table; write {FORMS}")
    # One slash ends the name of nobody, as in sqlite:///file: the path after it is relative, and //path is absolute.
    place = Path(path.removeprefix("/"))
    place = place if place.is_file() else Path(path)
    if not place.is_file():
        raise DataError(f"file {str(place)!r} does not exist; check the path")
    return Source(parts.scheme, str(place), (table,))


def _connect(source: Source) -> Any:
    ibis = _ibis()
    if KINDS[source.kind] == "PostgreSQL":
        # What is not given is taken from the environment or a file by the driver: PGUSER, PGPASSWORD, PGPASSFILE …
        given = {"host": source.host, "port": source.port, "user": source.user}
        return ibis.postgres.connect(
            database=source.place,
            options=postgres.READ_ONLY,
            **{"port": None} | {name: value for name, value in given.items() if value is not None},
        )
    if source.kind == "duckdb":
        return ibis.duckdb.connect(source.place, read_only=True)
    return ibis.sqlite.connect(source.place)


def _ibis() -> Any:
    try:
        import ibis
    except ImportError:
        ibis = None
    if ibis is None:
        raise DataError("reading a database needs more packages; install them with pip install 'sfumato[sql]'")
    return ibis


def _read(expression: Any, name: str) -> Iterator[pa.Table]:
    """Rows of an Ibis expression."""
    failed = f"{name} cannot be read; check your rights, and that its columns have types that Arrow knows"
    reader = quiet(failed, lambda: expression.to_pyarrow_batches(chunk_size=ROWS_AT_ONCE))
    yield reader.schema.empty_table()
    while (batch := quiet(failed, lambda: next(reader, None))) is not None:
        yield pa.Table.from_batches([batch])


def _read_postgres(source: Source) -> Iterator[pa.Table]:
    """Rows of a table of PostgreSQL, without a Python object for each value."""
    connection = quiet(
        _UNREACHED.format(source), lambda: postgres.connected(source.place, source.host, source.port, source.user)
    )
    parts = postgres.batches(connection, quoted(source.table))
    failed = f"{source} cannot be read; check its name, with its schema if it has one, and your rights"
    try:
        while (part := quiet(failed, lambda: next(parts, None))) is not None:
            yield part
    finally:
        parts.close()
        quiet(f"{source} cannot be closed", connection.close)


def _read_sqlite(connection: Any, expression: Any, source: Source) -> Iterator[pa.Table]:
    """Rows of a table in SQLite, where a value may have another type than its column: then it is unreadable."""
    failed = f"{source} cannot be read; check your rights, and that its columns have types that Arrow knows"
    schema = quiet(failed, lambda: expression.schema().to_pyarrow())
    yield schema.empty_table()
    connection.con.text_factory = lambda text: text.decode(errors="replace")  # as files are read, value by value
    cursor = quiet(failed, lambda: connection.con.execute(connection.compile(expression)))
    try:
        while rows := quiet(failed, lambda: cursor.fetchmany(ROWS_AT_ONCE)):
            columns = zip(zip(*rows, strict=True), schema, strict=True)
            yield pa.table([_typed(values, field.type) for values, field in columns], names=schema.names)
    finally:
        cursor.close()


def _typed(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values of SQLite in the type that their column was declared with; where one has another, each by itself."""
    own = [None if value is None else _own(value, kind) for value in values]
    if _STRANGER not in own:
        with suppress(pa.ArrowException):
            return pa.array(own, kind)
    return mixed(own)


_STRANGER = object()
"""Stands for a value that does not have the type of its column."""


def _own(value: Any, kind: pa.DataType) -> Any:
    """A value in the type of its column; SQLite has no type for truth or time, and keeps them as numbers and text."""
    if pa.types.is_boolean(kind):
        fits = type(value) is int and value in (0, 1)
        return bool(value) if fits else _STRANGER
    if pa.types.is_integer(kind):
        return value if type(value) is int else _STRANGER
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return float(value) if type(value) in (int, float) else _STRANGER
    if not isinstance(value, str):
        return _STRANGER
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _moment(value, kind)
    return value


def sqlite_seconds(value: bytes, zoned: int) -> int | None:
    """The seconds since 1970 of a moment that SQLite keeps as text; None for what is no moment in its column."""
    moment = _moment(value.decode(errors="replace"), pa.timestamp("s", "UTC" if zoned else None))
    found = cell(moment)
    return None if moment is _STRANGER or found is None else int(found[1])


def _moment(text: str, kind: pa.DataType) -> date | Any:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return _STRANGER
    if pa.types.is_date(kind):
        return moment.date() if text == moment.date().isoformat() else _STRANGER
    return moment if moment.tzinfo is None or kind.tz is not None else _STRANGER
