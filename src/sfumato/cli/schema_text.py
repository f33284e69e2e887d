"""A schema as text, in the form that its file has."""

from __future__ import annotations

from pathlib import Path

import yaml

from sfumato.errors import SchemaError
from sfumato.schema.schema import Schema
from sfumato.text import json_text


def schema_text(schema: Schema, file: Path | None) -> str:
    """A schema as the ending of its file says: YAML, or else JSON."""
    if file is not None and file.suffix not in (".json", ".yaml", ".yml"):
        raise SchemaError(f"schema file {str(file)!r} has no known ending; give a .json, .yaml or .yml file")
    if file is not None and file.suffix != ".json":
        return yaml.safe_dump(schema.to_dict(), allow_unicode=True, sort_keys=False, width=120)
    return json_text(schema.to_dict()) + "\n"
