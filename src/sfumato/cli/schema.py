"""`sfumato schema check` and `sfumato schema draft`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sfumato import tables
from sfumato.cli.console import JsonOption, explained, out, print_json
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
        Path | None, typer.Option("--out", help="A new .json file; by default standard output.")
    ] = None,
) -> None:
    """Draft a schema by looking at a table. The draft is NOT private: a person must confirm every column."""
    if out_file is not None:
        check_new(out_file)
    name = data.name.split(".")[0]
    text = json_text(draft_schema(tables.read(data), name).to_dict())
    if out_file is None:
        print(text)
    else:
        write_new({out_file: text + "\n"}, PRIVATE)
    print(
        "note: every category, bound and null value in this draft was taken from the data and is marked 'observed'. "
        "Publishing them can reveal persons (a rare category, an extreme value). Replace them by what is known in "
        "public, and set 'domain_from' to 'declared'; a run refuses observed domains unless "
        "--accept-observed-domain is given.",
        file=sys.stderr,
    )
