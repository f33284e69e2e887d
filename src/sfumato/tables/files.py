"""Reading files: Parquet, Arrow, Excel, and text files with one row a line.

Arrow's messages quote rows, which are private: each is replaced by our own, raised where the original is no longer at
hand.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.feather as feather
import pyarrow.parquet as parquet

from sfumato.errors import DataError
from sfumato.schema.columns import Boolean, Categorical
from sfumato.schema.reading import SEPARATORS, Reading
from sfumato.schema.schema import Schema
from sfumato.tables.excel import read_excel
from sfumato.tables.lines import Lines, arrow_source, first_line, is_well_formed, transcoded
from sfumato.tables.raw import is_text

ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")
SPLITTABLE = (*ENDINGS, ".txt", ".feather", ".arrow")
READABLE = (*SPLITTABLE, ".xlsx")

ROWS_AT_ONCE = 1 << 16
"""Rows of one part of a table: few enough to need little memory, many enough to hide the cost of a call."""

NOT_UNICODE = 'is not UTF-8; say what it is, for example "read": {"encoding": "cp1252"} in the schema, or save it again'

_MALFORMED = (
    "has a line with more or fewer fields than its header, or with quotes that do not stand around a whole field; give "
    "every line one field per column"
)

_FAILURES = (
    pa.ArrowException,
    OSError,
    EOFError,
    csv.Error,
    zlib.error,
    UnicodeDecodeError,
    zipfile.BadZipFile,
    KeyError,
)


def ending_of(path: Path, known: Sequence[str] = ENDINGS) -> str:
    """The ending of a file name, among those that can be written, or those `known`."""
    for ending in known:
        if path.name.lower().endswith(ending):
            return ending
    raise DataError(f"file {str(path)!r} has no known ending; give one of {', '.join(known)}")


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


def read_file(path: Path, schema: Schema | None, reading: Reading | None = None) -> pa.Table:
    """A table from a file; text columns of a text file, none of them null."""
    return pa.concat_tables(list(read_file_parts(path, schema, reading)))


def read_file_parts(path: Path, schema: Schema | None, reading: Reading | None = None) -> Iterator[pa.Table]:
    """A table from a file, a folder or a pattern of files, part by part; text files have columns of text without nulls.

    With a schema, a line of a text file is a row, unless the schema declares a value with a line break in it. There is
    always a part, if only an empty one. How the file is to be read, the schema says, or `reading` where there is none.
    """
    reading = schema.read if schema is not None else reading or Reading()
    first: pa.Schema | None = None
    for file in files_of(path):
        for part in _read_one(file, schema, reading):
            if first is None:
                first = part.schema
            elif part.schema != first:
                raise DataError(
                    f"file {str(file)!r} has other columns or types than the first of {str(path)!r}; all files of one "
                    "table must have the same, in the same order"
                )
            yield part


def files_of(path: Path) -> list[Path]:
    """The file itself; of a folder or a pattern with * all files, in the order of their names."""
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if file.name.lower().endswith(SPLITTABLE))
    elif any(sign in path.name for sign in "*?") and not path.exists():
        found = sorted(file for file in path.parent.glob(path.name) if file.is_file())
    else:
        ending_of(path, READABLE)
        if not path.is_file():
            raise DataError(f"file {str(path)!r} does not exist; check the path")
        return [path]
    if not found:
        raise DataError(f"{str(path)!r} holds no file that ends in {', '.join(SPLITTABLE)}; check the path")
    endings = sorted({ending_of(file, SPLITTABLE) for file in found})
    if len(endings) > 1:
        raise DataError(f"{str(path)!r} holds files that end in {', '.join(endings)}; all must be of one kind")
    return found


def _read_one(path: Path, schema: Schema | None, reading: Reading) -> Iterator[pa.Table]:
    ending = ending_of(path, READABLE)
    if ending == ".parquet":
        yield from _read_parquet(path, schema)
        return
    if ending in (".feather", ".arrow"):
        yield _guarded(path, lambda: feather.read_table(path))
        return
    if ending == ".xlsx":
        yield _guarded(path, lambda: read_excel(path, reading))
        return
    breaks = reading.line_breaks or (schema is not None and any(map(_has_break, _declared_texts(schema))))
    by_line = schema is not None and not breaks
    separator = reading.separator or delimiter_of(ending)
    names = _guarded(path, lambda: _header(path, separator, reading.encoding, by_line))
    if names is None:
        raise DataError(f"file {str(path)!r} is empty; give a file whose first line names the columns")
    if schema is not None:
        _check_separator(path, names, schema, separator)
    check_names(names, f"the header of file {str(path)!r}")
    if schema is not None and by_line:
        yield from _read_lines(path, separator, names, schema)
        return
    if schema is not None and schema.default_policy != "refuse":
        raise DataError(
            f"file {str(path)!r} is a text file, and the schema declares a value with a line break, or says that there "
            "may be some. In such a file one quote too many hides the lines that follow; if none may be refused, one "
            "row could change others. Give a Parquet file, or set 'on_bad_value' to 'refuse'"
        )
    yield _guarded(path, lambda: _read_quoted(path, separator, reading.encoding, names, strict=schema is not None))


def _has_break(text: str) -> bool:
    return "\n" in text or "\r" in text


def _check_separator(path: Path, names: Sequence[str], schema: Schema, separator: str) -> None:
    """Refuse a header that makes sense with another separator; the names of columns are public."""
    if set(names) >= set(schema.names):
        return
    line = separator.join(names)
    for other in SEPARATORS:
        if set(next(csv.reader([line], delimiter=other), [])) >= set(schema.names) and len(schema.names) > 1:
            raise DataError(
                f"file {str(path)!r} looks separated by {other!r}, and is read as separated by {separator!r}; add "
                f'"read": {{"separator": {json.dumps(other)}}} to the schema'
            )


def _read_parquet(path: Path, schema: Schema | None) -> Iterator[pa.Table]:
    """The parts of a Parquet file. With a schema, text comes as dictionaries, as it is stored: each is coded once."""
    file = _guarded(path, lambda: parquet.ParquetFile(path))
    if schema is not None:
        texts = [one.name for one in file.schema_arrow if is_text(one.type) and one.name != schema.unit.column]
        file = _guarded(path, lambda: parquet.ParquetFile(path, metadata=file.metadata, read_dictionary=texts))
    yield file.schema_arrow.empty_table()
    batches = file.iter_batches(ROWS_AT_ONCE)
    while (batch := _guarded(path, lambda: next(batches, None))) is not None:
        yield pa.Table.from_batches([batch])


def _guarded(path: Path, read: Callable[[], Any]) -> Any:
    """What `read` gives; if it fails, a DataError in our own words that does not hold the original."""
    try:
        return read()
    except MemoryError:  # Arrow's is an ArrowException too, and says nothing about the file
        raise
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
        return NOT_UNICODE
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


def opened(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked."""
    return gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb")  # type: ignore[return-value]


