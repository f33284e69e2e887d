"""`sfumato query`: the table of counts over any columns of a release, free of charge."""

from __future__ import annotations

import csv
from io import BytesIO
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet
import typer
from rich.table import Table

from sfumato.cli.console import JsonOption, explained, out, print_json, print_rows
from sfumato.errors import ReleaseError, SchemaError
from sfumato.files import check_new, write_new
from sfumato.release import Release
from sfumato.release.answers import answer

LINES = 60
"""The most cells that are shown on a terminal."""


@explained
def query(
    folder: Annotated[Path, typer.Argument(help="A release folder.")],
    columns: Annotated[str, typer.Argument(help="Columns, separated by commas: age,sex,income.")],
    out_file: Annotated[Path | None, typer.Option("--out", help="A new .csv or .parquet file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Answer how many rows have each combination of values, with standard errors where the noise gives one."""
    if out_file is not None:
        _check_file(out_file)
    release = Release.load(folder)
    table = answer(release.model, release.schema, _names(columns))
    if out_file is not None:
        _write(table, out_file)
        if as_json:
            print_json({"file": str(out_file), "cells": table.num_rows})
    elif as_json:
        print_json({"columns": table.column_names[:-2], "cells": table.to_pylist()})
    elif out.is_terminal:
        _show(table)
    else:
        print_rows(_csv(table).decode())


def _names(columns: str) -> list[str]:
    try:
        return [name.strip() for name in next(csv.reader([columns], skipinitialspace=True), [])]
    except csv.Error:
        raise SchemaError(
            f"columns {columns!r} cannot be read; separate them by commas, and put a name in quotes if it has more "
            "than one line"
        ) from None


def _check_file(file: Path) -> None:
    if file.suffix.lower() not in (".csv", ".parquet"):
        raise ReleaseError(f"file {str(file)!r} has no known ending; give .csv or .parquet")
    check_new(file)


def _csv(table: pa.Table) -> bytes:
    texts = [column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in table.columns]
    buffer = BytesIO()
    arrow_csv.write_csv(pa.table(texts, names=table.column_names), buffer)
    return buffer.getvalue()


def _write(table: pa.Table, file: Path) -> None:
    if file.suffix.lower() == ".parquet":
        buffer = BytesIO()
        parquet.write_table(table, buffer)
        content = buffer.getvalue()
    else:
        content = _csv(table)
    write_new({file: content})


def _show(table: pa.Table) -> None:
    """Print the cells with their counts; of very many, the fullest first."""
    *columns, count, error = table.column_names
    shown = table
    if table.num_rows > LINES:
        shown = table.sort_by([(count, "descending")]).slice(0, LINES)
    lines = Table(*columns)
    for name in (count, error):
        lines.add_column(name, justify="right")
    for *labels, rows, deviation in zip(*(column.to_pylist() for column in shown.columns), strict=True):
        lines.add_row(*labels, f"{rows:,.1f}", "" if deviation is None else f"{deviation:,.1f}")
    out.print(lines)
    if shown is not table:
        out.print(f"The {LINES} fullest of {table.num_rows:,} cells; --out FILE, --json or a pipe gives all.")
