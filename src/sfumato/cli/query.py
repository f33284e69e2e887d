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

from sfumato.cli.console import JsonOption, err, explained, out, print_json, print_rows
from sfumato.errors import ReleaseError, SchemaError
from sfumato.files import check_new, write_new
from sfumato.release import Release
from sfumato.release.answers import FIGURES
from sfumato.release.intervals import CONFIDENCE
from sfumato.release.statistics import Answer

LINES = 60
"""The most cells that are shown on a terminal."""

MEANS = ("mean", "standard_error", "low", "high", "unbiased")
"""What is said of the mean of each cell."""


@explained
def query(
    folder: Annotated[Path, typer.Argument(help="A release folder.")],
    columns: Annotated[str, typer.Argument(help="Columns, separated by commas: age,sex,income.")],
    mean: Annotated[str | None, typer.Option(help="The mean of this column of numbers in each cell instead.")] = None,
    confidence: Annotated[float, typer.Option(help="How often intervals cover.")] = CONFIDENCE,
    out_file: Annotated[Path | None, typer.Option("--out", help="A new .csv or .parquet file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Answer how many rows have each combination of values, with intervals where noisy tables hold the columns."""
    if out_file is not None:
        _check_file(out_file)
    release = Release.load(folder)
    names = _names(columns)
    if mean is None:
        table = release.marginal_arrow(*names, confidence=confidence)
        figures = FIGURES
    else:
        table = _means(names, release.means(mean, *names, confidence=confidence))
        figures = MEANS
    notes = {key.decode(): text.decode() for key, text in (table.schema.metadata or {}).items()}
    notes.pop("confidence", None)
    if out_file is not None:
        _write(table, out_file)
        if as_json:
            print_json({"file": str(out_file), "cells": table.num_rows, **notes})
    elif as_json:
        shown = table.column_names[: -len(figures)]
        print_json({"columns": shown, "confidence": confidence, "cells": table.to_pylist(), **notes})
    elif out.is_terminal:
        _show(table, len(figures))
    else:
        print_rows(_csv(table).decode())
    for text in notes.values() if not as_json else ():
        err.print(text[:1].upper() + text[1:] + ".")


def _means(names: list[str], answers: list[tuple[tuple[str, ...], Answer]]) -> pa.Table:
    """Means of cells as a table."""
    labels = [pa.array([cell[place] for cell, _ in answers], pa.string()) for place in range(len(names))]
    figures = [
        pa.array([getattr(answer, key) for _, answer in answers], pa.float64(), from_pandas=True)
        for key in ("value", "standard_error", "low", "high", "unbiased")
    ]
    titles = [name + "_" * names.count(name) for name in MEANS]
    notes = {}
    for key in ("no_interval", "note"):
        texts = dict.fromkeys(text for _, answer in answers if (text := getattr(answer, key)))
        if texts:
            notes[key] = "; ".join(texts)
    return pa.table([*labels, *figures], names=[*names, *titles]).replace_schema_metadata(notes)


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


def _show(table: pa.Table, figures: int) -> None:
    """Print the cells with their figures; of very many, the fullest first."""
    columns, titles = table.column_names[:-figures], table.column_names[-figures:]
    shown = table
    if table.num_rows > LINES:
        shown = table.sort_by([(titles[0], "descending")]).slice(0, LINES)
    lines = Table(*columns)
    for name in titles:
        lines.add_column(name, justify="right")
    for row in zip(*(column.to_pylist() for column in shown.columns), strict=True):
        numbers = ("" if one is None else f"{one:,.1f}" for one in row[-figures:])
        lines.add_row(*row[:-figures], *numbers)
    out.print(lines)
    if shown is not table:
        out.print(f"The {LINES} fullest of {table.num_rows:,} cells; --out FILE, --json or a pipe gives all.")
