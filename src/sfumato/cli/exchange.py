"""`sfumato schema import` and `sfumato schema export`: schemas of other tools."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.console import JsonOption, explained, print_json
from sfumato.files import check_new, write_new
from sfumato.schema.exchange import EXPORTS, IMPORTS, export_schema, import_schema
from sfumato.schema.schema import Schema
from sfumato.text import json_text, one_line


@explained
def import_(
    file: Annotated[Path, typer.Argument(help="The schema file of another tool.")],
    form: Annotated[str, typer.Option("--from", help=f"Which tool: {', '.join(IMPORTS)}.")],
    out_file: Annotated[
        Path | None, typer.Option("--out", help="A new .json file; by default standard output.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a schema of another tool's. Its domains are unconfirmed: a person must say that they are public."""
    carried = import_schema(file, form)
    if as_json:
        if out_file is not None:
            _write(json_text(carried.keys) + "\n", out_file)
        print_json({"schema": carried.keys, "not_carried_over": list(carried.lost), "to_fill_in": list(carried.open)})
        return
    _write(json_text(carried.keys) + "\n", out_file)
    _tell("not carried over", carried.lost)
    _tell("to fill in", carried.open)


@explained
def export(
    schema: Annotated[Path, typer.Argument(help="The public schema.")],
    form: Annotated[str, typer.Option("--to", help=f"Which tool: {', '.join(EXPORTS)}.")],
    out_file: Annotated[Path | None, typer.Option("--out", help="A new file; by default standard output.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a schema in the words of another tool."""
    exported = export_schema(Schema.load(schema), form)
    if as_json:
        if out_file is not None:
            _write(exported.text, out_file)
        print_json({"text": exported.text, "not_carried_over": list(exported.lost)})
        return
    _write(exported.text, out_file)
    _tell("not carried over", exported.lost)


def _write(text: str, out_file: Path | None) -> None:
    if out_file is None:
        sys.stdout.write(text)
        return
    check_new(out_file)
    write_new({out_file: text})


def _tell(words: str, sentences: Iterable[str]) -> None:
    for sentence in sentences:
        print(f"{words}: {one_line(sentence)}", file=sys.stderr)
