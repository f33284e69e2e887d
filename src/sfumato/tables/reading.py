"""Reading a table from a file or a data frame into Arrow."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from sfumato.errors import DataError
from sfumato.schema.reading import Reading
from sfumato.schema.schema import Schema
from sfumato.tables.files import ROWS_AT_ONCE, check_names, read_file, read_file_parts
from sfumato.tables.objects import pandas_column
from sfumato.tables.persons import identifiers
from sfumato.tables.quiet import quiet
from sfumato.tables.type_warnings import warn_of_types
from sfumato.tables.written import with_plain_numbers

Kind = Literal["pandas", "polars", "arrow", "file"]

_DAMAGED = "the dataset cannot be read; check that its files are whole and of one schema"
_FAILED = (
    "the table has a column of a type that Arrow does not know, or failed when it was computed; what its library says "
    "may quote rows, so it is not repeated. Compute the table first, and convert such columns, for example to text"
)


def kind_of(source: Any) -> Kind:
    """What kind of table `source` is; anything that exports an Arrow stream counts as arrow."""
    if isinstance(source, str | os.PathLike):
        return "file"
    library = type(source).__module__.partition(".")[0]
    if type(source).__name__ in ("DataFrame", "LazyFrame") and library in ("pandas", "polars"):
        return "pandas" if library == "pandas" else "polars"
    if hasattr(source, "__arrow_c_stream__") or _is_dataset(source):
        return "arrow"
    raise DataError(
        f"a table was given as {type(source).__name__}; give a path, a pandas or polars frame, a pyarrow Table or "
        "Dataset, or anything that exports an Arrow stream, such as a DuckDB relation"
    )


def batches(source: Any, schema: Schema) -> Iterator[pa.Table]:
    """A table in parts of some hundred thousand rows, as `read` would give them; what is wrong may come up at the end.

    No more than one part of a file is in memory at a time.
    """
    kind = kind_of(source)
    warned = False
    for part in _parts(source, kind, schema):
        table = _checked(part)
        if not warned:  # columns have one type in all parts
            warn_of_types(table.schema, schema, guessed=kind != "file")
            warned = True
        yield _prepared(table, schema)


def _parts(source: Any, kind: Kind, schema: Schema) -> Iterator[pa.Table]:
    match kind:
        case "file":
            yield from read_file_parts(Path(source), schema)
        case "pandas":
            for start in range(0, max(len(source), 1), ROWS_AT_ONCE):
                yield _read_pandas(source.iloc[start : start + ROWS_AT_ONCE])
        case _ if _is_dataset(source):
            yield source.schema.empty_table()
            yield from _dataset_parts(source)
        case _:
            table = _exported(source, kind)
            for start in range(0, max(len(table), 1), ROWS_AT_ONCE):
                yield table.slice(start, ROWS_AT_ONCE)


def read(source: Any, schema: Schema | None = None, reading: Reading | None = None) -> pa.Table:
    """Read a table from a path or a data frame. Columns of CSV come as text, and none of it is null.

    With a schema, what happens to a row depends on that row alone: a line of a text file is a row, malformed lines are
    refused or left out as the schema says, and persons are told apart by the text of their identifiers. Without one,
    `reading` says how a file is to be read.
    """
    match kind_of(source):
        case "file":
            table = read_file(Path(source), schema, reading)
        case "pandas":
            table = _read_pandas(source)
        case kind:
            table = _exported(source, kind)
    table = _checked(table)
    if schema is None:
        return table
    warn_of_types(table.schema, schema, guessed=kind_of(source) != "file")
    return _prepared(table, schema)


def _prepared(table: pa.Table, schema: Schema) -> pa.Table:
    """The table as the schema says: without what it leaves out, with plain numbers and identifiers of persons."""
    table = table.drop_columns([name for name in table.column_names if name in schema.ignore])
    return _with_identifiers(with_plain_numbers(table, schema), schema.unit.column)


def _is_dataset(source: Any) -> bool:
    """Whether this is a data set of Arrow, which nobody can have who has not loaded that part of Arrow."""
    known = sys.modules.get("pyarrow.dataset")
    return known is not None and isinstance(source, known.Dataset)


def _dataset_parts(source: Any) -> Iterator[pa.Table]:
    batches = quiet(_DAMAGED, lambda: source.to_batches(batch_size=ROWS_AT_ONCE))
    while (batch := quiet(_DAMAGED, lambda: next(batches, None))) is not None:
        yield pa.Table.from_batches([batch])


def _checked(table: pa.Table) -> pa.Table:
    # Metadata of files and frames may hold values, such as the categories of an enumeration.
    bare = pa.schema([field.remove_metadata() for field in table.schema])
    table = pa.Table.from_arrays(table.columns, schema=bare)
    check_names(table.column_names, "the table")
    return table


def _with_identifiers(table: pa.Table, person: str | None) -> pa.Table:
    if person not in table.column_names:
        return table
    return table.set_column(table.column_names.index(person), person, identifiers(table.column(person)))


def _read_pandas(frame: Any) -> pa.Table:
    labels = list(frame.columns)
    if not all(isinstance(label, str) for label in labels):
        raise DataError("the table has column names that are not text; rename the columns")
    check_names(labels, "the table")
    return pa.table([pandas_column(frame[label]) for label in labels], names=labels)


def _exported(source: Any, kind: Kind) -> pa.Table:
    """A table of another library. A lazy one is computed here, and what fails then may quote values."""
    if _is_dataset(source):
        return quiet(_DAMAGED, source.to_table)
    if kind == "polars":
        lazy = type(source).__name__ == "LazyFrame"
        return quiet(_FAILED, lambda: (source.collect() if lazy else source).to_arrow())
    return quiet(_FAILED, lambda: pa.table(source))
