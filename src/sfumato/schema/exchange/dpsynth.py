"""`domain.yaml` of dpsynth: labels or bounds of each column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from sfumato.schema.columns import Boolean
from sfumato.schema.exchange.carried import Carried, Exported, Keys, kind_of, lost_in
from sfumato.schema.schema import Schema

_USED = ("possible_values", "out_of_domain_index", "min_value", "max_value", "dtype", "clip_to_range", "description")


def read(content: bytes, name: str) -> Carried:
    """The domain of one table."""
    lost: list[str] = []
    columns = [_column(column, said, lost) for column, said in yaml.safe_load(content).items()]
    return Carried({"name": name, "columns": columns}, tuple(lost))


def _column(name: str, said: Mapping[str, Any], lost: list[str]) -> Keys:
    keys: Keys = {"name": str(name)}
    if "possible_values" in said:
        values = said["possible_values"]
        labels = [str(one) for one in values if one is not None]
        keys |= {"type": "categorical", "categories": labels}
        other = values[said.get("out_of_domain_index", 0)] if "out_of_domain_index" in said else None
        if other is not None:
            keys["other"] = str(other)
        if len(labels) < len(values):
            keys["nullable"] = True
    elif "min_value" in said:
        whole = said.get("dtype") == "int"
        bounds = {"min": said["min_value"], "max": said["max_value"]}
        keys |= {"type": "integer" if whole else "number"}
        keys |= {key: int(value) if whole else float(value) for key, value in bounds.items()}
        if said.get("clip_to_range"):
            keys["outside"] = "clip"
    else:
        keys["type"] = "categorical"
    if said.get("description"):
        keys["note"] = str(said["description"])
    lost += [f"key {key!r} of column {name!r}" for key in said if key not in _USED]
    return keys


def write(schema: Schema) -> Exported:
    """The domain of one table. It knows no dates: such columns are left out and listed."""
    found: dict[str, Keys] = {}
    lost = list(lost_in(schema, ("other",)))
    for column, keys in zip(schema.columns, schema.to_dict()["columns"], strict=True):
        kind = kind_of(column)
        if kind in ("date", "datetime"):
            lost.append(f"column {column.name!r}: there are no dates")
        elif kind in ("integer", "number"):
            found[column.name] = {
                "dtype": "int" if kind == "integer" else "float",
                "min_value": float(keys["min"]),
                "max_value": float(keys["max"]),
                "clip_to_range": keys.get("outside") == "clip",
            }
        else:
            pair = [column.true_values[0], column.false_values[0]] if isinstance(column, Boolean) else []
            labels = pair or list(keys["categories"])
            values = [None, *labels] if column.nullable else labels
            other = values.index(keys.get("other")) if keys.get("other") in values else 0
            found[column.name] = {"possible_values": values, "out_of_domain_index": other}
    return Exported(yaml.safe_dump(found, allow_unicode=True, sort_keys=False), tuple(lost))
