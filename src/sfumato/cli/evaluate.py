"""`sfumato evaluate`: how near a synthetic table is to the real one, as a report for the house."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato import tables
from sfumato.cli.console import JsonOption, explained, out, print_json, stages
from sfumato.errors import ReleaseError
from sfumato.files import check_new
from sfumato.intake.labels import labels
from sfumato.release import Release
from sfumato.report.assessment import FAST, FULL, assess
from sfumato.report.figures import Assessment
from sfumato.report.page import INTERNAL, html_name
from sfumato.schema.schema import Schema

ALERTS = 8
"""The most alerts that are printed; the report has all."""


@explained
def evaluate(
    real: Annotated[Path, typer.Argument(help="The real table: CSV, CSV.gz or Parquet.")],
    synthetic: Annotated[Path, typer.Argument(help="The synthetic table.")],
    schema: Annotated[Path, typer.Option(help="The public schema of both: JSON or YAML.")],
    out_file: Annotated[
        Path, typer.Option("--out", help="A new .html file; figures go to .json and .figures.csv beside it.")
    ],
    release: Annotated[Path | None, typer.Option(help="The release folder, for its ledger and its stages.")] = None,
    fast: Annotated[bool, typer.Option("--fast", help="Fewer classifiers, tables and queries.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare a synthetic table with the real one. The report reads real rows: it is internal, not private."""
    figures_file = html_name(out_file).with_suffix(".json")
    check_new(out_file)
    check_new(figures_file)
    check_new(figures_file.with_suffix(".figures.csv"))
    public = Schema.load(schema)
    released = None if release is None else Release.load(release)
    if released is not None and _values(released.schema) != _values(public):
        raise ReleaseError(
            f"the release in {str(release)!r} has other columns or values; give the schema.json of that folder"
        )
    with stages((FAST if fast else FULL).steps + 3) as show:
        show("read")
        found = assess(tables.read(real, public), tables.read(synthetic, public.plain), public, released, fast, show)
        show("write")
        found.save(out_file)
        show("done")
    if as_json:
        print_json(summary(found, out_file, figures_file))
        return
    out.print(f"{out_file} ({INTERNAL.words}), figures in {figures_file}")
    for one in found.verdicts:
        out.print(f"{one.use}: {one.grade} ({one.words}).", soft_wrap=True)
    for alert in found.alerts[:ALERTS]:
        out.print(f"alert: {alert.words}.", soft_wrap=True)
    if len(found.alerts) > ALERTS:
        out.print(f"… and {len(found.alerts) - ALERTS} alerts more, in the report.")
    errors = ", ".join(f"{one.columns}-way {one.mean:.4f}" for one in found.tables)
    out.print(f"Total variation distance (0 equal, 1 disjoint): {errors}; range queries {found.range_error:.4f}.")
    if found.classifiers.left_out:
        out.print(f"Classifiers were left out: {found.classifiers.left_out}.")


def summary(found: Assessment, report: Path, figures: Path) -> dict[str, Any]:
    """What a run found, for programs; the file of figures has all of it."""
    return {
        "stamp": found.to_dict()["stamp"],
        "report": str(report),
        "figures": str(figures),
        "total_variation": {str(one.columns): one.mean for one in found.tables},
        "range_error": found.range_error,
        "verdicts": {one.use: one.grade for one in found.verdicts},
        "alerts": [one.words for one in found.alerts],
        "association_error": found.association_error,
        "classifiers": len(found.classifiers.trained_on_synthetic),
        "classifiers_left_out": found.classifiers.left_out,
    }


def _values(schema: Schema) -> list[tuple[str, list[str]]]:
    """What two schemas must share for their codes to mean the same; notes and sources may differ."""
    return [(column.name, labels(column)) for column in schema.columns]
