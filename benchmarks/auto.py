"""Auto beside our other methods: error of two-way and three-way tables, CPU seconds, and peak memory.

    python benchmarks/auto.py --data FOLDER --out FILE.jsonl [--sets adult,bank] [--epsilons 0.2,1,5] [--repeats 1]

FOLDER holds NAME.csv.gz and NAME.schema.json for each set. All methods know about how many rows there are, to one
digit (`rows_guess`), as a steward could say of a public population. 80 % of the rows (seed 0), delta 1e-9, bins of the
schema, all pairs and triples or 300 random ones; CPU seconds from rows in memory to synthetic rows, start-up excluded;
the most memory that the process had meanwhile, in gigabytes, with the rows and the program (on Linux).
`fresh` is what a perfect model would have that draws as many new rows: the distance of two disjoint halves, divided
by sqrt(2). FILE gets one line for each run as it ends; the same command goes on where it stopped, and prints the
table of all runs.
"""

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa

from bench.baselines import INDEPENDENT
from sfumato import tables
from sfumato.data.records import Records
from sfumato.errors import SfumatoError
from sfumato.evaluate.marginals import cliques_of, mean_total_variation
from sfumato.fitting import fit
from sfumato.intake.codec import SchemaCodec
from sfumato.recipes import RECIPES
from sfumato.schema.schema import Schema

DELTA = "1e-9"
SETS = "titanic,dutch_census,adult,bank,salary,census_income,retail,kddcup99,fire"
METHODS = "auto,pgm,privsyn,dpsyn,privbayes,independent"
PURE = "auto without delta"
FORGET, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


def training_rows(folder: Path, name: str) -> tuple[pa.Table, Schema]:
    """80 % of the rows of a set, and its schema, with a guess of the rows."""
    schema = Schema.load(folder / f"{name}.schema.json")
    if schema.unaccepted:
        schema = schema.accepting(schema.unaccepted, "the benchmark", "public data")
    table = tables.read(folder / f"{name}.csv.gz")
    schema = schema.model_copy(update={"rows_guess": int(float(f"{table.num_rows:.0e}"))})
    order = np.random.default_rng(0).permutation(table.num_rows)
    return table.take(pa.array(order[: table.num_rows * 8 // 10])), schema


def errors(real: Records, synthetic: Records) -> dict[str, float]:
    """Mean total variation of one-way, two-way and three-way tables."""
    return {
        f"{k}-way": mean_total_variation(real, synthetic, cliques_of(real.domain, k, 300, seed=1)) for k in (1, 2, 3)
    }


def fresh(real: Records) -> dict[str, float]:
    """The error of as many new rows of the same population."""
    order = np.random.default_rng(2).permutation(len(real))
    one, two = real.take(order[: len(real) // 2]), real.take(order[len(real) // 2 :])
    return {kind: value / sqrt(2) for kind, value in errors(one, two).items()}


def memory_begins() -> None:
    """Forget the peak of the memory of this process, where the system can."""
    if FORGET.exists():
        FORGET.write_text("5", encoding="ascii")


def peak_memory() -> float | None:
    """The most memory since then, in gigabytes."""
    found = re.search(r"VmHWM:\s*(\d+)", STATUS.read_text(encoding="ascii")) if STATUS.exists() else None
    return int(found[1]) / 1e6 if found else None


def run(table: pa.Table, schema: Schema, real: Records, method: str, epsilon: str) -> dict[str, Any]:
    """One run of a method, scored."""
    memory_begins()
    started = process_time()
    recipe = INDEPENDENT if method == "independent" else RECIPES[method.split()[0]]
    delta = None if method == PURE else DELTA
    try:
        release = fit(table, schema, epsilon=epsilon, delta=delta, method=recipe)
        synthetic = release.sample_arrow()
    except SfumatoError as problem:
        return {"problem": str(problem)[:80], "cpu": process_time() - started}
    cpu, memory = process_time() - started, peak_memory()
    return errors(real, SchemaCodec(schema).encode(synthetic)) | {
        "cpu": cpu,
        "gigabytes": memory,
        "tables": len(release.model.measurements),
    }


def lines(results: list[dict[str, Any]]) -> Iterator[str]:
    """The table of all runs, as Markdown: two-way / three-way error (CPU seconds), means over runs."""
    groups: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for one in results:
        groups[one["set"], one["epsilon"]][one["method"]].append(one)
    methods = list(dict.fromkeys(one["method"] for one in results if one["method"] != "fresh"))
    yield f"| set | ε | {' | '.join(methods)} | fresh |"
    yield "|---" * (len(methods) + 3) + "|"
    for (name, epsilon), runs in groups.items():
        if epsilon:
            cells = [_cell(runs[method]) for method in methods]
            yield f"| {name} | {epsilon} | {' | '.join(cells)} | {_cell(groups[name, '']['fresh'])} |"


def _cell(runs: list[dict[str, Any]]) -> str:
    done = [one for one in runs if "2-way" in one]
    if not done:
        return runs[0]["problem"][:30] if runs else "–"
    two, three = (np.mean([one[kind] for one in done]) for kind in ("2-way", "3-way"))
    if "cpu" not in done[0]:
        return f"{two:.4f} / {three:.4f}"
    cpu, memory = np.mean([one["cpu"] for one in done]), max(one.get("gigabytes") or 0 for one in done)
    return f"{two:.4f} / {three:.4f} ({cpu:.1f} s, {memory:.2f} GB)"


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    for option, default in (("sets", SETS), ("methods", METHODS), ("epsilons", "0.2,1,5")):
        parser.add_argument(f"--{option}", default=default, type=lambda text: text.split(","))
    parser.add_argument("--repeats", type=int, default=1)
    given = parser.parse_args()
    results = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    done = {(one["set"], one["method"], one["epsilon"], one["repeat"]) for one in results}
    for name in given.sets:
        wanted = [
            (name, method, epsilon, repeat)
            for repeat in range(given.repeats)
            for epsilon in given.epsilons
            for method in given.methods
        ]
        missing = [key for key in (*wanted, (name, "fresh", "", 0)) if key not in done]
        if not missing:
            continue
        table, schema = training_rows(given.data, name)
        real = SchemaCodec(schema).encode(table)
        for key in missing:
            found = fresh(real) if key[1] == "fresh" else run(table, schema, real, key[1], key[2])
            results.append(dict(zip(("set", "method", "epsilon", "repeat"), key, strict=True)) | found)
            with given.out.open("a") as file:
                file.write(json.dumps(results[-1]) + "\n")
    print("\n".join(lines(results)))


if __name__ == "__main__":
    main()
