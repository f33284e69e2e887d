"""Numbers as people write them, rewritten with a decimal point and nothing else: each value by itself."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.schema.columns import Integer, Number
from sfumato.schema.reading import Written
from sfumato.schema.schema import Schema
from sfumato.tables.raw import MIXED, is_text, plain
from sfumato.tables.texts import either

UNREADABLE = "\ufffd"
"""Stands for a text that is no number as the schema says numbers are written. It is no number in any other way."""

_BLANK = "[ \u00a0\u202f]*"


def with_plain_numbers(table: pa.Table, schema: Schema) -> pa.Table:
    """The table with the texts of numbers rewritten, where the schema says how they are written."""
    for place, name in enumerate(table.column_names):
        column = schema[name] if name in schema.names else None
        if isinstance(column, Integer | Number) and column.written is not None:
            values = _rewritten(plain(table.column(name)), column.written, column.null_values)
            table = table.set_column(place, name, values)
    return table


def _rewritten(values: pa.ChunkedArray, written: Written, tokens: tuple[str, ...]) -> pa.ChunkedArray:
    """Text is rewritten, whatever column it stands in; what was a number before stays."""
    if is_text(values.type):
        return pa.chunked_array([plain_numbers(chunk, written, tokens) for chunk in values.chunks], values.type)
    if values.type != MIXED:
        return values
    chunks = []
    for chunk in values.chunks:
        fields = {field.name: chunk.field(field.name) for field in MIXED}
        fields["text"] = plain_numbers(fields["text"], written, tokens)
        chunks.append(pa.StructArray.from_arrays(list(fields.values()), fields=list(MIXED)))
    return pa.chunked_array(chunks, MIXED)


def plain_numbers(texts: pa.Array, written: Written, tokens: tuple[str, ...] = ()) -> pa.Array:
    """Numbers with a decimal point; null tokens and nulls stay, and what is no number becomes unreadable.

    >>> written = Written(decimal=",", thousands=".", signs=("€",))
    >>> plain_numbers(pa.array(["1.234,50 €", "7", "-3,5", "?"]), written, ("?",)).to_pylist()
    ['1234.50', '7', '-3.5', '?']
    """
    kind = texts.type
    trimmed = pc.utf8_trim_whitespace(texts)
    known = pa.array(tokens, kind)
    is_token = pc.or_(pc.is_in(texts, value_set=known), pc.is_in(trimmed, value_set=known))
    bare = trimmed
    for sign in written.signs:  # one before and one after, with or without a blank
        name = re.escape(sign)
        bare = pc.replace_substring_regex(bare, f"^([+-]?){_BLANK}{name}{_BLANK}", r"\1")
        bare = pc.replace_substring_regex(bare, f"{_BLANK}{name}$", "")
    decimal, groups = re.escape(written.decimal), "[0-9]+"
    if written.thousands is not None:
        groups = f"(?:[0-9]+|[0-9]{{1,3}}(?:{re.escape(written.thousands)}[0-9]{{3}})+)"
    number = f"^[+-]?(?:{groups}(?:{decimal}[0-9]*)?|{decimal}[0-9]+)(?:[eE][+-]?[0-9]+)?$"
    valid = pc.match_substring_regex(bare, number)
    if written.thousands is not None:
        bare = pc.replace_substring(bare, written.thousands, "")
    bare = pc.replace_substring(bare, written.decimal, ".")
    rewritten = either(valid, bare, pa.scalar(UNREADABLE, kind))
    return pc.if_else(is_token, texts, rewritten)
