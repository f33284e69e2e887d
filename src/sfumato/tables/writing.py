"""Writing a synthetic table as CSV or Parquet; the file appears complete or not at all."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Iterator
from itertools import chain
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
from sfumato.tables.texts import as_text, either

_ROWS_AT_ONCE = 1 << 16


def write(table: pa.Table | Iterable[pa.Table], path: str | os.PathLike[str], schema: Schema) -> None:
    """Write a decoded table: Parquet in the declared types, CSV in the declared texts.

    In CSV a missing value is the first null token. A table may come in parts, of which there is at least one; no more
    than one of them is in memory, and each is a row group of a Parquet file.
    """
    path = Path(path)
    parts = iter([table] if isinstance(table, pa.Table) else table)
    ending = ending_of(path)
    with replacing(path) as file:
        if ending == ".parquet":
            _write_parquet(parts, file, schema)
        elif ending.endswith(".gz"):
            # A fixed time stamp and no name: equal tables give equal files.
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
                _write_csv(parts, packed, delimiter_of(ending), schema)
        else:
            _write_csv(parts, file, delimiter_of(ending), schema)


def _write_parquet(parts: Iterator[pa.Table], file: BinaryIO, schema: Schema) -> None:
    first = typed(next(parts), schema)
    with parquet.ParquetWriter(file, first.schema) as writer:
        for part in chain([first], (typed(other, schema) for other in parts)):
            writer.write_table(part)


def _write_csv(parts: Iterator[pa.Table], file: BinaryIO | gzip.GzipFile, delimiter: str, schema: Schema) -> None:
    first = next(parts)
    names = _quoted(pa.array(first.column_names, pa.large_string()), delimiter).to_pylist()
    file.write((delimiter.join(names) + "\n").encode())
    columns = [schema[name] for name in first.column_names]
    batches = (batch for part in chain([first], parts) for batch in part.to_batches(max_chunksize=_ROWS_AT_ONCE))
    for batch in batches:
        fields = [_field(array, column, delimiter) for array, column in zip(batch.columns, columns, strict=True)]
        if len(fields) == 1:  # an empty line is no row: write the empty text in quotes
            fields = [either(pc.equal(fields[0], ""), pa.scalar('""', pa.large_string()), fields[0])]
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
