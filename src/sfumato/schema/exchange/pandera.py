"""Schemas of pandera, as `to_json` and `to_yaml` write them. Checks of one's own code cannot be carried."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from sfumato.schema.exchange.carried import Carried, Exported, Keys, kind_of, lost_in, plain
from sfumato.schema.schema import Schema
from sfumato.text import json_text

_PLAIN = {"dtype", "nullable", "checks", "unique", "coerce", "required", "regex", "title", "description", "name"}
_DTYPES = {"integer": "int64", "number": "float64", "date": "datetime64[ns]", "datetime": "datetime64[ns]"}
_DTYPES |= {"categorical": "str", "boolean": "bool"}


def read(content: bytes, name: str) -> Carried:
    """A schema of a data frame."""
    found = json.loads(content) if content.lstrip()[:1] == b"{" else yaml.safe_load(content)
    lost: list[str] = []
    columns = []
    for column, said in found["columns"].items():
        if said.get("unique"):
            lost.append(f"column {column!r} is unique, so it tells persons apart; it is left out")
            continue
        columns.append(_column(str(column), said, lost))
    lost += ["checks over several columns; see 'rules'"] if found.get("checks") else []
    lost += [f"key {key!r}" for key, value in found.items() if key not in _TABLE_KEYS and value]
    return Carried({"name": found.get("name") or name, "columns": columns}, tuple(lost))


_TABLE_KEYS = ("schema_type", "version", "api", "columns", "checks", "name", "coerce", "strict", "title", "description")


def _column(name: str, said: Mapping[str, Any], lost: list[str]) -> Keys:
    dtype = str(said.get("dtype", "")).lower()
    kinds = (("bool", "boolean"), ("int", "integer"), ("float", "number"), ("decimal", "number"), ("date", "datetime"))
    kind = next((ours for word, ours in kinds if word in dtype), "categorical")
    keys: Keys = {"name": name, "type": kind, **({"nullable": True} if said.get("nullable") else {})}
    lost += [f"that the name of column {name!r} is a pattern"] if said.get("regex") else []
    for check, value in _checks(said):
        value = value.get("value", value) if isinstance(value, Mapping) and "value" in value else value
        if check == "isin":
            values = value["allowed_values"] if isinstance(value, Mapping) else value
            keys |= {"type": "categorical", "categories": [str(one) for one in values]}
        elif check in ("ge", "greater_than_or_equal_to"):
            keys["min"] = _bound(value, "min_value", kind)
        elif check in ("le", "less_than_or_equal_to"):
            keys["max"] = _bound(value, "max_value", kind)
        elif check in ("in_range", "between"):
            keys |= {"min": _bound(value, "min_value", kind), "max": _bound(value, "max_value", kind)}
        else:
            lost.append(f"check {check!r} of column {name!r}")
    if keys["type"] == "categorical":
        keys = {key: value for key, value in keys.items() if key not in ("min", "max")}
    return {**keys, **({"note": said["description"]} if said.get("description") else {})}


def _checks(said: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The checks of a column: newer files name them beside its other keys, older ones under `checks`."""
    yield from ((key, value) for key, value in said.items() if key not in _PLAIN)
    checks = said.get("checks") or {}
    if isinstance(checks, Mapping):
        yield from checks.items()
    else:
        for one in checks:
            options = one.get("options", {})
            yield str(options.get("check_name", one.get("check"))), {k: v for k, v in one.items() if k != "options"}


def _bound(value: Any, key: str, kind: str) -> Any:
    bound = value[key] if isinstance(value, Mapping) else value
    return int(bound) if kind == "integer" else float(bound) if kind == "number" else bound


def write(schema: Schema) -> Exported:
    """A schema that `pandera.DataFrameSchema.from_json` reads."""
    columns: dict[str, Keys] = {}
    for column in schema.columns:
        kind = kind_of(column)
        said: Keys = {"dtype": _DTYPES[kind], "nullable": column.nullable}
        if kind == "integer" and column.nullable:
            said["dtype"] = "Int64"
        if kind == "boolean" and column.nullable:
            said["dtype"] = "boolean"
        if kind == "categorical":
            said["isin"] = list(getattr(column, "categories", ()))
        elif kind != "boolean":
            said["greater_than_or_equal_to"], said["less_than_or_equal_to"] = (
                plain(getattr(column, key)) for key in ("min", "max")
            )
        columns[column.name] = said
    found = {"schema_type": "dataframe", "api": "pandas", "columns": columns, "name": schema.name}
    return Exported(json_text(found) + "\n", lost_in(schema))
