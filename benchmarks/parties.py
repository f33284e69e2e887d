"""DP-SUBN and its rivals on UCI Adult split over many parties: figures 4 to 8 of Su et al.

    python benchmarks/parties.py --data FOLDER --out results.jsonl [--repeats 1] [--only figure4 …]

FOLDER holds adult.csv.gz and adult.schema.json. Every finished run is one line of results.jsonl; a run that was
interrupted goes on where it stopped, and more repeats are added to those that are there. At the end all tables are
printed. 80 % of the rows are split equally at random; the others test classifiers.

- figure4 (epsilon varies, 3 parties) and figure5 (the number of parties varies, epsilon 0.4): mean total variation of
  all 2-way and 300 random 3-way tables in the schema's bins; how often support vector machines that learned from
  synthetic rows are wrong about a post-secondary degree and an income above 50K. `digits` are the same figures on
  binary digits, with 300 tables of two and of three digits.
- figure6: two parties, DP-SUBN and DistDiffGen: how often classifiers are wrong.
- figure7: views that hold all pairs of columns, NOCD and PriView, at equal budget; mean total variation of all pairs.
- figure8: bytes sent in all, on 52 binary digits, and what the formula of the paper says; of DistDiffGen, the
  ciphertexts of its counts, each way, without the circuits that compare them.

All is pure epsilon but `privsyn` and `auto, with delta`, which have delta = 1e-9 beside it. Noise is never seeded.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from itertools import combinations, pairwise
from math import comb
from pathlib import Path
from time import process_time

import numpy as np
import pyarrow as pa

from bench.tasks import data_set_schema
from parties_systems import SYSTEMS, generalised, with_views
from reproductions import faithful
from sfumato import tables
from sfumato.evaluate.marginals import cliques_of, mean_total_variation
from sfumato.evaluate.tasks import Task, task_scores
from sfumato.intake.attributes import Attributes
from sfumato.intake.codec import SchemaCodec
from sfumato.job import Job as Agreed
from sfumato.learn import Known
from sfumato.learn.measure import Tables
from sfumato.learn.select.covering import Covering
from sfumato.learn.select.non_overlapping import NonOverlapping
from sfumato.parties import local
from sfumato.parties.seat import Summary
from sfumato.privacy.budget import PureDP
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.opening import open_local, open_party
from sfumato.recipes.dp_ccbn import DP_CCBN
from sfumato.recipes.dp_subn import DP_SUBN
from sfumato.reconcile.consistency import ConsistentNormSub
from sfumato.schema.schema import Schema

EPSILONS = ("0.05", "0.1", "0.2", "0.4", "0.8", "1.6")
PARTIES = (2, 3, 5, 10)
ADVANCED = frozenset(range(10, 16))
"""Codes of education from an associate degree on."""
TASKS = (
    Task("degree", "education", ADVANCED, frozenset({"education-num"})),
    Task("income", "income", frozenset({1})),
)
Values = dict[str, float]


@dataclass(frozen=True)
class Job:
    """One run: what is measured, of which system, and where."""

    figure: str
    system: str
    parties: int
    epsilon: str
    coding: str = "columns"
    repeat: int = 0


DESIGNS = {
    "nocd": DP_SUBN.learn.select.views,
    "nocd, equal parts": NonOverlapping(equal=True),
    "priview": Covering(strength=2),
}
TRAFFIC = {"dp-subn": DP_SUBN, "dp-subn, views of 4096": with_views(4096), "dp-ccbn": DP_CCBN}
ON_DIGITS = ("dp-subn, faithful", "dp-subn", "dp-ccbn, faithful", "dp-ccbn", "independent, faithful", "independent")


def jobs(repeats: int) -> Iterator[Job]:
    """All runs, the cheap ones first."""
    for repeat in range(repeats):
        for parties in PARTIES:
            for system in TRAFFIC if not repeat else ():
                if system != "dp-ccbn" or parties <= 3:  # its 22,100 tables take a CPU minute
                    yield Job("figure8", system, parties, "0.4", "digits")
        if not repeat:
            yield Job("figure8", "distdiffgen", 2, "0.4", "digits")
        for system in ("distdiffgen", "dp-subn", "dp-ccbn", "auto"):
            for epsilon in EPSILONS:
                yield Job("figure6", system, 2, epsilon, repeat=repeat)
        for system in SYSTEMS:
            for epsilon in EPSILONS if system != "resampled" else ("",):
                yield Job("figure4", system, 3, epsilon, repeat=repeat)
            for parties in PARTIES if system != "resampled" else ():
                if parties != 3:
                    yield Job("figure5", system, parties, "0.4", repeat=repeat)
        for coding in ("digits", "columns"):
            for epsilon in EPSILONS if not repeat else ():
                for system in DESIGNS:
                    yield Job("figure7", system, 1, epsilon, coding)
    for epsilon in EPSILONS:
        for system in ON_DIGITS:
            yield Job("figure4", system, 3, epsilon, "digits")


@cache
def adult(folder: Path, coding: str) -> tuple[pa.Table, pa.Table, Schema]:
    """Rows to split, rows to test with, and the schema."""
    record = data_set_schema(folder / "adult.schema.json").to_dict() | {"bitwise": coding == "digits"}
    for column in record["columns"]:
        column["domain_from"] = "declared"  # the rows of Adult are public, and so is what was seen in them
    schema = Schema.parse(record)
    table = tables.read(folder / "adult.csv.gz")
    order = np.random.default_rng(0).permutation(table.num_rows)
    cut = table.num_rows * 8 // 10
    return table.take(pa.array(order[:cut])), table.take(pa.array(order[cut:])), schema


def split(table: pa.Table, parties: int) -> list[pa.Table]:
    """Equal parts; the rows are in random order already."""
    cuts = [table.num_rows * place // parties for place in range(parties + 1)]
    return [table.slice(start, end - start) for start, end in pairwise(cuts)]


def accuracy(job: Job, folder: Path) -> Values:
    """Figures 4 and 5."""
    table, test, schema = adult(folder, job.coding)
    made = SYSTEMS[job.system](split(table, job.parties), schema, job.epsilon)
    codec = SchemaCodec(schema)
    real = codec.encode(table)
    ordered = frozenset(column.name for column in schema.columns if column.type in ("integer", "number"))
    found = {score.task.name: score.misclassified for score in task_scores(made, codec.encode(test), TASKS, ordered)}
    if job.coding == "digits":
        real, made = (Attributes(schema).encode(records) for records in (real, made))
    for k in (2, 3):
        found[f"{k}-way"] = mean_total_variation(real, made, cliques_of(real.domain, k, 300, seed=1))
    return found


def classifying(job: Job, folder: Path) -> Values:
    """Figure 6: how often classifiers are wrong. DistDiffGen makes one table for each of them."""
    if job.system != "distdiffgen":
        found = accuracy(job, folder)
        return {task.name: found[task.name] for task in TASKS}
    table, test, schema = adult(folder, job.coding)
    ordered = frozenset(column.name for column in schema.columns if column.type in ("integer", "number"))
    found, groups = {}, {}
    for task in TASKS:
        made = generalised(split(table, 2), schema, job.epsilon, task)
        rows = Attributes(schema).decode(made.sample())
        (score,) = task_scores(rows, SchemaCodec(schema).encode(test), (task,), ordered)
        found[task.name], groups[f"cells, {task.name}"] = score.misclassified, made.table.domain.cells()
    return found | groups


def covering(job: Job, folder: Path) -> Values:
    """Figure 7: all views with Laplace noise, made to agree or not, and all pairs of columns that lie in one."""
    table, _, schema = adult(folder, job.coding)
    ledger = Ledger(PureDP(job.epsilon), str(Neighbours.of(schema)))
    holder, share = open_local(table, schema, ledger), PureDP(job.epsilon).total
    selection = DESIGNS[job.system](holder, Known(), share.part(0), share).selection
    measured = Tables()(holder, selection, share)
    alone = faithful.clipped(holder.domain, measured)
    agreed = ConsistentNormSub()(holder.domain, measured, selection)
    real = Attributes(schema).encode(SchemaCodec(schema).encode(table))
    pairs = [pair for pair in combinations(real.domain, 2) if any(set(pair) <= set(one) for one in agreed.cliques)]
    cells = sum(map(holder.domain.cells, selection.cliques))
    distances = {"alone": mean_total_variation(real, alone, pairs), "agreed": mean_total_variation(real, agreed, pairs)}
    return distances | {"pairs": len(pairs), "views": len(agreed.tables), "cells": cells}


def traffic(job: Job, folder: Path) -> Values:
    """Figure 8: bytes in all and by round. Without hours-per-week, Adult has 52 binary digits, as in the paper."""
    table, _, schema = adult(folder, "digits")
    record = schema.to_dict()
    record["columns"] = [column for column in record["columns"] if column["name"] != "hours-per-week"]
    schema = Schema.parse(record)
    parts = split(table.drop_columns(["hours-per-week"]), job.parties)
    if job.system == "distdiffgen":
        made = [generalised(parts, schema, job.epsilon, task) for task in TASKS]
        return {"all": sum(one.sent for one in made)}
    recipe = TRAFFIC[job.system]
    budget = PureDP(job.epsilon)
    holders = [open_party(part, schema) for part in parts]
    rounds: dict[str, float] = {}
    degrees: dict[int, int] = {}

    def note(summary: Summary) -> bool:
        rounds[f"round {summary.round}"] = job.parties * summary.bytes
        degrees[summary.round] = max(one.columns.count("×") for one in summary.tables)
        return True

    outcome = local.run(Agreed(schema, recipe, budget), holders, approve=note)
    sent = {kind: sum(one.get(kind, 0) for one in outcome.sent.values()) for kind in ("share", "ask", "key", "roster")}
    last = degrees[max(degrees)]
    found = rounds | sent | {"all": sum(sum(one.values()) for one in outcome.sent.values()), "k": last}
    if job.system == "dp-ccbn":
        return found | {"formula": formula_ccbn(52, job.parties, last)}
    return found | {"k'": degrees[1], "formula": formula_subn(52, job.parties, last, degrees[1])}


def formula_subn(columns: int, parties: int, k: int, wide: int, view: int = 6) -> float:
    """Bytes that DP-SUBN sends by the paper's formula, with its ciphertexts of 1024 bits and views of 6 columns."""
    views = comb(columns, 2) / comb(view, 2)
    items = (columns - 1) * 2 ** (wide + 2) + views * 2 ** (view + 2) + (columns - k) * 2 ** (k + 2)
    return parties * 128 * items


