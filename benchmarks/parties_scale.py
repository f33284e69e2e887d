"""Bytes, CPU seconds and memory of a whole study in one process, by the number of parties and of columns.

    python benchmarks/parties_scale.py --table adult.csv.gz --schema adult.schema.json --parties 3 20 100
    python benchmarks/scale.py wide --columns 300 --rows 50000 --codes 4 --out wide.parquet
    python benchmarks/parties_scale.py --table wide.parquet --schema wide.schema.json --parties 100 [--profile]

Rows are dealt out unevenly, party i of K with weight 1/i. epsilon is 1, delta 1e-9 for methods that can use one, as in
parties_against_one_table.py. CPU is of all members together; a party's own is about its K-th part. One line of JSON for
each study; memory is the peak so far, so give numbers of parties in rising order.
"""

import argparse
import cProfile
import json
import pstats
import resource
from collections import Counter
from pathlib import Path
from time import process_time

from bench.tasks import data_set_schema
from parties_against_one_table import split
from sfumato import tables
from sfumato.errors import SfumatoError
from sfumato.parties import local
from sfumato.parties.letters import CURATOR
from sfumato.pipeline import Guarantee
from sfumato.recipes import RECIPES


def studied(table: Path, schema: Path, method: str, parties: int) -> dict[str, object]:
    """One study, or the refusal that it ended with, and what it took until then."""
    delta = None if RECIPES[method].guarantee is Guarantee.PURE else "1e-9"
    parts, declared = split(tables.read(table), parties), data_set_schema(schema)
    figures: dict[str, object] = {"method": method, "parties": parties, "columns": len(declared.columns)}
    started = process_time()
    try:
        _, outcome = local.fit(parts, declared, epsilon="1", delta=delta, method=method)
    except SfumatoError as problem:
        return figures | {"cpu_seconds": round(process_time() - started, 1), "refused": str(problem)}
    seconds = process_time() - started
    down = Counter(outcome.sent.pop(CURATOR))
    up: Counter[str] = sum((Counter(kinds) for kinds in outcome.sent.values()), Counter())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    figures |= {
        "cpu_seconds": round(seconds, 1),
        "megabytes_up": up.total() / 1e6,
        "megabytes_down": down.total() / 1e6,
    }
    return figures | {"peak_megabytes": memory, "by_kind": dict(down + up)}


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--schema", type=Path, required=True)
    parser.add_argument("--parties", type=int, nargs="*", default=[3])
    parser.add_argument("--method", nargs="*", default=["dp-subn"])
    parser.add_argument("--profile", action="store_true", help="also print where the time went")
    given = parser.parse_args()
    for method in given.method:
        for parties in given.parties:
            profile = cProfile.Profile()
            if given.profile:
                profile.enable()
            print(json.dumps(studied(given.table, given.schema, method, parties)), flush=True)
            if given.profile:
                profile.disable()
                pstats.Stats(profile).sort_stats("tottime").print_stats(32)


if __name__ == "__main__":
    main()
