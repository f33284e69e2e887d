"""Identifiers of persons: the text of a value by itself, or null where it tells nobody apart."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.schema.spelling import EXACT, spelled_decimal, spelled_float
from sfumato.tables.raw import MIXED, is_text, plain
from sfumato.tables.texts import either


def identifiers(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of identifiers as text, or as the whole numbers that they are; null for what is none.

    Whole numbers that were turned into floats keep their identity up to 2^53; beyond, floats merge different numbers.
    Bytes that are not UTF-8 are no identifier either, since different ones would become the same text.
    """
    values = plain(values)
    kind = values.type
    if kind == MIXED:
        values = pa.chunked_array(
            [pc.coalesce(chunk.field("text"), chunk.field("number")) for chunk in values.chunks], pa.large_string()
        )
    elif pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = _spelled(values)
    elif pa.types.is_integer(kind):
        return values
    elif not is_text(kind):
        return pa.chunked_array([pa.nulls(len(values), pa.large_string())])
    broken = pc.match_substring(values, "\ufffd")
    return either(broken, pa.scalar(None, pa.large_string()), values)


def _spelled(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Floats and decimals as text; each distinct one is written once."""
    encoded = values.combine_chunks().dictionary_encode()
    texts: list[str | None] = []
    for number in encoded.dictionary.to_pylist():
        if isinstance(number, Decimal):
            texts.append(spelled_decimal(number))
        else:
            texts.append(spelled_float(number) if abs(float(number)) < EXACT else None)
    return pa.chunked_array([pa.array(texts, pa.large_string()).take(encoded.indices)])