def _header(path: Path, separator: str, encoding: str, by_line: bool) -> list[str] | None:
    """The names in the first line that is not empty; None if there is none."""
    with opened(path) as file:
        line = first_line(transcoded(file, encoding)) if by_line else None
        form = "utf-8-sig" if encoding == "utf-8" else encoding
        lines = [line.decode()] if line else io.TextIOWrapper(file, form, newline="")
        return next(filter(None, csv.reader(lines, delimiter=separator, strict=by_line)), None)


def _read_lines(path: Path, separator: str, names: list[str], schema: Schema) -> Iterator[pa.Table]:
    """A text file, one row a line. What is wrong with lines is said at the end, the same wherever they are."""
    policies = {column.name: schema.policy(column) for column in schema.columns}
    with _guarded(path, lambda: opened(path)) as file:
        lines = Lines(names, separator)
        parts = lines.read(transcoded(file, schema.read.encoding))
        while (part := _guarded(path, lambda: next(parts, None))) is not None:
            # Said before the values are read: that they are not declared would be true, and no help.
            read = lines.broken.difference(schema.ignore)
            if any(policies.get(name, schema.default_policy) == "refuse" for name in read):
                raise DataError(f"file {str(path)!r} {NOT_UNICODE}")
            yield part
    if lines.malformed and schema.default_policy == "refuse":
        raise DataError(f"file {str(path)!r} {_MALFORMED}, or set 'on_bad_value' to leave such lines out")


def _read_quoted(path: Path, separator: str, encoding: str, names: list[str], strict: bool) -> pa.Table:
    """A text file with line breaks inside quotes; with `strict`, one with a quote too many is refused."""
    with opened(path) as file:
        content = transcoded(file, encoding).read(-1).removeprefix(codecs.BOM_UTF8)
    if strict and not is_well_formed(content, len(names), separator):
        raise DataError(f"file {str(path)!r} {_MALFORMED}")
    return arrow_csv.read_csv(
        arrow_source(content),
        read_options=arrow_csv.ReadOptions(use_threads=False),
        parse_options=arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, check_utf8=True
        ),
    )
