"""`sfumato sample`: more rows from a release, free of charge."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.console import JsonOption, explained, print_json, print_rows
from sfumato.cli.synthesizing import check_drawing
from sfumato.errors import ReleaseError, SchemaError
from sfumato.files import check_new
from sfumato.recipes import synthesizer_named
from sfumato.release import Release
from sfumato.schema.conditions import conditions_of


@explained
def sample(
    folder: Annotated[Path, typer.Argument(help="A release folder.")],
    rows: Annotated[
        int | None, typer.Option(help="Rows to draw; by default the estimate of the private table's own.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the drawing.")] = None,
    out_file: Annotated[Path | None, typer.Option("--out", help="A new .csv, .csv.gz or .parquet file.")] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(help="Only rows with this: COLUMN=VALUE, COLUMN=LOW..HIGH, or COLUMN= for missing; repeatable."),
    ] = None,
    synthesizer: Annotated[
        str | None, typer.Option(help="What makes rows: gradual-update, min-cost-flow, sorted-views or graphical.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Draw synthetic rows from a release, to a file or (as CSV) to standard output."""
    check_drawing(rows, seed, "csv")
    if out_file is not None:
        check_new(out_file)
    if as_json and out_file is None:
        raise ReleaseError("--json and CSV would both go to standard output; give --out")
    release = Release.load(folder)
    if synthesizer is not None:
        recipe = replace(release.recipe, synthesize=synthesizer_named(synthesizer))
        release = replace(release, recipe=recipe)
    wanted = wishes(given or [])
    if out_file is not None:
        release.write(out_file, rows, seed, wanted)
        if as_json:
            print_json({"file": str(out_file), "rows": release.rows if rows is None else rows})
        return
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "sample.csv"
        release.write(file, rows, seed, wanted)
        print_rows(file.read_text(encoding="utf-8"))


def wishes(texts: Sequence[str]) -> dict[str, Any]:
    """What `--given` says of each column; several values of one column are a list of them."""
    pairs = []
    for text in texts:
        column, sign, value = text.partition("=")
        if not sign or not column:
            raise SchemaError(f"--given {text!r} has no column; write COLUMN=VALUE or COLUMN=LOW..HIGH")
        pairs.append((column, value))
    return conditions_of(pairs)
