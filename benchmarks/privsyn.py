"""PrivSyn on UCI Adult: accuracy at several budgets beside two baselines, in one run; then a million rows end to end.

    python benchmarks/privsyn.py --data FOLDER [--repeats 3] [--rows 1000000] [--out FILE.json]

FOLDER holds adult.csv.gz and adult.schema.json. Tables are compared in the bins of the schema; 80 % of the rows are
used (seed 0): all 105 two-way and 300 random three-way tables. Noise is never seeded, so figures move a little
between runs.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from bench.baselines import INDEPENDENT
from bench.tasks import data_set_schema
from sfumato import tables
from sfumato.data.records import Records
from sfumato.evaluate.marginals import cliques_of, mean_total_variation
from sfumato.fitting import take_in
from sfumato.intake.codec import SchemaCodec
from sfumato.pipeline import Recipe, run
from sfumato.privacy.budget import ApproxDP
from sfumato.recipes.privsyn import PRIVSYN
from sfumato.schema.schema import Schema

DELTA = "1e-9"


def training_rows(folder: Path) -> tuple[pa.Table, Schema]:
    """80 % of Adult, and its schema."""
    schema = data_set_schema(folder / "adult.schema.json")
    table = tables.read(folder / "adult.csv.gz")
    order = np.random.default_rng(0).permutation(table.num_rows)
    return table.take(pa.array(order[: table.num_rows * 8 // 10])), schema


def synthesize(recipe: Recipe, table: pa.Table, schema: Schema, epsilon: str) -> tuple[Records, float, int]:
    """Synthetic rows in the codes of the schema, the CPU seconds they took, and how many tables were measured."""
    started = process_time()
    holder, ledger = take_in(table, schema, ApproxDP(epsilon, DELTA))
    model = run(recipe, holder, schema, ledger)
    rng = np.random.default_rng()
    records = model.recoding.decode(recipe.synthesize(model.marginals, model.selection, model.marginals.rows, rng), rng)
    return records, process_time() - started, len(model.measurements)


def accuracy(folder: Path, repeats: int) -> list[dict[str, object]]:
    """Mean total variation distances of each method at each epsilon."""
    table, schema = training_rows(folder)
    real = SchemaCodec(schema).encode(table)
    questions = {k: cliques_of(real.domain, k, 300, seed=1) for k in (1, 2, 3)}
    bootstrap = real.take(np.random.default_rng(2).integers(0, len(real), len(real)))
    rows: list[dict[str, object]] = [{"method": "resampled real rows"} | _scores(real, [bootstrap], questions)]
    for epsilon in ("0.2", "1", "5"):
        for recipe in (INDEPENDENT, PRIVSYN):
            runs = [synthesize(recipe, table, schema, epsilon) for _ in range(repeats)]
            rows.append(
                {"method": recipe.name, "epsilon": epsilon}
                | _scores(real, [records for records, _, _ in runs], questions)
                | {
                    "cpu_seconds": float(np.median([seconds for _, seconds, _ in runs])),
                    "tables": float(np.mean([count for _, _, count in runs])),
                }
            )
    return rows


def _scores(real: Records, runs: list[Records], questions: dict[int, object]) -> dict[str, object]:
    found: dict[str, object] = {}
    for k, cliques in questions.items():
        scores = [mean_total_variation(real, records, cliques) for records in runs]  # type: ignore[arg-type]
        found[f"{k}-way"] = float(np.mean(scores))
        found[f"{k}-way spread"] = float(np.std(scores))
    return found


def end_to_end(folder: Path, rows: int) -> dict[str, object]:
    """The command line on a large CSV (Adult resampled): CPU seconds and peak memory of that process."""
    table, schema = training_rows(folder)
    with tempfile.TemporaryDirectory() as scratch:
        large = table.take(pa.array(np.random.default_rng(3).integers(0, table.num_rows, rows)))
        tables.write(large, Path(scratch) / "large.csv", schema)
        (Path(scratch) / "schema.json").write_text(json.dumps(schema.to_dict()))
        command = [
            str(Path(sys.executable).with_name("sfumato")),
            *("synthesize", f"{scratch}/large.csv", "--schema", f"{scratch}/schema.json"),
            *("--epsilon", "1", "--delta", DELTA, "--out", f"{scratch}/release", "--json"),
        ]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"rows": rows, "cpu_seconds": cpu, "peak_gigabytes": after.ru_maxrss / 2**20}


def main() -> None:
    """Run everything and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    scale = end_to_end(options.data, options.rows)
    scores = accuracy(options.data, options.repeats)
    columns = ("method", "epsilon", "1-way", "2-way", "2-way spread", "3-way", "cpu_seconds", "tables")
    table = Table(*columns, title=f"Adult, 80 % of the rows, delta {DELTA}, mean of {options.repeats} runs")
    for row in scores:
        table.add_row(*(f"{row[c]:.4f}" if isinstance(row.get(c), float) else str(row.get(c, "")) for c in columns))
    console = Console(width=120)
    console.print(table)
    console.print("End to end by the command line: ", scale)
    if options.out:
        options.out.write_text(json.dumps({"accuracy": scores, "end_to_end": scale}, indent=1) + "\n")


if __name__ == "__main__":
    main()
