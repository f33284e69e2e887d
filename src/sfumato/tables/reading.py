"""Reading a table from a file or a data frame into Arrow.

Arrow's messages quote rows, which are private: every one of them is replaced by our own.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet

from sfumato.errors import DataError

Kind = Literal["pandas", "polars", "arrow", "file"]
ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")


def kind_of(source: Any) -> Kind:
    """What kind of table `source` is; anything that exports an Arrow stream counts as arrow."""
    if isinstance(source, str | os.PathLike):
        return "file"
    library = type(source).__module__.partition(".")[0]
    if type(source).__name__ == "DataFrame" and library in ("pandas", "polars"):
        return "pandas" if library == "pandas" else "polars"
    if hasattr(source, "__arrow_c_stream__"):
        return "arrow"
    raise DataError(
        f"a table was given as {type(source).__name__}; give a path, a pandas or polars DataFrame, or a pyarrow Table"
    )


def read(source: Any) -> pa.Table:
    """Read a table from a path or a data frame. Columns of CSV come as text, and none of it is null."""
    match kind_of(source):
        case "file":
            table = _read_file(Path(source))
        case "pandas":
            table = _read_pandas(source)
        case "polars":
            table = source.to_arrow()
        case _:
            table = pa.table(source)
    # Metadata of files and frames may hold values, such as the categories of an enumeration.
    bare = pa.schema([field.remove_metadata() for field in table.schema])
    table = pa.Table.from_arrays(table.columns, schema=bare)
    check_names(table.column_names, "the table")
    return table


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


def _read_file(path: Path) -> pa.Table:
    ending = ending_of(path)
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder; give a file that ends in {', '.join(ENDINGS)}")
    if not path.is_file():
        raise DataError(f"file {str(path)!r} does not exist; check the path")
    try:
        return parquet.ParquetFile(path).read() if ending == ".parquet" else _read_csv(path, ending)
    except (pa.ArrowException, OSError, EOFError, csv.Error) as error:
        raise DataError(f"file {str(path)!r} {_reason(error)}") from None
    except UnicodeDecodeError:
        raise DataError(f"file {str(path)!r} is not UTF-8; save it in that encoding") from None


def _read_csv(path: Path, ending: str) -> pa.Table:
    names = _header(path, ending)
    check_names(names, f"the header of file {str(path)!r}")
    return arrow_csv.read_csv(
        path,
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter_of(ending), newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, check_utf8=True
        ),
    )


def _header(path: Path, ending: str) -> list[str]:
    opener = gzip.open if ending.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as lines:
        for row in csv.reader(lines, delimiter=delimiter_of(ending)):
            if row:
                return row
    raise DataError(f"file {str(path)!r} is empty; give a file whose first line names the columns")


def _reason(error: Exception) -> str:
    """What went wrong, told without the words of the error, which may quote rows."""
    words = str(error)
    if isinstance(error, PermissionError):
        return "may not be read; change its permissions"
    if "Expected" in words and "columns, got" in words:
        return "has a row with more or fewer fields than its header; give every row one field per column"
    if "UTF8" in words:
        return "is not UTF-8; save it in that encoding"
    return "is damaged or not of the format that its ending says; write it again"


def _read_pandas(frame: Any) -> pa.Table:
    labels = list(frame.columns)
    if not all(isinstance(label, str) for label in labels):
        raise DataError("the table has column names that are not text; rename the columns")
    check_names(labels, "the table")
    arrays = []
    for label in labels:
        try:
            arrays.append(pa.array(frame[label], from_pandas=True))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise DataError(
                f"column {label!r} mixes values of different types, or has a type that Arrow does not know; "
                "convert it to one type, for example to text"
            ) from None
    return pa.table(arrays, names=labels)
