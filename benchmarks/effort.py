"""What less effort of gradual update costs: distance to the truth of the same release, drawn with other settings.

python benchmarks/effort.py --data DIR [--rows 50000] [--epsilon 1] [--sets adult,bank]
"""

import argparse
from dataclasses import replace
from pathlib import Path
from time import process_time

import sfumato
from bench.tasks import data_set_schema
from sfumato import tables
from sfumato.evaluate.marginals import cliques_of, mean_total_variation
from sfumato.intake.codec import SchemaCodec
from sfumato.release import Release
from sfumato.synthesize.gradual_update import GradualUpdate

SETTINGS = [(30, 50), (10, 50), (10, 20), (15, 30)]


def main() -> None:
    """Print CPU seconds and mean total variation of all pairs, for each data set and setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--sets")
    options = parser.parse_args()
    names = (
        options.sets.split(",")
        if options.sets
        else sorted(path.name.partition(".")[0] for path in options.data.glob("*.csv.gz"))
    )
    print(f"{'data':<16}" + "".join(f"{f'{sweeps} sweeps {swaps} swaps':>24}" for sweeps, swaps in SETTINGS))
    for name in names:
        schema = data_set_schema(options.data / f"{name}.schema.json")
        real = tables.read(options.data / f"{name}.csv.gz", schema).slice(0, options.rows)
        release: Release = sfumato.fit(real, schema, epsilon=options.epsilon, delta="1e-9", method="privsyn")
        codec = SchemaCodec(schema)
        truth = codec.encode(real)
        pairs = cliques_of(truth.domain, 2)
        line = f"{name:<16}"
        for sweeps, swaps in SETTINGS:
            recipe = replace(release.recipe, synthesize=GradualUpdate(sweeps=sweeps, swaps=swaps))
            started = process_time()
            drawn = replace(release, recipe=recipe).sample_arrow(len(real), seed=1)
            seconds = process_time() - started
            line += f"{seconds:>12.1f} s {mean_total_variation(truth, codec.encode(drawn), pairs):>10.5f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
