"""What `sfumato synthesize` and its kin do before and after a run: refuse, foretell, sum up."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from sfumato.cli.console import err, out
from sfumato.errors import BudgetError, DataError, ReleaseError, SchemaError
from sfumato.job import Job, with_note
from sfumato.outlook import outlook
from sfumato.release import Release
from sfumato.schema.schema import Schema

STAGES = 6
"""read, encode, learn, reconcile, synthesize, done"""


def foretell(job: Job, for_people: bool = True, reason: str | None = None) -> tuple[Job, tuple[str, ...]]:
    """Say what noise will do before anything is spent.

    If it will drown columns, a person at a terminal is asked; where nobody can be asked, the run is refused, unless
    somebody gave a reason beforehand, which is published. A budget that is spent does not come back, and a refusal
    costs nothing.
    """
    expected = outlook(job)
    for words in expected.words:
        if expected.warnings:
            err.print(f"warning: {words}.", soft_wrap=True)
        elif for_people and not out.quiet:
            err.print(f"note: {words}.", soft_wrap=True)
    if not expected.warnings:
        return job, ()
    if reason and reason.strip():
        words = f"noise was expected to drown much of it, and it was made: {reason}"
        return replace(job, schema=with_note(job.schema, words)), expected.warnings
    if not (for_people and sys.stdin.isatty() and err.is_terminal):
        raise BudgetError(
            "noise will drown what was asked for, and nobody is at a terminal to say whether to pay all the same; "
            "nothing was spent. sfumato plan shows what other budgets would buy; to go on, say why with --yes REASON"
        )
    if not typer.confirm("Spend the budget all the same?", err=True):
        raise BudgetError("you said no; nothing was spent, and sfumato plan shows what other budgets would buy")
    return job, expected.warnings


def accepting(schema: Schema, columns: list[str] | None, by: str | None, reason: str | None) -> Schema:
    """The schema with what a person accepted on the command line: columns, name and reason, or nothing."""
    if not columns and by is None and reason is None:
        return schema
    if not (columns and by and reason):
        raise SchemaError(
            "an observed domain is accepted by column, name and reason; give --accept-observed COLUMN (once for each), "
            "--accepted-by NAME and --reason TEXT together"
        )
    return schema.accepting(columns, by, reason)


def check_drawing(rows: int | None, seed: int | None, format: str) -> None:
    """Refuse a number of rows, a seed or a format that cannot be drawn."""
    if rows is not None and rows < 0:
        raise DataError(f"{rows} rows were asked for; give 0 or more")
    if seed is not None and seed < 0:
        raise DataError(f"the seed is {seed}; give 0 or more")
    if format not in ("csv", "parquet"):
        raise ReleaseError(f"format {format!r} is unknown; known formats are csv and parquet")


def summary(release: Release, folder: Path, rows: int | None, seconds: float) -> dict[str, Any]:
    """What a run did, for people and for programs."""
    return {
        "folder": str(folder),
        "method": release.method,
        "rows": release.rows if rows is None else rows,
        "guarantee": release.ledger.sentence(),
        **release.ledger.guarantee,
        "noisy_tables": len(release.model.measurements),
        "pairs_too_large": release.model.selection.too_large,
        "events": len(release.ledger.entries),
        "observed_domains_accepted": list(release.schema.observed),
        "warnings": list(release.warnings),
        **({} if release.persons is None else {"share_of_rows_cut": round(release.persons.share_cut, 4)}),
        "seconds": round(seconds, 2),
    }
