"""Graphical models on UCI Adult: our engine beside mbi on the same noisy tables, and recipes that use ours.

    python benchmarks/graphical.py --data FOLDER [--repeats 3] [--epsilon 1] [--limits 100000 1000000]

FOLDER holds adult.csv.gz and adult.schema.json; rows, tables and errors are those of benchmarks/privsyn.py. With --out
FILE.json all figures go to a file too. The comparison needs `pip install mbi` (2.0.0, jax comes with it) and is left
out where it is missing. Both engines get the measurements of one run: ours reconciles them and fits the model to the
tables that agree, mbi fits it to the measurements themselves, by mirror descent with its default 1000 steps, and
compiles that first. CPU seconds are those of all threads.
"""

import argparse
import importlib.util
import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from rich.console import Console
from rich.table import Table

from privsyn import DELTA, synthesize, training_rows
from sfumato.data.marginal import Measurement
from sfumato.data.records import Records
from sfumato.errors import ModelTooLarge
from sfumato.evaluate.marginals import cliques_of, mean_total_variation
from sfumato.fitting import take_in
from sfumato.intake.codec import SchemaCodec
from sfumato.learn.select.spanning_tree import SpanningTree, TreeLimitedPairs
from sfumato.models.drawing import draw
from sfumato.models.junction_tree import junction_tree
from sfumato.pipeline import Model, run
from sfumato.privacy.budget import ApproxDP
from sfumato.recipes.pgm import PGM
from sfumato.recipes.privsyn import PRIVSYN
from sfumato.synthesize.graphical import Graphical

RECIPES = (
    replace(PGM, name="pgm, spanning tree", select=SpanningTree(measure_ratio=6.0)),
    PGM,
    PRIVSYN,
    replace(PRIVSYN, name="privsyn, graphical", synthesize=Graphical()),
)
Fit = Callable[[Model, tuple[Measurement, ...]], Callable[[], Records]]


def fit_ours(model: Model, measurements: tuple[Measurement, ...]) -> Callable[[], Records]:
    """Reconcile and fit; what is returned makes rows."""
    marginals = PGM.reconcile(model.recoding.domain, measurements, model.selection)
    fitted = Graphical().model(marginals)
    return lambda: draw(fitted, model.marginals.rows, np.random.default_rng())


def fit_mbi(model: Model, measurements: tuple[Measurement, ...]) -> Callable[[], Records]:
    """Mirror descent on the measurements; what is returned makes rows."""
    import jax
    import mbi

    names = model.recoding.domain
    noisy = [
        mbi.LinearMeasurement(np.asarray(one.marginal.counts, dtype=float).ravel(), one.clique, one.variance**0.5)
        for one in measurements
    ]
    fitted = mbi.estimation.MirrorDescent().estimate(mbi.Domain.fromdict(dict(names.items())), noisy)
    jax.block_until_ready(fitted.marginals)

    def rows() -> Records:
        columns = fitted.synthetic_data(model.marginals.rows).to_dict()
        return Records(names, [np.asarray(columns[name]).astype(np.int64) for name in names])

    return rows


def errors(real: Records, synthetic: Records) -> dict[str, object]:
    """Mean total variation of two-way and three-way tables."""
    return {
        f"{k}-way": mean_total_variation(real, synthetic, cliques_of(real.domain, k, 300, seed=1)) for k in (1, 2, 3)
    }


def compare_engines(folder: Path, epsilon: str, limits: list[int]) -> list[dict[str, object]]:
    """Both engines on the same measurements: a spanning tree, and junction trees of several sizes."""
    table, schema = training_rows(folder)
    real = SchemaCodec(schema).encode(table)
    engines: dict[str, Fit] = {"ours": fit_ours}
    if importlib.util.find_spec("mbi"):
        engines["mbi"] = fit_mbi
    found: list[dict[str, object]] = []
    for select in (SpanningTree(measure_ratio=6.0), *(TreeLimitedPairs(limit, 6.0) for limit in limits)):
        holder, ledger = take_in(table, schema, ApproxDP(epsilon, DELTA))
        model = run(replace(PGM, select=select), holder, schema, ledger)
        one_way = len(model.measurements) - len(model.selection.cliques)
        measured = (*map(model.recoding.merge, model.measurements[:one_way]), *model.measurements[one_way:])
        cells = junction_tree(model.recoding.domain, model.marginals.cliques).cells
        for name, fit in engines.items():
            started, wall = process_time(), perf_counter()
            rows = fit(model, measured)
            fitted, wall = process_time(), perf_counter() - wall
            records = rows()
            cost = {"fit CPU s": fitted - started, "fit wall s": wall, "rows CPU s": process_time() - fitted}
            scores = errors(real, model.recoding.decode(records, np.random.default_rng()))
            found.append({"epsilon": epsilon, "cells": cells, "engine": name} | cost | scores)
    return found


def compare_recipes(folder: Path, repeats: int) -> list[dict[str, object]]:
    """Recipes with and without a graphical model, at three budgets."""
    table, schema = training_rows(folder)
    real = SchemaCodec(schema).encode(table)
    found: list[dict[str, object]] = []
    for epsilon in ("0.2", "1", "5") if repeats else ():
        for recipe in RECIPES:
            try:
                runs = [synthesize(recipe, table, schema, epsilon) for _ in range(repeats)]
            except ModelTooLarge:
                found.append({"method": recipe.name, "epsilon": epsilon, "2-way": "too large"})
                continue
            scores = [errors(real, records) for records, _, _ in runs]
            mean = {key: float(np.mean([one[key] for one in scores])) for key in scores[0]}  # type: ignore[misc]
            spent = {"CPU s": float(np.median([seconds for _, seconds, _ in runs]))}
            found.append({"method": recipe.name, "epsilon": epsilon} | mean | spent)
    return found


def show(console: Console, title: str, rows: list[dict[str, object]]) -> None:
    """Print a table."""
    table = Table(*rows[0], title=title)
    for row in rows:
        table.add_row(*(f"{v:.4f}" if isinstance(v, float) else str(v) for v in (row.get(key, "") for key in rows[0])))
    console.print(table)


def main() -> None:
    """Run both comparisons and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--limits", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", module="mbi")
    console = Console(width=120)
    recipes = compare_recipes(options.data, options.repeats)
    if recipes:  # none with --repeats 0
        show(console, f"Adult, 80 % of the rows, delta {DELTA}, mean of {options.repeats} runs", recipes)
    engines = compare_engines(options.data, options.epsilon, options.limits)
    show(console, "Engines on the same measurements", engines)
    if options.out:
        options.out.write_text(json.dumps({"recipes": recipes, "engines": engines}, indent=1) + "\n")


if __name__ == "__main__":
    main()
