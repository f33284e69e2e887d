"""Methods side by side on public data: every run is the command line in a process of its own.

    python benchmarks/compare.py --data FOLDER --sets adult census_income kddcup99 --methods dpview dpview+ \
        --epsilons 0.1 0.2 0.5 1 2 --repeats 3 --out results.jsonl

80 % of the rows are released (seed 0), the rest is for testing classifiers. One line of JSON for each run, appended
as it ends; a run that is in the file already is not run again. Recorded: CPU seconds and peak memory of the
process, mean total variation of one-, two- and three-way tables (at most 300, in the schema's bins), mean error of
1000 random range queries over three columns, and accuracy of classifiers trained on 3,000 of the synthetic rows.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato import tables
from sfumato.data.records import Records
from sfumato.data.schema import Schema
from sfumato.encode.codec import SchemaCodec
from sfumato.evaluate.classifiers import majority, scores
from sfumato.evaluate.marginals import cliques_of, mean_total_variation
from sfumato.evaluate.ranges import RangeQuery, random_ranges
from sfumato.recipes import recipe_named

DELTA = "1e-9"
CLASSIFIERS = ("decision tree", "logistic regression", "support vector machine", "LightGBM")


@dataclass(frozen=True)
class Task:
    """A data set, split, with the questions that all methods are asked about it."""

    schema: Schema
    ordered: frozenset[str]
    train: Records
    test: Records
    queries: list[RangeQuery]
    shares: list[float]

    @classmethod
    def load(cls, folder: Path, name: str, scratch: Path) -> "Task":
        """Read a data set and write its training rows to `scratch`."""
        schema = Schema.load(folder / f"{name}.schema.json")
        table = tables.read(folder / f"{name}.csv.gz")
        order = np.random.default_rng(0).permutation(table.num_rows)
        cut = table.num_rows * 8 // 10
        train = table.take(pa.array(order[:cut]))
        tables.write(train, scratch / f"{name}.csv", schema)
        codec = SchemaCodec(schema)
        ordered = frozenset(column.name for column in schema.columns if column.is_ordered)
        test = codec.encode(table.take(pa.array(order[cut:])))
        real = codec.encode(train)
        queries = random_ranges(codec.domain, ordered, 1000, seed=1)
        return cls(schema, ordered, real, test, queries, [query.share(real) for query in queries])

    def measure(self, synthetic: Records, seed: int) -> dict[str, Any]:
        """All scores of some rows."""
        found: dict[str, Any] = {}
        for k in (1, 2, 3):
            cliques = [c for c in cliques_of(self.train.domain, k, 300, seed=1) if self.train.domain.cells(c) <= 10**7]
            found[f"{k}-way"] = mean_total_variation(self.train, synthetic, cliques)
        shares = [query.share(synthetic) for query in self.queries]
        found["range"] = float(np.mean(np.abs(np.array(shares) - self.shares)))
        if self.schema.label:
            for score in scores(
                synthetic, self.test, self.schema.label, self.ordered, CLASSIFIERS, rows=3000, seed=seed
            ):
                found[score.classifier] = score.accuracy
            found["accuracy"] = float(np.mean([found[name] for name in CLASSIFIERS]))
        return found


def released(
    task: Task, name: str, scratch: Path, folder: Path, method: str, epsilon: str
) -> tuple[Records, dict[str, Any]]:
    """Run the command line; return its synthetic rows and what the process took."""
    out = scratch / "release"
    command = [str(Path(sys.executable).with_name("sfumato")), "synthesize", str(scratch / f"{name}.csv")]
    command += ["--schema", str(folder / f"{name}.schema.json"), "--epsilon", epsilon, "--method", method]
    command += ["--out", str(out), "--accept-observed-domain", "--json"]
    if recipe_named(method).guarantee != "epsilon":
        command += ["--delta", DELTA]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    runner = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )  # a process of its own, so that the peak is this run's and not that of an earlier one
    peak = subprocess.run([sys.executable, "-c", runner, *command], check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    synthetic = SchemaCodec(task.schema).encode(tables.read(out / "synthetic.csv"))
    subprocess.run(["rm", "-rf", str(out)], check=True)  # noqa: S607
    return synthetic, {"cpu_seconds": cpu, "peak_gigabytes": int(peak.stdout) / 2**20}


def main() -> None:
    """Run what is missing in the results file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=["adult"])
    parser.add_argument("--methods", nargs="+", required=True)
    parser.add_argument("--epsilons", nargs="+", default=["1"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    done = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    keys = {(row["set"], row["method"], row["epsilon"], row["repeat"]) for row in done}
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.sets:
            task = Task.load(options.data, name, Path(scratch))
            plan = [("real rows", "", 0)]
            plan += [(m, e, r) for e in options.epsilons for m in options.methods for r in range(options.repeats)]
            for method, epsilon, repeat in plan:
                if (name, method, epsilon, repeat) in keys:
                    continue
                row: dict[str, Any] = {"set": name, "method": method, "epsilon": epsilon, "repeat": repeat}
                if method == "real rows":
                    resampled = task.train.take(np.random.default_rng(2).integers(0, len(task.train), len(task.train)))
                    row |= task.measure(resampled, repeat)
                    row |= {"majority": majority(task.test, task.schema.label)} if task.schema.label else {}
                else:
                    synthetic, costs = released(task, name, Path(scratch), options.data, method, epsilon)
                    row |= costs | task.measure(synthetic, repeat)
                with options.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(
                    {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()},
                    flush=True,
                )


if __name__ == "__main__":
    main()
