"""`sfumato schema check` and `sfumato schema draft`."""

from __future__ import annotations

import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

from sfumato import tables
from sfumato.cli.console import JsonOption, err, explained, out, print_json
from sfumato.cli.schema_text import schema_text
from sfumato.errors import DataError, IntakeWarning
from sfumato.files import PRIVATE, check_new, write_new
from sfumato.fitting import check_fits
from sfumato.intake.checking import Problem, problems
from sfumato.intake.codec import SchemaCodec
from sfumato.schema.acceptance import observed_words
from sfumato.schema.draft import draft as draft_schema
from sfumato.schema.schema import Schema
from sfumato.text import one_line

SHOWN = 10
"""The most rows that are shown of one problem."""


@explained
def check(
    data: Annotated[Path, typer.Argument(help="The private table.")],
    schema: Annotated[Path, typer.Option(help="The public schema.")],
    show_lines: Annotated[
        bool, typer.Option("--show-lines", help="Show rows and values that do not fit, on your own terminal only.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say all that is wrong with a table. Nothing is measured and nothing is spent; no value is shown."""
    if show_lines and (as_json or not sys.stdout.isatty()):
        raise DataError(
            "--show-lines shows private values, so it writes to a terminal only, and never to a file or pipe"
        )
    public = Schema.load(schema)
    table = tables.read(data, public)
    found = list(problems(table.drop_columns([public.unit.column]) if public.unit.column else table, public))
    if found:
        _show_problems(found, table, show_lines)
    if any(one.stops for one in found):
        raise DataError(
            f"the table does not fit {str(schema)!r}:\n" + "\n".join(one.words for one in found if one.stops)
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IntakeWarning)  # it was given when the table was read before
        check_fits(data, public)
    domain = SchemaCodec(public).domain
    if as_json:
        print_json({"fits": True, "codes": dict(domain.items()), "observed": list(public.observed)})
        return
    out.print(f"The table fits {schema}: {len(domain)} columns.")
    if public.unaccepted:
        out.print(
            f"Observed in the data: {observed_words(public.unaccepted)}. Declare what is publicly known, or accept it "
            "by name."
        )


def _show_problems(found: list[Problem], table: pa.Table, lines: bool) -> None:
    """What does not stop a run; and with `lines`, the first rows of each problem with their values."""
    for one in found:
        if not one.stops:
            err.print(f"note: {one.words}.", soft_wrap=True)
        if lines:
            names = (one.column, *one.others)
            out.print(f"{', '.join(names)}: {len(one.rows):,} rows")
            for row in one.rows[:SHOWN].tolist():
                values = ", ".join(one_line(table.column(name)[row].as_py(), 60) for name in names)
                out.print(f"line {row + 2}: {values}")


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
