"""`sfumato demo`: the whole way on a built-in, simulated survey."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from rich.table import Table
from rich.text import Text

from sfumato import kernels, tables
from sfumato.cli.console import JsonOption, explained, out, print_json, stages
from sfumato.cli.curate import traffic_table
from sfumato.cli.party_demo import play
from sfumato.cli.synthesizing import STAGES, summary
from sfumato.data.records import Records
from sfumato.evaluate.marginals import cliques_of, mean_total_variation
from sfumato.files import check_new, write_new
from sfumato.fitting import fit
from sfumato.intake.codec import SchemaCodec
from sfumato.intake.labels import labels
from sfumato.release import Release
from sfumato.schema.schema import Schema

EPSILON, DELTA = "1", "1e-9"


@explained
def demo(
    out_folder: Annotated[Path, typer.Option("--out", help="The release folder, which must not exist yet.")] = Path(
        "demo-release"
    ),
    parties: Annotated[
        int | None, typer.Option(help="Split the survey among this many parties, each a process of its own.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the drawing. Noise can never be seeded.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Release a simulated survey of 30,000 people, and compare the synthetic table with the simulated one."""
    survey_file, schema_file = (out_folder.with_name(f"{out_folder.name}-survey.{end}") for end in ("csv", "json"))
    check_new(out_folder, "a release")
    for file in (survey_file, schema_file):
        check_new(file)
    from sfumato.survey import simulate, survey_schema_text  # on demand: no other command needs it

    schema = Schema.parse(json.loads(survey_schema_text()))
    survey = simulate()
    tables.write(survey, survey_file, schema)
    write_new({schema_file: survey_schema_text()})
    if parties is not None and not as_json:
        out.print(f"A curator and {parties} parties start as processes of their own and talk over HTTPS …")
    release, study = _released(parties, survey, schema, out_folder, seed)
    codec = SchemaCodec(schema)
    real, synthetic = codec.encode(survey), codec.encode(tables.read(out_folder / "synthetic.csv"))
    errors = {k: mean_total_variation(real, synthetic, cliques_of(real.domain, k, 120)) for k in (1, 2, 3)}
    report = summary(release, out_folder, None, 0) | {"total_variation": errors}
    del report["seconds"]
    report |= study
    if as_json:
        print_json(report)
        return
    out.print(f"{out_folder}: {release.rows:,} synthetic people from a survey of {len(real):,} simulated ones.")
    if not kernels.COMPILED:
        out.print(
            "The kernels are not compiled, so this took longer than it needs to: there was no C compiler when Sfumato "
            "was installed. Install a wheel, or a compiler and then Sfumato again."
        )
    out.print(f"Guarantee: {report['guarantee']}.")
    if study:
        out.print(traffic_table(study["traffic"]))
    out.print(_side_by_side(real, synthetic, schema, "employment"))
    out.print(
        "Distance between real and synthetic tables (0 equal, 1 disjoint): "
        + ", ".join(f"{k}-way {error:.3f}" for k, error in errors.items())
    )
    out.print("(these figures compare with the survey itself; they may be shown only because it is simulated)")
    program = "sfumato" if shutil.which("sfumato") else sys.argv[0]
    out.print(f"The survey and its schema are in {survey_file} and {schema_file}. Next:")
    out.print(f"{program} ledger {out_folder}", soft_wrap=True)
    out.print(f"{program} sample {out_folder} --rows 5", soft_wrap=True)
    out.print(f"{program} card {out_folder}", soft_wrap=True)
    out.print(
        f"{program} synthesize {survey_file} --schema {schema_file} --epsilon 1 --delta 1e-9 --out {out_folder}-2",
        soft_wrap=True,
    )


def _released(
    parties: int | None, survey: pa.Table, schema: Schema, out_folder: Path, seed: int | None
) -> tuple[Release, dict[str, Any]]:
    """The release of a survey, by one holder or by many; and what the study of many has to report."""
    if parties is not None:
        study = play(parties, survey, schema, EPSILON, out_folder, seed)
        return Release.load(out_folder), {key: study[key] for key in ("seconds", "traffic", "spent")}
    with stages(STAGES) as show:
        release = fit(survey, schema, epsilon=EPSILON, delta=DELTA, progress=show)
        show("synthesize")
        release.save(out_folder, seed=seed)
        show("done")
    return release, {}


def _side_by_side(real: Records, synthetic: Records, schema: Schema, column: str) -> Table:
    """The share of each value of a column in both tables, with a bar."""
    table = Table(column, "survey", "synthetic", "", title=f"{column}: share of people")
    one, two = (records.project((column,)).counts / max(len(records), 1) for records in (real, synthetic))
    for label, a, b in zip(labels(schema[column]), one, two, strict=True):
        table.add_row(label, f"{a:.1%}", f"{b:.1%}", Text("█" * round(60 * b), style="blue"))
    return table
