"""`sfumato schema check` and `sfumato schema draft`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
import yaml

from sfumato import tables
from sfumato.cli.console import JsonOption, err, explained, out, print_json
from sfumato.errors import SchemaError
from sfumato.files import PRIVATE, check_new, write_new
from sfumato.fitting import check_fits
from sfumato.intake.codec import SchemaCodec
from sfumato.schema.draft import draft as draft_schema
from sfumato.schema.schema import Schema
from sfumato.text import json_text


@explained
def check(
    data: Annotated[Path, typer.Argument(help="The private table.")],
    schema: Annotated[Path, typer.Option(help="The public schema.")],
    as_json: JsonOption = False,
) -> None:
    """Say whether a table fits its schema. Nothing is measured and nothing is spent; no value is shown."""
    public = Schema.load(schema)
    check_fits(data, public)
    domain = SchemaCodec(public).domain
    if as_json:
        print_json({"fits": True, "codes": dict(domain.items()), "observed": list(public.observed)})
        return
    out.print(f"The table fits {schema}: {len(domain)} columns.")
    if public.unaccepted:
        out.print(
            f"The domain of {', '.join(public.unaccepted)} was observed in the data; declare what is publicly known, "
            "or accept it by name."
        )


@explained
def draft(
    data: Annotated[Path, typer.Argument(help="The table to look at.")],
    out_file: Annotated[
        Path | None, typer.Option("--out", help="A new .json, .yaml or .yml file; by default standard output.")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="Declare this column even if it looks like an identifier or free text.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Draft a schema by looking at a table. The draft is NOT private: a person must confirm every column."""
    if out_file is not None:
        check_new(out_file)
    reading = tables.detect(data)
    found = draft_schema(tables.read(data, reading=reading), data.name.split(".")[0], reading, keep or ())
    text = schema_text(found.schema, out_file)
    if out_file is not None:
        write_new({out_file: text}, PRIVATE)
    elif not as_json:
        print(text, end="")
    if as_json:
        print_json({"schema": found.schema.to_dict(), "findings": [asdict(one) for one in found.findings]})
        return
    for one in found.findings:
        err.print(f"{one.column}: {one.proposal}. {one.why}.", soft_wrap=True)
    stated = ", ".join(f"{key} {value!r}" for key, value in reading.model_dump(exclude_defaults=True).items())
    if stated:
        err.print(f"The file is read with {stated}, as the schema states under 'read'.", soft_wrap=True)
    err.print(
        "Note: every category, bound and null value in this draft was taken from the data and is marked 'observed'. "
        "Publishing them can reveal persons (a rare category, an extreme value). Replace them by what is known in "
        "public (sfumato schema edit asks, column by column), and leave out what nobody needs; a run refuses observed "
        "domains that nobody accepted by name.",
        soft_wrap=True,
    )


def schema_text(schema: Schema, file: Path | None) -> str:
    """A schema as the ending of its file says: YAML, or else JSON."""
    if file is not None and file.suffix not in (".json", ".yaml", ".yml"):
        raise SchemaError(f"schema file {str(file)!r} has no known ending; give a .json, .yaml or .yml file")
    if file is not None and file.suffix != ".json":
        return yaml.safe_dump(schema.to_dict(), allow_unicode=True, sort_keys=False, width=120)
    return json_text(schema.to_dict()) + "\n"
