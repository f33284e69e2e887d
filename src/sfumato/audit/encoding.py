"""Row independence: what becomes of one row on its way in depends on that row alone."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato import tables
from sfumato.audit.rows import equal_rows, made_up
from sfumato.errors import SfumatoError
from sfumato.intake.intake import Intake
from sfumato.schema.schema import Schema
from sfumato.tables.texts import as_text

STRANGE = (
    "",
    "zzz",
    "1e308",
    "-1e308",
    "nan",
    "0.5",
    "9007199254740993",
    '"a, b"',
    "2024-99-99",
    "TRUE",
    "\u00e9\u200b",
)
"""Texts that have made other readers guess another type, or another code, for the rows beside them."""

Codes = tuple[np.ndarray[Any, np.dtype[Any]], ...]


def encoding_problems(schema: Schema, rows: int = 30) -> tuple[list[str], int]:
    """What moves the codes of others, and how many further rows were tried. Rows that are refused say nothing."""
    few_values = pa.concat_tables([equal_rows(schema, False, 1, person) for person in range(5)])
    problems: list[str] = []
    tried = 0
    for table in (made_up(schema, rows, seed=0), few_values):
        with tempfile.TemporaryDirectory() as scratch:
            found, count = _moved(table, schema, Path(scratch))
        problems, tried = problems + found, tried + count
    return list(dict.fromkeys(problems)), tried


def _moved(table: pa.Table, schema: Schema, scratch: Path) -> tuple[list[str], int]:
    """What moves the codes of the rows of one table when it is beside them in a file."""
    lines = _lines(table, schema)
    alone = _read(_csv(lines, scratch / "alone.csv"), schema)
    typed = _read(_parquet(table, scratch / "alone.parquet"), schema)
    if alone is None or typed is None:
        return ["made-up rows of the declared domains are refused"], 0
    others = pa.concat_tables([equal_rows(schema, True, 1, 10**6), equal_rows(schema, False, 1, 10**6 + 1)])
    files: list[tuple[Path, Codes, str]] = []
    for place in range(others.num_rows):
        more = pa.concat_tables([table, others.slice(place, 1)])
        files.append((_parquet(more, scratch / f"more-{place}.parquet"), typed, "a row of other values"))
        files.append((_csv(_lines(more, schema), scratch / f"more-{place}.csv"), alone, "a row of other values"))
    for number, name in enumerate(schema.names):
        for text in STRANGE:
            odd = list(lines[-1])
            odd[number] = text
            path = _csv([*lines, odd], scratch / f"{len(files)}.csv")
            files.append((path, alone, f"{text!r} in column {name!r}"))
    read = [(_read(path, schema), before, what) for path, before, what in files]
    compared = [(after, before, what) for after, before, what in read if after is not None]
    moved = [
        f"{what} moves the codes of other rows"
        for after, before, what in compared
        if any(not np.array_equal(one, two[: len(one)]) for one, two in zip(before, after, strict=True))
    ]
    return moved, len(compared)


def _read(path: Path, schema: Schema) -> Codes | None:
    """The codes of a file, or None if it is refused."""
    intake = Intake(schema)
    try:
        blocks = [intake.encode(batch).records for batch in tables.batches(path, schema)]
    except SfumatoError:
        return None
    return tuple(np.concatenate([block[name] for block in blocks]) for name in intake.domain.names)


def _lines(table: pa.Table, schema: Schema) -> list[list[str]]:
    """The texts of a table, column names first."""
    columns = []
    for name in table.column_names:
        values = table.column(name).combine_chunks()
        if name in schema.names:
            column = schema[name]
            texts = as_text(values, column)
            columns.append(texts.fill_null(column.null_values[0] if column.null_values else "").to_pylist())
        else:
            columns.append(values.to_pylist())
    return [list(table.column_names), *map(list, zip(*columns, strict=True))]


def _csv(lines: list[list[str]], path: Path) -> Path:
    quoted = (",".join(_quoted(text) for text in line) for line in lines)
    path.write_text("\n".join(quoted) + "\n", encoding="utf-8")
    return path


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _parquet(table: pa.Table, path: Path) -> Path:
    pq.write_table(table, path)
    return path
