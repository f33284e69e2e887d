"""The scores of the NIST challenge for dpsyn and priview, with and without the schema features.

    python benchmarks/nist.py --data FOLDER --out scores.jsonl

Every release is a run of the command line in a process of its own, on all rows, with delta = 1 / rows² where the method
takes one. The rows of a release of dpsyn are made three times, by each of the synthesizers, from the same noisy tables.
One line of JSON for each; what is in the file already is not run again. `features/NAME.json` holds the keys that a
steward would add to the public schema.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.tasks import data_set_schema
from sfumato import tables
from sfumato.data.records import Records
from sfumato.evaluate.nist import density_score, range_queries, range_score
from sfumato.intake.codec import SchemaCodec

SYNTHESIZERS = ("gradual-update", "min-cost-flow", "sorted-views")


def with_features(keys: dict[str, Any], name: str) -> dict[str, Any]:
    """The schema of a data set with what its stewards know."""
    features = json.loads((Path(__file__).parent / "features" / f"{name}.json").read_text())
    columns = [{**column, **features["columns"].get(column["name"], {})} for column in keys["columns"]]
    return {**keys, **features, "columns": columns}


def timed(command: list[str]) -> dict[str, float]:
    """Run a command; the CPU seconds and the peak memory of its process."""
    child = os.spawnv(os.P_NOWAIT, command[0], command)  # noqa: S606
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(command)}")
    return {"cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_gigabytes": usage.ru_maxrss / 2**20}


class Judge:
    """Scores synthetic rows of one data set, in the codes of its public schema."""

    def __init__(self, folder: Path, name: str):
        self.schema = data_set_schema(folder / f"{name}.schema.json")
        self.real = self.coded(folder / f"{name}.csv.gz")
        columns = self.schema.columns
        ordered = frozenset(column.name for column in columns if column.is_ordered)
        nullable = frozenset(column.name for column in columns if column.nullable)
        self.queries = range_queries(self.real, ordered, nullable)

    def coded(self, path: Path) -> Records:
        """The codes of a table."""
        return SchemaCodec(self.schema).encode(tables.read(path))

    def scores(self, path: Path) -> dict[str, float]:
        """Density and range score of a synthetic table."""
        rows = self.coded(path)
        return {
            "density": density_score(self.real, rows),
            "range": range_score(self.real, rows, self.queries),
        }


def runs(judge: Judge, options: argparse.Namespace, name: str, done: set[str], scratch: Path) -> None:
    """All runs of one data set that are not done."""
    tool = str(Path(sys.executable).with_name("sfumato"))
    keys = judge.schema.to_dict()
    variants = {"no": keys}
    if (Path(__file__).parent / "features" / f"{name}.json").exists():
        variants["yes"] = with_features(keys, name)
    for features, variant in variants.items():
        schema = scratch / f"{name}-{features}.json"
        schema.write_text(json.dumps(variant))
        for epsilon in options.epsilons:
            for method in options.methods:
                if f"{name} {features} {epsilon} {method}" in done:
                    continue
                release = scratch / f"{name}-{features}-{epsilon}-{method}"
                command = [tool, "synthesize", str(options.data / f"{name}.csv.gz"), "--schema", str(schema)]
                command += ["--epsilon", epsilon, "--method", method, "--out", str(release)]
                command += ["--json"] + (["--delta", f"{len(judge.real) ** -2:.3g}"] if method == "dpsyn" else [])
                cost = timed(command)
                for synthesizer in SYNTHESIZERS if method == "dpsyn" else SYNTHESIZERS[:1]:
                    rows = release / "synthetic.csv"
                    if synthesizer != SYNTHESIZERS[0]:  # the first is the part of both methods, and has made its rows
                        rows = release / f"{synthesizer}.csv"
                        timed([tool, "sample", str(release), "--out", str(rows), "--synthesizer", synthesizer])
                    line = {"set": name, "features": features, "epsilon": epsilon, "method": method, **cost}
                    line |= {"synthesizer": synthesizer} | judge.scores(rows)
                    with options.out.open("a") as file:
                        file.write(json.dumps(line) + "\n")
                    print(line, flush=True)


def main() -> None:
    """Run what is missing in the results file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=["adult", "retail", "fire"])
    parser.add_argument("--methods", nargs="+", default=["dpsyn", "priview"])
    parser.add_argument("--epsilons", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    lines = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    done = {f"{line['set']} {line['features']} {line['epsilon']} {line['method']}" for line in lines}
    for name in options.sets:
        with tempfile.TemporaryDirectory() as scratch:
            runs(Judge(options.data, name), options, name, done, Path(scratch))


if __name__ == "__main__":
    main()
