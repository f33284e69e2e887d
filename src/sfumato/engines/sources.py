"""Where rows come from: files and frames, and tables in databases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from sfumato import tables
from sfumato.engines import spark, sql
from sfumato.schema.schema import Schema


def batches(source: Any, schema: Schema) -> Iterator[pa.Table]:
    """A table in parts, as `tables.batches` gives them, wherever it is."""
    if not sql.is_source(source):
        yield from tables.batches(source, schema)
        return
    for part in sql.batches(source):
        yield from tables.batches(part, schema)


def kind_of(source: Any) -> str:
    """What kind of table samples come as."""
    elsewhere = sql.is_source(source) or spark.is_frame(source) or spark.is_named(source)
    return "arrow" if elsewhere else tables.kind_of(source)
