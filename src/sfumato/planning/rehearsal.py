"""Rehearsals: the real recipe on made-up rows, before a cent is spent. They touch no private row.

What comes out is an estimate that rests on assumed populations, so it is given as a range, with a track record.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from time import process_time

import numpy as np
import pyarrow as pa

from sfumato.evaluate.marginals import cliques_of, total_variation
from sfumato.fitting import run_job
from sfumato.intake.codec import SchemaCodec
from sfumato.job import Job
from sfumato.planning.population import POPULATIONS, Population
from sfumato.planning.signal import TEST_ROWS, Signal, planted
from sfumato.privacy.budget import ZCDP, Budget, PureDP
from sfumato.release import Release

MOST_ROWS = 50_000
"""A rehearsal has no more rows; larger tables are rehearsed with a budget that has the same noise beside this many."""

PAIRS = 150
"""The most pairs of columns that are compared."""

TRACK_RECORD = (
    "on ten public tables at epsilon 0.2, 1 and 5 (auto) the real error of single columns lay inside the rehearsed "
    "range 19 times of 30, below it 9 times and above it twice, and that of pairs inside it 20 times, below it 10 "
    "times and never above it; the populations were chosen with an eye on six of these tables, so this may flatter"
)
"""How far rehearsals were from the truth (benchmarks/rehearsal.py; docs/plan.md has the table)."""


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """One run of the recipe on one population.

    Args:
        population: the population.
        rows: its rows.
        release: what came out.
        columns: the error of each column: its total variation distance.
        pairs: the mean error of pairs of columns; of single columns if there is only one.
        seconds: CPU time from the table to as many synthetic rows.
        bytes: the most memory that was taken, by the rows and by everything else; None if it was not measured.
        signal: what a classifier of the schema's label keeps; None without one, or without rows to try it on.
    """

    population: Population
    rows: int
    release: Release
    columns: dict[str, float]
    pairs: float
    seconds: float
    bytes: int | None
    signal: Signal | None = None

    @property
    def one_way(self) -> float:
        """The mean error of single columns."""
        return float(np.mean(list(self.columns.values())))


def rehearse(
    job: Job, rows: int, populations: Sequence[Population] = POPULATIONS, measure_memory: bool = True
) -> Iterator[Rehearsal]:
    """Run a job on each population; memory is measured in the first run, which is slower for it."""
    size = min(rows, MOST_ROWS)
    scaled = Job(job.schema, job.recipe, scaled_budget(job.opened, Fraction(rows, size)))
    for seed, population in enumerate(populations):
        yield _run(scaled, population, size, seed, measure_memory and seed == 0)


def _run(job: Job, population: Population, rows: int, seed: int, measure_memory: bool) -> Rehearsal:
    label = job.schema.label
    table = population.table(job.schema, rows if label is None else rows + TEST_ROWS, seed)
    table, unseen = table.slice(0, rows), table.slice(rows)
    pool = pa.default_memory_pool()
    before = pool.bytes_allocated()
    if measure_memory:
        tracemalloc.start()
    started = process_time()
    release = run_job(job, table)
    synthetic = release.sample_arrow(rows, seed=seed)
    seconds = process_time() - started
    taken = None
    if measure_memory:
        taken = tracemalloc.get_traced_memory()[1] + max(pool.bytes_allocated() - before, 0) + table.nbytes
        tracemalloc.stop()
    codec = SchemaCodec(job.schema)
    names = list(job.schema.names)
    real, made = codec.encode(table.select(names)), codec.encode(synthetic.select(names))
    columns = {name: total_variation(real, made, (name,)) for name in names}
    cliques = cliques_of(real.domain, min(2, len(names)), PAIRS)
    pairs = float(np.mean([total_variation(real, made, clique) for clique in cliques]))
    found = None
    if label is not None and unseen.num_rows:
        found = planted(real, made, codec.encode(unseen.select(names)), label)
    return Rehearsal(population, rows, release, columns, pairs, seconds, taken, found)


def scaled_budget(budget: Budget, factor: Fraction) -> Budget:
    """The budget whose noise beside a table is that of `budget` beside a table `factor` times as large."""
    if factor == 1:
        return budget
    if isinstance(budget, PureDP):
        return PureDP(budget.epsilon * factor)
    return ZCDP(budget.total.amount * factor**2)
