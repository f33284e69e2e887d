"""Rules against no rules: errors, rows that break a rule, rows drawn again, CPU seconds.

python benchmarks/rules.py FOLDER [--methods privsyn,pgm] [--epsilon 1] [--rows 30000] [--runs 3]

FOLDER holds adult.csv.gz, bank.csv.gz and their schemas; the survey is built in. All columns have the same bins with
and without rules.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

from bench.tasks import data_set_schema
from sfumato.evaluate.marginals import cliques_of, mean_total_variation
from sfumato.fitting import fit
from sfumato.intake.attributes import Attributes
from sfumato.intake.codec import SchemaCodec
from sfumato.intake.ruled import Ruled
from sfumato.pipeline import Guarantee
from sfumato.recipes import RECIPES
from sfumato.schema.schema import Schema
from sfumato.survey import simulate, survey_schema_text
from sfumato.synthesize.repair import broken

MARRIED = ["Married-civ-spouse", "Married-AF-spouse"]
IDLE = [None, "Never-worked"]
RULES: dict[str, list[dict[str, Any]]] = {
    "adult": [
        {"if": {"relationship": ["Husband"]}, "then": {"sex": ["Male"], "marital-status": MARRIED}},
        {"if": {"relationship": ["Wife"]}, "then": {"sex": ["Female"], "marital-status": MARRIED}},
        {"missing": "occupation", "iff": {"workclass": IDLE}},
        {"if": {"age": {"below": 19}}, "then": {"education-num": {"max": 12}}},
    ],
    "bank": [
        {"if": {"previous": [0]}, "then": {"poutcome": ["nonexistent"], "pdays": [999]}},
        {"if": {"previous": {"min": 1}}, "then": {"poutcome": ["failure", "success"]}},
        {"if": {"duration": [0]}, "then": {"y": ["no"]}},
        {"if": {"job": ["student"]}, "then": {"age": {"max": 50}}},
        {"if": {"job": ["retired"]}, "then": {"age": {"min": 20}}},
    ],
}


def table_of(name: str, folder: Path, rows: int) -> tuple[pa.Table, dict[str, Any]]:
    """A table and the keys of its schema, with rules."""
    if name == "survey":
        return simulate(rows), json.loads(survey_schema_text())
    keys = data_set_schema(folder / f"{name}.schema.json").to_dict()
    rules = list(RULES[name])
    if name == "adult":
        levels = next(column["categories"] for column in keys["columns"] if column["name"] == "education")
        values = {level: number for number, level in enumerate(levels, 1)}
        rules.append({"determines": ["education", "education-num"], "values": values})
    kinds = csv.ConvertOptions(column_types={column["name"]: pa.string() for column in keys["columns"]})
    table = csv.read_csv(folder / f"{name}.csv.gz", convert_options=kinds)
    known = [column["name"] for column in keys["columns"]]
    return table.select(known).slice(0, rows), keys | {"rules": rules}


def measure(name: str, method: str, arguments: argparse.Namespace) -> None:
    """Print one line for a table and a method, without rules and with them."""
    table, keys = table_of(name, arguments.folder, arguments.rows)
    ruled = Schema.parse(keys)
    checks, codec = Ruled(ruled).checks, SchemaCodec(ruled)
    # The few rows that break a rule would count as others: they are left out, with rules and without.
    table = table.filter(pa.array(~broken(Attributes(ruled).encode(codec.encode(table)), checks)))
    real = codec.encode(table)
    said = [clique for clique in cliques_of(real.domain, 2) if any(set(clique) <= set(one.clique) for one in checks)]
    delta = None if RECIPES[method].guarantee is Guarantee.PURE else 1e-6
    for label, schema in (("without", Schema.parse({**ruled.to_dict(), "rules": []})), ("with", ruled)):
        figures = []
        for run in range(arguments.runs):
            started = process_time()
            release = fit(table, schema, epsilon=arguments.epsilon, delta=delta, method=method)
            drawing = release._drawing(len(table))
            made = codec.encode(pa.concat_tables(drawing.blocks(run)))
            seconds = process_time() - started
            errors = [mean_total_variation(real, made, cliques) for cliques in (cliques_of(real.domain, 2), said)]
            figures.append(
                [*errors, broken(Attributes(ruled).encode(made), checks).mean(), drawing.tally.share, seconds]
            )
        pairs, ruled_pairs, breaking, again, cpu = np.mean(figures, axis=0)
        print(
            f"{name:8}{method:10}{label:8} all pairs {pairs:.4f}  ruled pairs {ruled_pairs:.4f}  "
            f"break a rule {breaking:.4f}  drawn again {again:.4f}  CPU {cpu:.1f} s",
            flush=True,
        )


def main() -> None:
    """Measure all tables by all methods."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tables", default="adult,bank,survey")
    parser.add_argument("--methods", default="auto,pgm,privsyn,dpview,dpsyn,privbayes")
    parser.add_argument("--epsilon", type=float, default=1)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    for name in arguments.tables.split(","):
        for method in arguments.methods.split(","):
            measure(name, method, arguments)


if __name__ == "__main__":
    main()
