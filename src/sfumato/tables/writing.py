"""Writing a synthetic table as CSV or Parquet; the file appears complete or not at all."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet

from sfumato.files import replacing
from sfumato.schema.columns import Column
from sfumato.schema.schema import Schema
from sfumato.tables.files import delimiter_of, ending_of
from sfumato.tables.frames import typed
from sfumato.tables.texts import as_text

_ROWS_AT_ONCE = 1 << 16


def write(table: pa.Table, path: str | os.PathLike[str], schema: Schema) -> None:
    """Write a decoded table: Parquet in the declared types, CSV in the declared texts.

    In CSV a missing value is the first null token.
    """
    path = Path(path)
    ending = ending_of(path)
    with replacing(path) as file:
        if ending == ".parquet":
            parquet.write_table(typed(table, schema), file)
        elif ending.endswith(".gz"):
            # A fixed time stamp and no name: equal tables give equal files.
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
                _write_csv(table, packed, delimiter_of(ending), schema)
        else:
            _write_csv(table, file, delimiter_of(ending), schema)


def _write_csv(table: pa.Table, file: BinaryIO | gzip.GzipFile, delimiter: str, schema: Schema) -> None:
    names = _quoted(pa.array(table.column_names, pa.large_string()), delimiter).to_pylist()
    file.write((delimiter.join(names) + "\n").encode())
    columns = [schema[name] for name in table.column_names]
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        fields = [_field(array, column, delimiter) for array, column in zip(batch.columns, columns, strict=True)]
        if len(fields) == 1:  # an empty line is no row: write the empty text in quotes
            fields = [pc.if_else(pc.equal(fields[0], ""), pa.scalar('""', pa.large_string()), fields[0])]
        lines = pc.binary_join_element_wise(*fields, pa.scalar(delimiter, pa.large_string()))
        ended = pc.binary_join_element_wise(lines, pa.scalar("", pa.large_string()), pa.scalar("\n", pa.large_string()))
        file.write(ended.buffers()[2])


def _field(array: pa.Array, column: Column, delimiter: str) -> pa.Array:
    texts = as_text(array, column)
    if column.nullable:
        texts = texts.fill_null(column.null_values[0])
    return _quoted(texts, delimiter)


def _quoted(texts: pa.Array, delimiter: str) -> pa.Array:
    """Put quotes where CSV needs them: around separators, quotes, and line ends."""
    special = pc.match_substring_regex(texts, f'[{delimiter}"\r\n]')
    if not pc.any(special).as_py():
        return texts
    doubled = pc.replace_substring(texts, '"', '""')
    mark = pa.scalar('"', pa.large_string())
    return pc.if_else(
        special, pc.binary_join_element_wise(mark, doubled, mark, pa.scalar("", pa.large_string())), texts
    )
