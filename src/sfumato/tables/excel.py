"""Excel files: the cells of one sheet, each by its own type (`sfumato[excel]`)."""

from __future__ import annotations

import warnings
from contextlib import closing
from datetime import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import DataError
from sfumato.schema.reading import Reading
from sfumato.tables.objects import mixed
from sfumato.tables.quiet import quiet


def read_excel(path: Path, reading: Reading) -> pa.Table:
    """The sheet that the schema names, or the first one; its first row names the columns.

    Cells have types of their own, so each is read by itself. Rows without any value are no rows.
    """
    try:
        import openpyxl
    except ImportError:
        raise DataError(
            f"file {str(path)!r} is an Excel file, and reading it needs openpyxl; install sfumato[excel], or save it "
            "as CSV"
        ) from None

    def rows_of() -> tuple[str, list[tuple[Any, ...]]]:
        with closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book:
            sheets = book.sheetnames
            name = reading.sheet or sheets[0]
            if name not in sheets:
                raise DataError(f"file {str(path)!r} has no sheet {name!r}; it has {', '.join(sheets)}")
            book[name].reset_dimensions()  # what programs write about the size of a sheet is not always true
            every = book[name].iter_rows(values_only=True)
            return name, [row for row in every if any(cell is not None for cell in row)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its words are about styles and extensions, and may name cells
        name, rows = quiet(f"file {str(path)!r} is damaged or not an Excel file; save it again", rows_of)
    if not rows:
        raise DataError(f"sheet {name!r} of {str(path)!r} is empty; give one whose first row names the columns")
    header = ["" if cell is None else str(cell) for cell in rows[0]]
    while header and not header[-1]:
        header.pop()
    columns = [[_cell(row[place]) if place < len(row) else None for row in rows[1:]] for place in range(len(header))]
    return pa.table([mixed(column) for column in columns], names=header)


def _cell(value: Any) -> Any:
    """A time of day as text, as a text file would have it; anything else as it is."""
    return value.isoformat() if isinstance(value, time) else value
