"""Table Schema of Frictionless, alone or inside a data resource or data package of one table.

What Table Schema cannot say goes into keys of our own, `sfumato:KEY`, so an exported schema comes back whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

from sfumato.errors import SchemaError
from sfumato.schema.columns import Boolean
from sfumato.schema.exchange.carried import Carried, Exported, Keys, kind_of, plain
from sfumato.schema.schema import Schema
from sfumato.text import json_text

OURS = "sfumato:"
_USED = {
    "name", "type", "title", "description", "constraints", "categories", "categoriesOrdered", "trueValues",
    "falseValues", "missingValues", "format",
}  # fmt: skip
_TYPES = {"string": "categorical", "boolean": "boolean", "integer": "integer", "number": "number", "date": "date"}
_TYPES |= {"datetime": "datetime", "year": "integer", "any": "categorical"}
_CARRIED = {
    "name", "type", "categories", "ordered", "true_values", "false_values", "min", "max", "nullable", "null_values",
    "note", "domain_from",
}  # fmt: skip
_NAMES = {"categorical": "string", "number": "number"}


def read(content: bytes, name: str) -> Carried:
    """A table schema in JSON or YAML."""
    found = yaml.safe_load(content) if content.lstrip()[:1] not in (b"{", b"[") else json.loads(content)
    if "resources" in found:
        if len(found["resources"]) != 1:
            raise SchemaError(f"the package has {len(found['resources'])} tables, and a schema is about one")
        found = found["resources"][0]
    if "schema" in found:
        name, found = found.get("name", name), found["schema"]
    lost: list[str] = []
    missing = [one for one in found.get("missingValues", [""]) if isinstance(one, str)]
    keys = {key.removeprefix(OURS): value for key, value in found.items() if key.startswith(OURS)}
    identifiers = found.get("primaryKey", [])
    identifiers = [identifiers] if isinstance(identifiers, str) else identifiers
    columns = []
    for said in found["fields"]:
        if said["name"] in identifiers and len(identifiers) == 1:
            lost.append(f"column {said['name']!r} is the primary key, which is never synthesised; it is left out")
            continue
        columns.append(_column(said, missing, lost))
    lost += [f"key {key!r}" for key in found if key not in _TABLE_KEYS and not key.startswith(OURS)]
    return Carried({"name": name, **keys, "columns": columns}, tuple(lost))


_TABLE_KEYS = ("fields", "missingValues", "primaryKey", "name", "$schema")


def _column(said: Mapping[str, Any], missing: list[str], lost: list[str]) -> Keys:
    name, constraints = said["name"], said.get("constraints", {})
    ours = {key.removeprefix(OURS): value for key, value in said.items() if key.startswith(OURS)}
    keys: Keys = {"name": name, "type": _TYPES.get(said.get("type", "string"), "categorical")}
    if said.get("type") not in (*_TYPES, None):
        lost.append(f"type {said['type']!r} of column {name!r}; it is taken for labels")
    values = said.get("categories", constraints.get("enum"))
    if keys["type"] == "categorical" and values:
        keys["categories"] = [str(one["value"] if isinstance(one, Mapping) else one) for one in values]
        if said.get("categoriesOrdered"):
            keys["ordered"] = True
    if keys["type"] not in ("categorical", "boolean"):
        keys |= {
            ours_key: constraints[key]
            for ours_key, key in (("min", "minimum"), ("max", "maximum"))
            if key in constraints
        }
    if keys["type"] == "boolean":
        pairs = (("true_values", "trueValues"), ("false_values", "falseValues"))
        keys |= {ours_key: list(said[key]) for ours_key, key in pairs if key in said}
    if said.get("format") not in (None, "default", "any") and keys["type"] in ("date", "datetime"):
        keys["format"] = said["format"]
    if not constraints.get("required", False):
        keys |= {"nullable": True, "null_values": said.get("missingValues", missing) or [""]}
    note = said.get("description") or said.get("title")
    known = {"required", "enum", "minimum", "maximum"}
    lost += [f"constraint {key!r} of column {name!r}" for key in constraints if key not in known]
    lost += [f"key {key!r} of column {name!r}" for key in said if key not in _USED and not key.startswith(OURS)]
    return {**keys, **({"note": note} if note else {}), **ours}


def write(schema: Schema) -> Exported:
    """A table schema; what it has no word for is in keys that begin with `sfumato:`."""
    known = schema.to_dict()
    fields = []
    for column, keys in zip(schema.columns, known["columns"], strict=True):
        kind = kind_of(column)
        said: Keys = {"name": column.name, "type": _NAMES.get(kind, kind)}
        constraints: Keys = {"required": not column.nullable}
        if kind == "categorical":
            said |= {"categories": keys["categories"], "categoriesOrdered": bool(keys.get("ordered", False))}
        elif isinstance(column, Boolean):
            said |= {"trueValues": list(column.true_values), "falseValues": list(column.false_values)}
        else:
            constraints |= {"minimum": plain(keys["min"]), "maximum": plain(keys["max"])}
        if column.nullable:
            said["missingValues"] = list(column.null_values)
        if keys.get("note"):
            said["description"] = keys["note"]
        said |= {OURS + key: value for key, value in keys.items() if key not in _CARRIED and value is not None}
        fields.append({**said, "constraints": constraints})
    ours = {OURS + key: value for key, value in known.items() if key not in ("name", "columns")}
    found = {"name": schema.name, "fields": fields, **ours}
    return Exported(json_text(found) + "\n", ("key 'domain_from': where each domain comes from",))
