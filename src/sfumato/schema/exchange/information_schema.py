"""Rows of `information_schema.columns`, as CSV or JSON: what the client of nearly every SQL database can write."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

from sfumato.errors import SchemaError
from sfumato.schema.exchange.carried import Carried, Keys
from sfumato.schema.exchange.sql import TYPES

_LABELS = ("character", "char", "varchar", "nvarchar", "text")


def read(content: bytes, name: str) -> Carried:
    """The columns of one table. The view knows names, types and NOT NULL; keys and checks are in other views."""
    text = content.decode("utf-8-sig")
    rows = json.loads(text) if text.lstrip().startswith("[") else list(csv.DictReader(io.StringIO(text)))
    said = [{key.lower(): value for key, value in row.items()} for row in rows]
    tables = sorted({str(row.get("table_name") or name) for row in said})
    if len(tables) != 1:
        raise SchemaError(
            f"the file has columns of {len(tables)} tables ({', '.join(tables)}), and a schema is about one; select "
            "the rows WHERE table_name = '…'"
        )
    said.sort(key=lambda row: int(row.get("ordinal_position") or 0))
    lost: list[str] = ["keys and CHECK constraints, which this view does not have: leave identifiers out"]
    return Carried({"name": tables[0], "columns": [_column(row, lost) for row in said]}, tuple(lost))


def _column(row: Mapping[str, Any], lost: list[str]) -> Keys:
    name, said = str(row["column_name"]), str(row["data_type"]).lower()
    kind = said.split()[0]
    keys: Keys = {"name": name, "type": TYPES.get(kind, "categorical")}
    if kind not in TYPES and kind not in _LABELS:
        lost.append(f"type {said!r} of column {name!r}; it is taken for labels")
    scale = str(row.get("numeric_scale") or "")
    if kind in ("numeric", "decimal") and scale.isdigit():
        keys |= {"decimals": int(scale)} if int(scale) else {"type": "integer"}
    return {**keys, "nullable": True} if str(row.get("is_nullable", "YES")).upper() == "YES" else keys