def formula_ccbn(columns: int, parties: int, k: int) -> float:
    """Bytes that DP-CCBN sends by the paper's formula."""
    return parties * 128 * (columns * comb(columns, k + 1) + columns - k) * 2 ** (k + 2)


def run(job: Job, folder: Path) -> Values:
    """The figures of one run, and its CPU seconds."""
    started = process_time()
    measure = {"figure6": classifying, "figure7": covering, "figure8": traffic}.get(job.figure, accuracy)
    found = measure(job, folder)
    return found | {"cpu_seconds": process_time() - started}


def load(file: Path) -> dict[Job, Values]:
    """The runs that are in a file already."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    found = [json.loads(line) for line in lines]
    return {Job(**one["job"]): one["found"] for one in found}


def show(results: dict[Job, Values]) -> None:
    """Means over repeats, one table in Markdown for each figure, coding and value."""
    grouped: dict[tuple[str, str], dict[tuple[str, int, str], list[Values]]] = defaultdict(lambda: defaultdict(list))
    for job, found in results.items():
        grouped[job.figure, job.coding][job.system, job.parties, job.epsilon].append(found)
    for (figure, coding), rows in sorted(grouped.items()):
        names = list(dict.fromkeys(name for runs in rows.values() for one in runs for name in one))
        print(f"\n{figure}, {coding}\n")
        print(f"| system | parties | epsilon | runs | {' | '.join(names)} |")
        print("|---" * (4 + len(names)) + "|")
        for (system, parties, epsilon), runs in sorted(rows.items()):
            means = [np.mean([one[name] for one in runs]) if name in runs[0] else None for name in names]
            cells = ["" if mean is None else f"{mean:.4f}" if mean < 10 else f"{mean:,.0f}" for mean in means]
            print(f"| {system} | {parties} | {epsilon} | {len(runs)} | {' | '.join(cells)} |")


def main() -> None:
    """Run what is missing, and print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=["figure4", "figure5", "figure6", "figure7", "figure8"])
    options = parser.parse_args()
    results = load(options.out)
    for job in jobs(options.repeats):
        if job in results or job.figure not in options.only:
            continue
        results[job] = run(job, options.data)
        with options.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"job": asdict(job), "found": results[job]}) + "\n")
        print(*asdict(job).values(), f"{results[job]['cpu_seconds']:.1f} s", flush=True)
    show(results)


if __name__ == "__main__":
    main()
