"""Schemas of other tools, in and out. What cannot be carried over is listed, and nothing is dropped in silence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import yaml

from sfumato.errors import SchemaError
from sfumato.schema.exchange import (
    croissant,
    domain_json,
    dpsynth,
    frictionless,
    information_schema,
    pandera,
    parquet,
    sdv,
    sql,
)
from sfumato.schema.exchange.carried import Carried, Exported
from sfumato.schema.schema import Schema

__all__ = ["EXPORTS", "IMPORTS", "Carried", "Exported", "export_schema", "import_schema"]

T = TypeVar("T")

IMPORTS: dict[str, Callable[[bytes, str], Carried]] = {
    "sdv": sdv.read,
    "frictionless": frictionless.read,
    "sql": sql.read,
    "information-schema": information_schema.read,
    "parquet": parquet.read,
    "domain-json": domain_json.read,
    "dpsynth": dpsynth.read,
    "pandera": pandera.read,
}

EXPORTS: dict[str, Callable[[Schema], Exported]] = {
    "sdv": sdv.write,
    "frictionless": frictionless.write,
    "sql": sql.write,
    "domain-json": domain_json.write,
    "dpsynth": dpsynth.write,
    "pandera": pandera.write,
    "croissant": croissant.write,
}


def import_schema(file: str | Path, form: str) -> Carried:
    """Read the schema file of another tool. Its domains are unconfirmed: a run refuses them until a person signs.

    Args:
        file: the file that the other tool wrote.
        form: which tool, one of `IMPORTS`.
    """
    path = Path(file)
    read = _known(IMPORTS, form, "imported")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SchemaError(f"schema file {str(path)!r} cannot be read: {error.strerror}") from None
    try:
        carried = read(content, path.name.split(".")[0] or "table")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, yaml.YAMLError) as problem:
        if isinstance(problem, SchemaError):
            raise
        raise SchemaError(
            f"schema file {str(path)!r} is not what {form} writes; give such a file, or another --from"
        ) from None
    return carried.unconfirmed(path.name)


def export_schema(schema: Schema, form: str) -> Exported:
    """A schema as another tool wants it, with a list of what that tool cannot say."""
    return _known(EXPORTS, form, "exported")(schema)


def _known(forms: Mapping[str, T], form: str, what: str) -> T:
    if form not in forms:
        raise SchemaError(f"{form!r} cannot be {what}; give one of {', '.join(forms)}")
    return forms[form]
