"""Rehearsals against the truth: what `sfumato plan` would have said about public tables, beside what came of them.

    python benchmarks/rehearsal.py --data FOLDER [--method auto] [--epsilons 0.2,1,5] [--sets adult,bank,survey]

Prints, for each table and epsilon, the rehearsed range of the error of single columns and of pairs, and the error of a
real run. Tables of more than 50,000 rows are cut to 50,000, for speed: of these, the truth is that of the part.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pyarrow as pa

import sfumato
from sfumato import tables
from sfumato.job import Job, recipe_of
from sfumato.planning.rehearsal import rehearse
from sfumato.privacy.budget import budget_of
from sfumato.survey import simulate, survey_schema_text

SETS = ("survey", "titanic", "dutch_census", "adult", "bank", "salary", "retail", "census_income", "kddcup99", "fire")
MOST = 50_000


def load(name: str, folder: Path) -> tuple[sfumato.Schema, pa.Table]:
    """A table and its schema."""
    if name == "survey":
        return sfumato.Schema.parse(json.loads(survey_schema_text())), simulate()
    keys = json.loads((folder / f"{name}.schema.json").read_text())
    for column in keys["columns"]:
        column["domain_from"] = "declared"  # these rows are public, and so is what was seen in them
        column.pop("binned_from", None)
    schema = sfumato.Schema.parse(keys)
    table = tables.read(folder / f"{name}.csv.gz", schema)
    if table.num_rows > MOST:
        table = table.take(np.sort(np.random.default_rng(0).choice(table.num_rows, MOST, replace=False)))
    return schema, table


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--method", default="auto")
    parser.add_argument("--epsilons", default="0.2,1,5")
    parser.add_argument("--sets", default=",".join(SETS))
    given = parser.parse_args()
    heads = ("table", "rows", "ε", "one column: real", "rehearsed", "two columns: real", "rehearsed")
    print("| " + " | ".join((*heads, "CPU seconds: real", "rehearsed")) + " |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in given.sets.split(","):
        schema, table = load(name, given.data)
        for epsilon in given.epsilons.split(","):
            job = Job(schema, recipe_of(given.method), budget_of(epsilon, "1e-9"))
            truth = next(rehearse(job, table.num_rows, (Given(table),), measure_memory=False))
            made = list(rehearse(job, table.num_rows, measure_memory=False))
            ones, pairs = [one.one_way for one in made], [one.pairs for one in made]
            seconds = [one.seconds for one in made]
            print(
                f"| {name} | {table.num_rows:,} | {epsilon} | {truth.one_way:.4f} | {min(ones):.4f}–{max(ones):.4f} "
                f"| {truth.pairs:.4f} | {min(pairs):.4f}–{max(pairs):.4f} "
                f"| {truth.seconds:.1f} | {min(seconds):.1f}–{max(seconds):.1f} |",
                flush=True,
            )


class Given:
    """A population that is known: the rows of a public table."""

    def __init__(self, rows: pa.Table):
        self.rows = rows

    def table(self, schema: sfumato.Schema, rows: int, seed: int) -> pa.Table:
        """The rows."""
        return self.rows


if __name__ == "__main__":
    main()
