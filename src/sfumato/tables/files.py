"""Reading files: Parquet, and text files with one row a line.

Arrow's messages quote rows, which are private: each is replaced by our own, raised where the original is no longer at
hand.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet

from sfumato.errors import DataError
from sfumato.schema.columns import Boolean, Categorical
from sfumato.schema.schema import Schema
from sfumato.tables.lines import Lines, first_line

ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")

ROWS_AT_ONCE = 1 << 18
"""Rows of one part of a table: few enough to need little memory, many enough to hide the cost of a call."""

_FAILURES = (pa.ArrowException, OSError, EOFError, csv.Error, zlib.error, UnicodeDecodeError)


def ending_of(path: Path) -> str:
    """The ending of a file name, among those that can be read and written."""
    for ending in ENDINGS:
        if path.name.lower().endswith(ending):
            return ending
    raise DataError(f"file {str(path)!r} has no known ending; give one of {', '.join(ENDINGS)}")


def delimiter_of(ending: str) -> str:
    """What separates the fields of a text file."""
    return "\t" if ending.startswith(".tsv") else ","


def check_names(names: Sequence[str], owner: str) -> None:
    """Refuse a table in which a column has no name, or the name of another one."""
    if not all(names):
        raise DataError(f"{owner} has a column without a name; name every column")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"{owner} has several columns named {', '.join(twice)}; each name may occur once")


def read_file(path: Path, schema: Schema | None) -> pa.Table:
    """A table from a file; text columns of a text file, none of them null."""
    parts = list(read_file_parts(path, schema))
    return pa.concat_tables(parts)


def read_file_parts(path: Path, schema: Schema | None) -> Iterator[pa.Table]:
    """A table from a file, part by part; text columns of a text file, none of them null.

    With a schema, a line of a text file is a row, unless the schema declares a value with a line break in it. There is
    always a part, if only an empty one.
    """
    ending = ending_of(path)
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder; give a file that ends in {', '.join(ENDINGS)}")
    if not path.is_file():
        raise DataError(f"file {str(path)!r} does not exist; check the path")
    if ending == ".parquet":
        yield from _read_parquet(path)
        return
    by_line = schema is not None and not any("\n" in text or "\r" in text for text in _declared_texts(schema))
    names = _guarded(path, lambda: _header(path, ending, by_line))
    if names is None:
        raise DataError(f"file {str(path)!r} is empty; give a file whose first line names the columns")
    check_names(names, f"the header of file {str(path)!r}")
    if schema is not None and by_line:
        yield from _read_lines(path, ending, names, schema)
        return
    if schema is not None and schema.on_bad_value != "refuse":
        raise DataError(
            f"file {str(path)!r} is a text file, and the schema declares a value with a line break. In such a file one "
            "quote too many hides the lines that follow; if none may be refused, one row could change others. "
            "Give a Parquet file, or set 'on_bad_value' to 'refuse'"
        )
    yield _guarded(path, lambda: _read_quoted(path, ending, names))


def _read_parquet(path: Path) -> Iterator[pa.Table]:
    file = _guarded(path, lambda: parquet.ParquetFile(path))
    yield file.schema_arrow.empty_table()
    batches = file.iter_batches(ROWS_AT_ONCE)
    while (batch := _guarded(path, lambda: next(batches, None))) is not None:
        yield pa.Table.from_batches([batch])


def _guarded(path: Path, read: Callable[[], Any]) -> Any:
    """What `read` gives; if it fails, a DataError in our own words that does not hold the original."""
    try:
        return read()
    except _FAILURES as error:
        reason = _reason(error)
    raise DataError(f"file {str(path)!r} {reason}")


def _reason(error: Exception) -> str:
    """What went wrong, told without the words of the error, which may quote rows."""
    words = str(error)
    if isinstance(error, PermissionError):
        return "may not be read; change its permissions"
    if "Expected" in words and "columns, got" in words:
        return "has a row with more or fewer fields than its header; give every row one field per column"
    if isinstance(error, UnicodeDecodeError) or "UTF8" in words:
        return "is not UTF-8; save it in that encoding"
    return "is damaged or not of the format that its ending says; write it again"


def _declared_texts(schema: Schema) -> Iterator[str]:
    """The texts that may stand in a file: names, labels and null tokens."""
    yield schema.unit.column or ""
    for column in schema.columns:
        yield from (column.name, *column.null_values)
        if isinstance(column, Categorical):
            yield from column.labels
        if isinstance(column, Boolean):
            yield from (*column.true_values, *column.false_values)


def _opened(path: Path, ending: str) -> IO[bytes]:
    return gzip.open(path) if ending.endswith(".gz") else path.open("rb")  # type: ignore[return-value]


def _header(path: Path, ending: str, by_line: bool) -> list[str] | None:
    """The names in the first line that is not empty; None if there is none."""
    with _opened(path, ending) as file:
        line = first_line(file) if by_line else None
        lines = [line.decode()] if line else io.TextIOWrapper(file, "utf-8-sig", newline="")
        return next(filter(None, csv.reader(lines, delimiter=delimiter_of(ending), strict=by_line)), None)


def _read_lines(path: Path, ending: str, names: list[str], schema: Schema) -> Iterator[pa.Table]:
    """A text file, one row a line. What is wrong with lines is said at the end, the same wherever they are."""
    with _guarded(path, lambda: _opened(path, ending)) as file:
        lines = Lines(names, delimiter_of(ending))
        parts = lines.read(file)
        while (part := _guarded(path, lambda: next(parts, None))) is not None:
            yield part
    if lines.malformed and schema.on_bad_value == "refuse":
        raise DataError(
            f"file {str(path)!r} has a line with more or fewer fields than its header, or with quotes that do not "
            "stand around a whole field; give every line one field per column, or set 'on_bad_value' to leave such "
            "lines out"
        )
    policies = {column.name: schema.policy(column) for column in schema.columns}
    read = lines.broken.difference(schema.ignore)
    if any(policies.get(name, schema.on_bad_value) == "refuse" for name in read):
        raise DataError(f"file {str(path)!r} is not UTF-8; save it in that encoding")


def _read_quoted(path: Path, ending: str, names: list[str]) -> pa.Table:
    """A text file with line breaks inside quotes."""
    return arrow_csv.read_csv(
        path,
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter_of(ending), newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, check_utf8=True
        ),
    )
