"""Types of a Parquet or Arrow file: names and kinds of its columns, and nothing of its rows."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from sfumato.schema.exchange.carried import Carried, Keys

if TYPE_CHECKING:
    import pyarrow as pa


def read(content: bytes, name: str) -> Carried:
    """The schema in the footer of a Parquet file, or at the head of an Arrow file."""
    import pyarrow as pa
    from pyarrow import ipc, parquet

    try:
        schema = parquet.read_schema(BytesIO(content)) if content[:4] == b"PAR1" else ipc.open_file(content).schema
    except (pa.ArrowInvalid, OSError):
        raise ValueError from None
    lost: list[str] = []
    columns = [_column(field, lost) for field in schema]
    return Carried({"name": name, "columns": columns}, tuple(lost))


def _column(field: pa.Field, lost: list[str]) -> Keys:
    import pyarrow as pa

    kind, keys = field.type, Keys(name=field.name)
    if pa.types.is_boolean(kind):
        keys["type"] = "boolean"
    elif pa.types.is_integer(kind):
        keys["type"] = "integer"
    elif pa.types.is_decimal(kind):
        keys |= {"type": "number", "decimals": kind.scale} if kind.scale else {"type": "integer"}
    elif pa.types.is_floating(kind):
        keys["type"] = "number"
    elif pa.types.is_date(kind):
        keys["type"] = "date"
    elif pa.types.is_timestamp(kind):
        keys["type"] = "datetime"
    else:
        keys["type"] = "categorical"
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind)):
            lost.append(f"type {str(kind)!r} of column {field.name!r}; it is taken for labels")
    return {**keys, "nullable": True} if field.nullable else keys
