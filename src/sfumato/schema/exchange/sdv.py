"""Metadata of SDV: `SINGLE_TABLE_V1`, `SINGLE_TABLE_V2`, and `V1` and `V2` of one table.

V1 has no domains. Those of V2 are filled from the data when SDV detects them, so they count as observed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sfumato.errors import SchemaError
from sfumato.schema.exchange.carried import Carried, Exported, Keys, kind_of, lost_in, plain
from sfumato.schema.schema import Schema
from sfumato.text import json_text

_USED = {
    "sdtype", "range_min", "range_max", "range_values", "range_is_nullable", "decimal_places", "datetime_format",
    "computer_representation", "order", "high_cardinality",
}  # fmt: skip


def read(content: bytes, name: str) -> Carried:
    """Metadata as SDV saves it."""
    found = json.loads(content)
    lost: list[str] = []
    if "tables" in found:
        if len(found["tables"]) != 1:
            raise SchemaError(
                f"the metadata has {len(found['tables'])} tables ({', '.join(found['tables'])}), and a schema is about "
                "one; save the metadata of one table"
            )
        lost += ["relationships between tables"] if found.get("relationships") else []
        ((name, found),) = found["tables"].items()
    columns, keys = [], set[str]()
    for key in filter(None, [found.get("primary_key"), found.get("sequence_key"), *found.get("alternate_keys", [])]):
        if isinstance(key, str):
            keys.add(key)
        else:
            lost.append(f"the key of {len(key)} columns: {', '.join(key)}")
    for column, said in found["columns"].items():
        if said["sdtype"] == "id" or column in keys:
            lost.append(f"column {column!r} is an identifier, which is never synthesised; it is left out")
            continue
        columns.append(_column(column, said, lost))
    unit: Keys = {}
    if found.get("sequence_key"):
        unit = {"unit": {"rows": 1, "column": found["sequence_key"]}}
        lost.append("how many rows a person may have: 'unit.rows' is 1 until you say more")
    lost += [f"key {key!r}" for key in found if key not in _TABLE_KEYS]
    return Carried({"name": name, **unit, "columns": columns}, tuple(lost))


_TABLE_KEYS = ("columns", "primary_key", "alternate_keys", "sequence_key", "METADATA_SPEC_VERSION")


def _column(name: str, said: Mapping[str, Any], lost: list[str]) -> Keys:
    kind = said["sdtype"]
    lost += [f"key {key!r} of column {name!r}" for key in said if key not in _USED]
    keys: Keys = {"name": name}
    bounds = {
        ours: said[key] for ours, key in (("min", "range_min"), ("max", "range_max")) if said.get(key) is not None
    }
    if kind == "numerical":
        whole = said.get("decimal_places") == 0 or "Int" in said.get("computer_representation", "")
        keys |= {"type": "integer" if whole else "number", **_numbers(bounds, whole)}
        if said.get("decimal_places"):
            keys["decimals"] = said["decimal_places"]
    elif kind == "datetime":
        form = said.get("datetime_format", "%Y-%m-%dT%H:%M:%S")
        timed = any(sign in form for sign in ("%H", "%I", "%M", "%S"))
        keys |= {"type": "datetime" if timed else "date"}
        keys |= {key: str(value).replace(" ", "T") for key, value in bounds.items()}
        if form not in ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"):
            keys["format"] = form
            if bounds:
                lost.append(f"the bounds of column {name!r}, which are written as {form}; give them in ISO form")
                keys = {key: value for key, value in keys.items() if key not in ("min", "max")}
    elif kind == "boolean" or (kind == "categorical" and _are_truths(said.get("range_values"))):
        keys["type"] = "boolean"
    else:
        if kind not in ("categorical", "ordinal"):
            lost.append(f"that column {name!r} is {kind!r}: it may tell persons apart, and should not be published")
        values = said.get("range_values", said.get("order"))
        keys |= {"type": "categorical", **({"categories": [str(one) for one in values]} if values else {})}
        if kind == "ordinal" or "order" in said:
            keys["ordered"] = True
    return {**keys, "nullable": True} if said.get("range_is_nullable") else keys


def _are_truths(values: Any) -> bool:
    """Whether these are the two values of a column of Booleans, which SDV takes for categories."""
    return bool(values) and all(isinstance(value, bool) for value in values)


def _numbers(bounds: Keys, whole: bool) -> Keys:
    return {key: int(value) if whole else float(value) for key, value in bounds.items()}


def write(schema: Schema) -> Exported:
    """Metadata of one table, version SINGLE_TABLE_V2."""
    columns: dict[str, Keys] = {}
    for column in schema.columns:
        kind, said = kind_of(column), dict[str, Any]()
        if kind == "categorical":
            said = {"sdtype": "ordinal" if column.is_ordered else "categorical"}
            said["range_values"] = list(getattr(column, "categories", ()))
        elif kind == "boolean":
            said = {"sdtype": "boolean"}
        else:
            bounds = {"range_min": plain(getattr(column, "min", 0)), "range_max": plain(getattr(column, "max", 0))}
            said = {"sdtype": "datetime" if kind.startswith("date") else "numerical", **bounds}
        if kind == "integer":
            said["decimal_places"] = 0
        if kind == "number" and getattr(column, "decimals", None) is not None:
            said["decimal_places"] = getattr(column, "decimals", None)
        if kind in ("date", "datetime"):
            said["datetime_format"] = "%Y-%m-%d" if kind == "date" else "%Y-%m-%dT%H:%M:%S"
        said["range_is_nullable"] = column.nullable
        columns[column.name] = said
    found = {"columns": columns, "METADATA_SPEC_VERSION": "SINGLE_TABLE_V2"}
    return Exported(json_text(found) + "\n", lost_in(schema, ("ordered", "decimals")))
