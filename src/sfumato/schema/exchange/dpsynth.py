"""`domain.yaml` of dpsynth: labels or bounds of each column.

dpsynth has no word for *missing*: a label that it does not know becomes the one at `out_of_domain_index`, and a number
outside its bounds becomes the nearest bound or, without `clip_to_range`, a value of its own that is written as missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from sfumato.schema.columns import Boolean, Column
from sfumato.schema.exchange.carried import Carried, Exported, Keys, kind_of, lost_in
from sfumato.schema.schema import Schema

MISSING = "(missing)"

_USED = {
    "type", "description", "possible_values", "out_of_domain_index", "min_value", "max_value", "dtype",
    "clip_to_range", "default_value", "public_possible_values",
}  # fmt: skip
_DEFAULTS = {"sentinel": None, "interval_handling": "midpoint"}


def read(content: bytes, name: str) -> Carried:
    """The domain of one table."""
    lost: list[str] = []
    columns = []
    for column, said in yaml.safe_load(content).items():
        if "max_tokens" in said:
            lost.append(f"column {str(column)!r} is free text, which is never synthesised; it is left out")
            continue
        columns.append(_column(str(column), said, lost))
    return Carried({"name": name, "columns": columns}, tuple(lost))


def _column(name: str, said: Mapping[str, Any], lost: list[str]) -> Keys:
    if "possible_values" in said:
        keys = _labels(name, said, lost)
    elif "min_value" in said:
        kind, number = ("integer", int) if said.get("dtype") == "int" else ("number", float)
        keys = {"type": kind, "min": number(said["min_value"]), "max": number(said["max_value"])}
        keys |= {"outside": "clip"} if said.get("clip_to_range", True) else _MISSING_IF_BAD
    elif not said or "default_value" in said:
        public = [str(one) for one in said.get("public_possible_values") or ()]
        other = str(said.get("default_value", "<OOD>"))
        keys = {"type": "categorical", **({"categories": [*public, other], "other": other} if public else {})}
        lost.append(f"that the values of column {name!r} are found in the data: only declared ones are synthesised")
    else:
        raise ValueError
    lost += [f"key {key!r} of column {name!r}" for key, value in said.items() if _is_lost(key, value)]
    return {"name": name, **keys, **({"note": str(said["description"])} if said.get("description") else {})}


_MISSING_IF_BAD: Keys = {"nullable": True, "on_bad_value": "missing"}


def _labels(name: str, said: Mapping[str, Any], lost: list[str]) -> Keys:
    values = said["possible_values"]
    if {type(one) for one in values} == {bool}:
        lost.append(f"key 'out_of_domain_index' of column {name!r}: other values are bad values here")
        return {"type": "boolean"}
    labels = [str(one) for one in values if one is not None]
    keys: Keys = {"type": "categorical", "categories": labels}
    other = values[said.get("out_of_domain_index", 0)]
    keys |= {"on_bad_value": "missing"} if other is None else {"other": str(other)}
    return {**keys, "nullable": True} if len(labels) < len(values) else keys


def _is_lost(key: str, value: Any) -> bool:
    return key not in _USED and value is not None and value != _DEFAULTS.get(key)


def write(schema: Schema) -> Exported:
    """The domain of one table. It knows no dates: such columns are left out and listed."""
    found: dict[str, Keys] = {}
    lost = list(lost_in(schema, ("other", "outside", "note")))
    for column, keys in zip(schema.columns, schema.to_dict()["columns"], strict=True):
        if kind_of(column) in ("date", "datetime"):
            lost.append(f"column {column.name!r}: there are no dates")
            continue
        said = _numbers(column, keys, lost) if "min" in keys else _categories(column, keys, lost)
        found[column.name] = said | ({"description": column.note} if column.note else {})
    return Exported(yaml.safe_dump(found, allow_unicode=True, sort_keys=False), tuple(lost))


def _numbers(column: Column, keys: Keys, lost: list[str]) -> Keys:
    """Bounds. What is missing is outside of them, so a column that has gaps cannot clip."""
    if column.nullable or keys.get("outside") != "clip":
        fate = "becomes missing" if column.nullable else "becomes the nearest bound"
        lost.append(f"column {column.name!r}: a value outside the bounds {fate}")
    return {
        "type": "NumericalAttribute",
        "dtype": "int" if keys["type"] == "integer" else "float",
        "min_value": float(keys["min"]),
        "max_value": float(keys["max"]),
        "clip_to_range": not column.nullable,
    }


def _categories(column: Column, keys: Keys, lost: list[str]) -> Keys:
    """Labels of one type; `true` and `false` as pandas reads them from a file, which is how dpsynth gets its rows."""
    labels: list[Any] = list(keys.get("categories", ()))
    if isinstance(column, Boolean):
        labels = [column.false_values[0], column.true_values[0]]
        if [label.lower() for label in labels] == ["false", "true"]:
            labels = ["False", "True"] if column.nullable else [False, True]
    other = labels.index(keys["other"]) if keys.get("other") in labels else 0
    if column.nullable:
        word = MISSING if MISSING not in labels else f"({MISSING})"
        labels, other = [word, *labels], 0
        lost.append(f"column {column.name!r}: what is missing or unknown becomes the label {word!r}")
    elif "other" not in keys:
        lost.append(f"column {column.name!r}: what is missing or unknown becomes {labels[0]!r}")
    return {"type": "CategoricalAttribute", "possible_values": labels, "out_of_domain_index": other}
