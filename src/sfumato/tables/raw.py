"""Raw columns: what reading a table and encoding it agree upon about Arrow columns."""

from __future__ import annotations

import pyarrow as pa

MIXED = pa.struct(
    [
        ("text", pa.large_string()),
        ("number", pa.large_string()),  # numbers of any type, as `spelling` writes them
        ("truth", pa.bool_()),
        ("moment", pa.timestamp("s")),  # in UTC if it has a time zone
        ("stranger", pa.bool_()),  # true for a value of any other type
    ]
)
"""The type of a column whose values each have a type of their own, such as the objects of pandas.

Arrow would give such a column one type, and one value could change it for all others. Here each value stands in the
field of its own type; a missing value stands in none.
"""


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds text."""
    return str(kind) in ("string", "large_string", "string_view")


def is_number(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds whole numbers or floats."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def type_name(kind: pa.DataType) -> str:
    """The name of a type; of a nested one without its fields, whose names may be private."""
    return str(kind).partition("<")[0]


def plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same values without dictionary encoding, and text as one type."""
    if pa.types.is_dictionary(values.type):
        kind = values.type.value_type
        # Arrow cannot cast every dictionary, but it can always look values up.
        chunks = [
            plain(pa.chunked_array([chunk.dictionary])).combine_chunks().take(chunk.indices) for chunk in values.chunks
        ]
        return pa.chunked_array(chunks) if chunks else plain(pa.chunked_array([], kind))
    return unicode_text(values)[0] if is_text(values.type) else values


def unicode_text(values: pa.ChunkedArray) -> tuple[pa.ChunkedArray, bool]:
    """Text or bytes as text, and whether all of it was UTF-8; bytes that are not become U+FFFD, value by value."""
    chunks = [_unicode(chunk.cast(pa.large_binary())) for chunk in values.chunks]
    texts = pa.chunked_array([text for text, _ in chunks], pa.large_string())
    return texts, all(clean for _, clean in chunks)


def _unicode(chunk: pa.Array) -> tuple[pa.Array, bool]:
    try:
        return chunk.cast(pa.large_string()), True
    except pa.ArrowInvalid:
        pass
    texts = [None if value is None else value.decode(errors="replace") for value in chunk.to_pylist()]
    return pa.array(texts, pa.large_string()), False
