"""`sfumato synthesize`: from a private table to a release folder."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from sfumato.cli.console import JsonOption, err, explained, out, print_json, stages
from sfumato.files import check_new


@explained
def synthesize(
    data: Annotated[
        str,
        typer.Argument(
            help="The private table: a CSV, Parquet, Excel or Arrow file, a folder, "
            "postgresql://host/database/table or spark:///database.table."
        ),
    ],
    schema: Annotated[Path, typer.Option(help="The public schema: JSON or YAML.")],
    epsilon: Annotated[str, typer.Option(help="The privacy budget, for example 1.")],
    out_folder: Annotated[Path, typer.Option("--out", help="The release folder, which must not exist yet.")],
    delta: Annotated[str | None, typer.Option(help="The probability that epsilon may fail, for example 1e-9.")] = None,
    method: Annotated[str, typer.Option(help="The method; `sfumato methods` lists them.")] = "auto",
    views: Annotated[Path | None, typer.Option(help="A JSON file of views to measure, with weights.")] = None,
    synthesizer: Annotated[
        str | None, typer.Option(help="What makes rows: gradual-update, min-cost-flow, sorted-views or graphical.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="Rows to draw; by default the noisy estimate of the table's own.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the drawing. Noise can never be seeded.")] = None,
    format: Annotated[str, typer.Option(help="csv or parquet.")] = "csv",
    accept_observed: Annotated[
        list[str] | None,
        typer.Option(help="A column whose domain was read off the data and may be public; once for each."),
    ] = None,
    accepted_by: Annotated[str | None, typer.Option(help="Who says so; it is published.")] = None,
    reason: Annotated[str | None, typer.Option(help="Why the domains may be public; it is published.")] = None,
    sign: Annotated[Path | None, typer.Option(help="The file of your private key, to sign the release.")] = None,
    book: Annotated[Path | None, typer.Option(help="The book whose population pays for this run.")] = None,
    population: Annotated[str | None, typer.Option(help="The population in the book.")] = None,
    proposal: Annotated[int | None, typer.Option(help="The number of the approved proposal that this run is.")] = None,
    engine: Annotated[
        str, typer.Option(help="Where rows are counted: memory, spool (on disk), sql (in their database) or auto.")
    ] = "auto",
    yes: Annotated[
        str | None,
        typer.Option(metavar="REASON", help="Go on with an unusual budget or one that drowns, and why; published."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a differentially private synthetic table from a private one."""
    # On demand: the help needs none of it, and loading it takes longer than showing the help.
    from sfumato.cli.book import payment_for
    from sfumato.cli.synthesizing import STAGES, accepting, check_drawing, foretell, summary
    from sfumato.fitting import run_job
    from sfumato.identity import Signer
    from sfumato.job import Job, recipe_of, with_reason
    from sfumato.privacy.budget import budget_of
    from sfumato.release import storage
    from sfumato.release.manifest import manifest_hash
    from sfumato.schema.acceptance import counted
    from sfumato.schema.schema import Schema
    from sfumato.verify.signing import sign as sign_release

    started = perf_counter()
    # Everything that can be refused without the rows is refused before any budget is spent.
    check_drawing(rows, seed, format)
    check_new(out_folder, "a release")
    signer = None if sign is None else Signer.load(sign)
    recipe, budget = recipe_of(method, views, synthesizer), budget_of(epsilon, delta)
    public = with_reason(Schema.load(schema), budget, yes)
    job = Job(accepting(public, accept_observed, accepted_by, reason), recipe, budget)
    job, foreseen = foretell(job, for_people=not as_json, reason=yes)
    with payment_for(job, book, population, proposal, out_folder.name) as payment, stages(STAGES) as show:

        def progress(stage: str) -> None:
            if payment is not None:
                payment.progress(stage)
            show(stage)

        release = run_job(job, data, progress, engine)
        show("synthesize")
        paid = None if payment is None else payment.receipt
        release.save(out_folder, rows=rows, seed=seed, format=format, book=paid)
        if signer is not None:
            sign_release(out_folder, signer)
        if payment is not None:
            payment.finish(manifest_hash(out_folder))
        show("done")
    report = summary(release, out_folder, rows, perf_counter() - started) | {"foreseen": list(foreseen)}
    if as_json:
        print_json(report)
        return
    out.print(f"{report['folder']}: {report['rows']:,} synthetic rows by {release.method} in {report['seconds']} s")
    out.print(f"Guarantee: {report['guarantee']}.")
    if release.schema.observed:
        out.print(
            f"NOT FULLY PROTECTED: {counted(release.schema.observed)} read from the data, and no noise covers that."
        )
    if job.schema.rules:
        redrawn = storage.read_json(out_folder / "release.json")["rules"]["share_of_rows_drawn_again"]
        out.print(
            f"Rules: {len(job.schema.rules)} hold in every row; {redrawn:.1%} of the rows were drawn again for them."
        )
    if release.persons is not None:
        out.print(f"Persons: {release.persons.sentence()}.")
    out.print(
        f"{report['noisy_tables']} noisy tables; the ledger has {report['events']} events: sfumato ledger {out_folder}"
    )
    for warning in release.warnings:
        err.print(f"warning: {warning}.", soft_wrap=True)
