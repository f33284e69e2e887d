"""Synthesizers side by side on the same noisy tables: how fast they come near them, how near, and how near the truth.

    python benchmarks/synthesizers.py [--epsilons 1 5] [--repeats 3] [--out FILE.json]

The tables are those of PrivSyn on the built-in survey, reconciled. In each repeat they are measured anew, and all
synthesizers get the same ones. Recorded are mean total variation distances: to the tables of two or more columns, and
to the real rows over all two-way and 200 three-way tables in the bins of the schema; and CPU seconds of the synthesis.
The row "noise" is the distance from the noisy tables to the real ones, over the same cliques: coming nearer to the
tables than that is of little use. Noise is never seeded, so figures move a little between runs.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import process_time

import numpy as np
from rich.console import Console
from rich.table import Table

from sfumato.data.domain import Clique
from sfumato.data.records import Records
from sfumato.evaluate.marginals import cliques_of, mean_total_variation
from sfumato.fitting import take_in
from sfumato.intake.codec import SchemaCodec
from sfumato.pipeline import Model, Synthesize, run
from sfumato.privacy.budget import ApproxDP
from sfumato.recipes.privsyn import PRIVSYN
from sfumato.schema.schema import Schema
from sfumato.survey import simulate, survey_schema_text
from sfumato.synthesize.gradual_update import GradualUpdate
from sfumato.synthesize.min_cost_flow import MinCostFlow
from sfumato.synthesize.sorted_views import SortedViews

DELTA = "1e-9"
SWEEPS = (1, 2, 5, 10, 20, 30)
METHODS: dict[str, Sequence[Synthesize]] = {
    "min-cost flow": [MinCostFlow(sweeps=sweeps, still=0) for sweeps in SWEEPS],
    "min-cost flow, every move costs 1": [MinCostFlow("cells", sweeps=sweeps, still=0) for sweeps in SWEEPS],
    "gradual update, no swaps": [GradualUpdate(sweeps=sweeps, swaps=0) for sweeps in SWEEPS],
    "gradual update": [GradualUpdate(sweeps=sweeps) for sweeps in SWEEPS],
    "sorted views (repeats)": [SortedViews(repeats) for repeats in SWEEPS],
}


def scores(
    epsilon: str, schema: Schema, table: object, real: Records, questions: Sequence[Sequence[Clique]]
) -> Iterator[tuple[tuple[str, int], np.ndarray]]:
    """Measure the tables once and run every synthesizer on them: method and sweeps, with distances and CPU seconds."""
    holder, ledger = take_in(table, schema, ApproxDP(epsilon, DELTA))
    model = run(PRIVSYN, holder, schema, ledger)
    cliques = [clique for clique in model.marginals.cliques if len(clique) > 1]
    floor = mean_total_variation(model.recoding.encode(real), model.marginals, cliques)
    yield ("noise", 0), np.array([floor, np.nan, np.nan, np.nan])
    for method, settings in METHODS.items():
        for sweeps, synthesize in zip(SWEEPS, settings, strict=True):
            yield (method, sweeps), _score(synthesize, model, cliques, real, questions)


def _score(
    synthesize: Synthesize,
    model: Model,
    cliques: Sequence[Clique],
    real: Records,
    questions: Sequence[Sequence[Clique]],
) -> np.ndarray:
    rng = np.random.default_rng()
    started = process_time()
    made = synthesize(model.marginals, model.selection, model.marginals.rows, rng)
    seconds = process_time() - started
    fine = model.recoding.decode(made, rng)
    distances = [mean_total_variation(real, fine, question) for question in questions]
    return np.array([mean_total_variation(model.marginals, made, cliques), *distances, seconds])


def main() -> None:
    """Run everything and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilons", nargs="+", default=["1", "5"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    schema = Schema.parse(json.loads(survey_schema_text()))
    table = simulate()
    real = SchemaCodec(schema).encode(table)
    questions = [cliques_of(real.domain, 2), cliques_of(real.domain, 3, 200)]

    columns = ("epsilon", "method", "sweeps", "to the tables", "2-way", "3-way", "CPU seconds")
    shown = Table(*columns, title=f"The survey, delta {DELTA}, mean of {options.repeats} runs")
    records = []
    for epsilon in options.epsilons:
        runs = [dict(scores(epsilon, schema, table, real, questions)) for _ in range(options.repeats)]
        for method, sweeps in runs[0]:
            mean = np.mean([one[method, sweeps] for one in runs], axis=0)
            values = [None if np.isnan(value) else float(value) for value in mean]
            records.append(dict(zip(columns, (epsilon, method, sweeps, *values), strict=True)))
            cells = ("" if value is None else f"{value:.4f}" for value in values)
            shown.add_row(epsilon, method, str(sweeps or ""), *cells)
    Console(width=120).print(shown)
    if options.out:
        options.out.write_text(json.dumps(records, indent=1) + "\n")


if __name__ == "__main__":
    main()
