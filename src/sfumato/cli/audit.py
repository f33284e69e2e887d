"""`sfumato audit`: does the build that is installed here keep its promise?"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from sfumato.audit import audit, mutant
from sfumato.audit.audit import LIMITS
from sfumato.audit.page import audit_page
from sfumato.cli.console import JsonOption, explained, out, print_json, stages
from sfumato.errors import FileError
from sfumato.files import PRIVATE, check_new, write_new
from sfumato.schema.schema import Schema
from sfumato.text import json_text, one_line
from sfumato.verify.findings import STYLES

FAILED = 5
"""The exit code for a build that does not keep its promise."""


@explained
def audit_build(
    schema: Annotated[Path | None, typer.Option(help="Your public schema; by default the built-in survey's.")] = None,
    method: Annotated[str | None, typer.Option(help="Your method; by default all of them, on small tables.")] = None,
    level: Annotated[
        str, typer.Option(help="quick (seconds), or full (minutes): more draws, and a canary game.")
    ] = "quick",
    with_mutant: Annotated[
        str | None, typer.Option("--mutant", help="Switch a known bug on, to see the audit fail.")
    ] = None,
    out_file: Annotated[Path | None, typer.Option("--out", help="A new .html or .json file for the report.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check this build on this machine with made-up rows: encoding, replay, noise, parties, release, canary."""
    if out_file is not None:
        if out_file.suffix.lower() not in (".html", ".json"):
            raise FileError(f"report {str(out_file)!r} does not end in .html or .json; give a name that does")
        check_new(out_file)
    public = None if schema is None else Schema.load(schema)
    with ExitStack() as stack, stages(7) as show:
        bug = None if with_mutant is None else stack.enter_context(mutant(with_mutant))
        report = audit(public, method, level, show)
    content = report.to_dict() | {"mutant": with_mutant}
    if out_file is not None:
        is_page = out_file.suffix.lower() == ".html"
        write_new({out_file: audit_page(report, bug) if is_page else json_text(content) + "\n"}, PRIVATE)
    if as_json:
        print_json(content)
    else:
        table = Table("check", "result", "what was found", title="Audit of this build")
        for one in report.findings:
            table.add_row(one.check, Text(one.result.value, style=STYLES[one.result]), one_line(one.detail))
        out.print(table)
        if bug is not None:
            out.print(f"A known bug was switched on: {bug.summary}.")
        out.print("Passed." if report.passed else "FAILED: do not use this build on private rows.")
        out.print("For a person to confirm:")
        for text in (*report.to_confirm, *LIMITS):
            out.print(f"- {text}")
    if not report.passed:
        raise typer.Exit(FAILED)
