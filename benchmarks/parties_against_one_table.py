"""Every method that runs over parties, beside the same method on one table: error, bytes and CPU seconds.

    python benchmarks/parties_against_one_table.py --data FOLDER [--name adult] [--parties 3 20] [--method dp-subn …]

FOLDER holds NAME.csv.gz and NAME.schema.json. Rows are dealt out unevenly, party i of K with weight 1/i. The error is
the mean total variation of all tables of two columns and of 200 of three, in the bins of the schema. epsilon is 1,
delta 1e-9 for methods that can use one. One line of JSON for each run.
"""

import argparse
import json
from collections import Counter
from pathlib import Path
from time import process_time

import numpy as np
import pyarrow as pa

from bench.tasks import data_set_schema
from sfumato import tables
from sfumato.evaluate.marginals import cliques_of, mean_total_variation
from sfumato.fitting import fit
from sfumato.intake.codec import SchemaCodec
from sfumato.parties import local
from sfumato.parties.federation import OFFERS
from sfumato.pipeline import Guarantee
from sfumato.recipes import RECIPES
from sfumato.recipes.auto import over_parties
from sfumato.schema.schema import Schema


def split(table: pa.Table, parties: int) -> list[pa.Table]:
    """The rows of each party."""
    weights = 1 / np.arange(1, parties + 1)
    owner = np.random.default_rng(0).choice(parties, len(table), p=weights / weights.sum())
    return [table.filter(pa.array(owner == number)) for number in range(parties)]


def measured(table: pa.Table, schema: Schema, method: str, parties: int) -> dict[str, object]:
    """One run; 0 parties stand for one table."""
    delta = None if RECIPES[method].guarantee is Guarantee.PURE else "1e-9"
    options = {"epsilon": "1", "delta": delta, "method": method}
    sent: Counter[str] = Counter()
    started = process_time()
    if parties:
        release, outcome = local.fit(split(table, parties), schema, **options)
        for kinds in outcome.sent.values():
            sent.update(kinds)
    else:
        release = fit(table, schema, **options)
    seconds = process_time() - started
    codec = SchemaCodec(schema)
    real, synthetic = codec.encode(table), codec.encode(release.sample_arrow(seed=1))
    errors = [mean_total_variation(real, synthetic, cliques_of(real.domain, size, 200)) for size in (2, 3)]
    two, three = (round(error, 4) for error in errors)
    figures = {"method": method, "parties": parties or "one table", "two_way": two, "three_way": three}
    return figures | {"cpu_seconds": round(seconds, 1), "bytes": sent.total(), "by_kind": dict(sent)}


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--name", default="adult")
    parser.add_argument("--parties", type=int, nargs="*", default=[3])
    able = [name for name, recipe in RECIPES.items() if OFFERS.issuperset(over_parties(recipe).needs)]
    parser.add_argument("--method", nargs="*", default=able)
    given = parser.parse_args()
    schema = data_set_schema(given.data / f"{given.name}.schema.json")
    table = tables.read(given.data / f"{given.name}.csv.gz")
    for method in given.method:
        for parties in (0, *given.parties):
            print(json.dumps(measured(table, schema, method, parties)), flush=True)


if __name__ == "__main__":
    main()
