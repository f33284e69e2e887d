"""Whole-method coverage of intervals: every method on the survey, fresh noise in every run, all tables that are held.

    python benchmarks/intervals.py --epsilons 1,5 [--methods pgm,privsyn] [--data adult.csv.gz --schema …]

Fits until a method has had enough cells, and prints a line for each method, epsilon and number of columns: how many
cells, which part of the exact counts lies inside 95 % and 99 % intervals, inside 95 % intervals as they are printed
(cut at 0, so an interval below 0 becomes [0, 0], which is right more often), the mean standard error beside that of
the best single table, and how often the model's own count lies inside. Sfumato's noise cannot be seeded, so figures
differ a little from run to run.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from itertools import combinations
from math import sqrt
from pathlib import Path
from time import process_time

import numpy as np

import sfumato
from sfumato import tables
from sfumato.data.domain import Clique
from sfumato.intake.attributes import Attributes
from sfumato.intake.codec import SchemaCodec
from sfumato.models.residuals import NoisyTable
from sfumato.survey import simulate, survey_schema_text

MOST_CELLS = 200_000


@dataclass
class Tally:
    """What was counted for one number of columns."""

    cells: int = 0
    inside: dict[float, int] = field(default_factory=lambda: {0.95: 0, 0.99: 0})
    printed: int = 0
    model_inside: int = 0
    error: float = 0.0
    best_single: float = 0.0
    answers: int = 0


def held(release: sfumato.Release, size: int) -> list[Clique]:
    """Sets of attributes that some noisy table holds together."""
    found = set()
    for one in release.model.measurements:
        sources = {one.coding.lookup(name)[0] for name in one.clique} if one.coding else set(one.clique)
        found |= {tuple(sorted(clique)) for clique in combinations(sources, size)}
    domain = release.model.recoding.fine
    return [clique for clique in map(domain.canonical, found) if domain.cells(clique) <= MOST_CELLS]


def best_single(noisy: tuple[NoisyTable, ...], clique: Clique) -> float:
    """The standard error of a cell in the one table that knows it best."""
    found = []
    for table in noisy:
        one = table.measurement
        sources = [one.coding.lookup(name)[0] for name in one.clique] if one.coding else list(one.clique)
        if set(clique) <= set(sources):
            others = [size for source, size in zip(sources, one.domain.shape, strict=True) if source not in clique]
            found.append(sqrt(one.variance * np.prod(others)))
    return min(found)


def tally(release: sfumato.Release, real: sfumato.data.records.Records, found: dict[int, Tally]) -> None:
    """Compare every cell that has an interval with its exact count."""
    plain = {one.name for one in Attributes(release.schema).all} & set(release.schema.names)
    for size, count in found.items():
        for clique in held(release, size):
            if not set(clique) <= plain:
                continue
            exact = real.project(clique).counts.ravel()
            for confidence in count.inside:
                table = release.marginal_arrow(*clique, confidence=confidence)
                names = table.column_names[-5:]
                middle, error, low, high, unbiased = (
                    np.asarray(table[name].to_numpy(zero_copy_only=False), dtype=float) for name in names
                )
                has = ~np.isnan(low) & (error > 0)  # cells that rules leave empty have no noise, and test nothing
                inside = (low <= exact) & (exact <= high)
                count.inside[confidence] += int((inside & ~((high == 0) & (unbiased < 0)))[has].sum())
                count.printed += int(inside[has].sum()) if confidence == 0.95 else 0
            count.cells += int(has.sum())
            count.model_inside += int(((low <= middle) & (middle <= high))[has].sum())
            if has.any():
                count.error += float(error[has].mean())
                count.best_single += best_single(release.noisy_tables, clique)
                count.answers += 1


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", default=",".join(sfumato.methods()))
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--cells", type=int, default=100_000)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--schema", type=Path)
    given = parser.parse_args()
    if given.data is None:
        schema, rows = sfumato.Schema.parse(json.loads(survey_schema_text())), simulate()
    else:
        schema, rows = sfumato.Schema.load(given.schema), tables.read(given.data)
    real = SchemaCodec(schema).encode(rows)
    heads = ("method", "ε", "columns", "cells", "95 %", "99 %", "95 %, as printed")
    heads += ("standard error: this / best single table", "model's count inside")
    print("| " + " | ".join(heads) + " |")
    print("|---|---|---|---|---|---|---|---|---|")
    for method in given.methods.split(","):
        for epsilon in given.epsilons.split(","):
            found = {size: Tally() for size in (1, 2, 3)}
            started = process_time()
            while sum(one.cells for one in found.values()) < given.cells:
                release = sfumato.fit(rows, schema, epsilon=epsilon, delta=given.delta, method=method)
                tally(release, real, found)
            for size, one in found.items():
                if one.cells:
                    shares = " | ".join(
                        f"{100 * inside / one.cells:.1f}" for inside in (*one.inside.values(), one.printed)
                    )
                    errors = f"{one.error / one.answers:.3g} / {one.best_single / one.answers:.3g}"
                    print(
                        f"| {method} | {epsilon} | {size} | {one.cells:,} | {shares} | {errors} | "
                        f"{100 * one.model_inside / one.cells:.1f} % |",
                        flush=True,
                    )
            print(f"<!-- {method} {epsilon}: {process_time() - started:.0f} CPU seconds -->", flush=True)


if __name__ == "__main__":
    main()
