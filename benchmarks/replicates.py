"""Would replicates of a release give intervals that hold? A study of three ways to make and combine them.

    python benchmarks/replicates.py [--methods auto,pgm] [--epsilons 1] [--runs 40] [--replicates 10] [--rows 10000]

A population of 200,000 rows of the survey is known. In each run a private table is drawn from it, a release is made,
and replicates of its rows are analysed as if they were real: an estimate and its variance each. Then:

- *samples*: the replicates are samples of one release. T = u (1 + 1/m) (Raab, Nowok and Dibben 2016).
- *redrawn*: each replicate is a sample of a refit to the noisy tables with as much noise again, so the fit varies as
  the noise did. T = (1 + 1/m) b - u, and u if that is below 0 (Raghunathan, Reiter and Rubin 2003, as NAPSU-MQ has it).
- *bootstrap*: each replicate is a sample of a refit to the tables of the release's own rows with fresh noise. Its
  spread is that of noise, fit and drawing; T = b + u.

u is the mean variance that the analyses state, b the variance between their estimates. Printed for each statistic: how
often a nominal 95 % interval holds the value of the population, and the bias and the mean standard error in standard
errors of the estimate of a real table of this size. "Held" says in how many runs a noisy table held all its columns.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from time import process_time

import numpy as np
import pyarrow as pa
from scipy.stats import t as student

import sfumato
from sfumato.data.marginal import Marginal, Measurement
from sfumato.engines.memory import Memory
from sfumato.intake.attributes import Attributes
from sfumato.intake.codec import SchemaCodec
from sfumato.pipeline import reconciled
from sfumato.survey import simulate, survey_schema_text

COLUMNS = ("sex", "age", "education", "employment", "income", "smoker", "health", "region")
WAYS = ("samples", "redrawn", "bootstrap")
Estimate = tuple[float, float]


def mean(numbers: np.ndarray) -> Estimate:
    """A mean and its variance."""
    return float(np.mean(numbers)), float(np.var(numbers) / max(len(numbers), 1))


def gap(numbers: np.ndarray, group: np.ndarray) -> Estimate:
    """The difference of the means of a group and of the rest."""
    inside, outside = mean(numbers[group]), mean(numbers[~group])
    return inside[0] - outside[0], inside[1] + outside[1]


def slope(target: np.ndarray, *columns: np.ndarray) -> Estimate:
    """The coefficient of the last column in a linear regression, with a robust variance."""
    design = np.column_stack([np.ones(len(target)), *columns])
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ target
    weighted = design * (target - design @ coefficients)[:, None]
    covariance = inverse @ (weighted.T @ weighted) @ inverse
    return float(coefficients[-1]), float(covariance[-1, -1])


@dataclass(frozen=True)
class Rows:
    """Columns of a table as numbers."""

    table: pa.Table

    def __getitem__(self, name: str) -> np.ndarray:
        return self.table[name].to_numpy(zero_copy_only=False)

    def number(self, name: str) -> np.ndarray:
        """A column as floats; missing ones are not a number."""
        return np.array([np.nan if one is None else float(one) for one in self.table[name].to_pylist()])

    def place(self, name: str, schema: sfumato.Schema) -> np.ndarray:
        """The place of each value in the declared list."""
        places = {one: place for place, one in enumerate(schema[name].categories)}
        return np.array([places[one] for one in self[name]], dtype=float)


def _income_gap(rows: Rows, _: sfumato.Schema) -> Estimate:
    income = rows.number("income")
    known = ~np.isnan(income)
    return gap(income[known], (rows["sex"] == "female")[known])


def _education(rows: Rows, schema: sfumato.Schema) -> Estimate:
    income = rows.number("income")
    known = ~np.isnan(income)
    others = (rows.number("age")[known], (rows["sex"] == "female")[known].astype(float))
    return slope(income[known], *others, rows.place("education", schema)[known])


STATISTICS: dict[str, tuple[tuple[str, ...], Callable[[Rows, sfumato.Schema], Estimate]]] = {
    "mean age": (("age",), lambda rows, _: mean(rows.number("age"))),
    "share of employed": (("employment",), lambda rows, _: mean((rows["employment"] == "employed").astype(float))),
    "share in one region": (("region",), lambda rows, _: mean((rows["region"] == "Dunmarsh").astype(float))),
    "income gap of the sexes": (("sex", "income"), _income_gap),
    "age gap of the employed": (
        ("age", "employment"),
        lambda rows, _: gap(rows.number("age"), rows["employment"] == "employed"),
    ),
    "education by age (slope)": (
        ("education", "age"),
        lambda rows, schema: slope(rows.place("education", schema), rows.number("age")),
    ),
    "health by education (slope)": (
        ("health", "education"),
        lambda rows, schema: slope(rows.place("health", schema), rows.place("education", schema)),
    ),
    "income by education, given age and sex": (("income", "age", "sex", "education"), _education),
}


@dataclass
class Tally:
    """What came of one way for one statistic."""

    inside: int = 0
    bias: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)


def refitted(release: sfumato.Release, tables: Sequence[Measurement]) -> sfumato.Release:
    """The release that would have come of other noisy tables of the same choice."""
    model, recipe = release.model, release.recipe
    fitted = reconciled(recipe, model.recoding, tables, model.selection)
    other = replace(model, measurements=tuple(tables), marginals=fitted)
    return sfumato.Release(recipe, release.schema, release.ledger, other)


def with_noise(one: Measurement, counts: np.ndarray, rng: np.random.Generator) -> Measurement:
    """A noisy table of these counts, with the noise of another."""
    return replace(one, marginal=Marginal(one.domain, counts + rng.normal(0, sqrt(one.variance), counts.shape)))


def replicates(release: sfumato.Release, way: str, count: int, rows: int, rng: np.random.Generator) -> list[pa.Table]:
    """Replicates of the rows of a release."""
    seeds = [int(seed) for seed in rng.integers(0, 2**31, count)]
    if way == "samples":
        return [release.sample_arrow(rows, seed=seed) for seed in seeds]
    tables = release.model.measurements
    if way == "redrawn":
        centres = [np.asarray(one.marginal.counts, dtype=float) for one in tables]
    else:
        attributes = Attributes(release.schema)
        made = SchemaCodec(release.schema).encode(release.sample_arrow(rows, seed=seeds[0]))
        engine = Memory(attributes.domain, [attributes.encode(made)])
        counted = [next(iter(engine.count(one.coding, [one.clique]))) for one in tables]
        centres = [np.asarray(one.counts, dtype=float) for one in counted]
    made_of = []
    for seed in seeds:
        noisy = [with_noise(one, centre, rng) for one, centre in zip(tables, centres, strict=True)]
        made_of.append(refitted(release, noisy).sample_arrow(rows, seed=seed))
    return made_of


def interval(way: str, found: Sequence[Estimate], centre: float) -> tuple[float, float]:
    """The middle and the half width of a nominal 95 % interval."""
    count = len(found)
    middle, inside = float(np.mean([one for one, _ in found])), float(np.mean([two for _, two in found]))
    between = float(np.var([one for one, _ in found], ddof=1))
    if way == "samples":
        return middle, 1.96 * sqrt(inside * (1 + 1 / count))
    if way == "bootstrap":
        return centre, float(student.ppf(0.975, count - 1)) * sqrt(between + inside)
    whole = (1 + 1 / count) * between
    if whole <= inside:
        return middle, 1.96 * sqrt(inside)
    freedom = (count - 1) * (1 - inside / whole) ** 2
    return middle, float(student.ppf(0.975, max(freedom, 1))) * sqrt(whole - inside)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", default="auto,pgm")
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--replicates", type=int, default=10)
    parser.add_argument("--rows", type=int, default=10_000)
    given = parser.parse_args()
    keys = json.loads(survey_schema_text())
    keys = {**keys, "columns": [one for one in keys["columns"] if one["name"] in COLUMNS]}
    keys.pop("rules", None)
    schema = sfumato.Schema.parse(keys)
    codec = SchemaCodec(schema)
    # What the schema's bins tell of the population: what they don't is no fault of a combining rule.
    everybody = simulate(200_000).select(list(schema.names))
    population = codec.decode(codec.encode(everybody), np.random.default_rng(0))
    truth = {name: find(Rows(population), schema) for name, (_, find) in STATISTICS.items()}
    factor = population.num_rows / given.rows
    print(f"{given.rows:,} rows, {given.runs} runs, {given.replicates} replicates")
    print("| method | ε | statistic | held | " + " | ".join(f"{way}: holds, bias, error" for way in WAYS) + " |")
    print("|---|---|---|---|---|---|---|")
    for method in given.methods.split(","):
        for epsilon in given.epsilons.split(","):
            rng, started = np.random.default_rng(1), process_time()
            found = {(way, name): Tally() for way in WAYS for name in STATISTICS}
            held = dict.fromkeys(STATISTICS, 0)
            for _ in range(given.runs):
                private = population.take(rng.choice(population.num_rows, given.rows, replace=False))
                release = sfumato.fit(private, schema, epsilon=epsilon, delta="1e-6", method=method)
                sources = [
                    {one.coding.lookup(name)[0] for name in one.clique} if one.coding else set(one.clique)
                    for one in release.model.measurements
                ]
                first = Rows(release.sample_arrow(given.rows, seed=0))
                centres = {name: find(first, schema)[0] for name, (_, find) in STATISTICS.items()}
                for name, (columns, _) in STATISTICS.items():
                    held[name] += any(set(columns) <= one for one in sources)
                for way in WAYS:
                    made = [Rows(one) for one in replicates(release, way, given.replicates, given.rows, rng)]
                    for name, (_, find) in STATISTICS.items():
                        tally, (right, variance) = found[way, name], truth[name]
                        middle, half = interval(way, [find(one, schema) for one in made], centres[name])
                        tally.inside += abs(middle - right) <= half
                        tally.bias.append((middle - right) / sqrt(variance * factor))
                        tally.error.append(half / 1.96 / sqrt(variance * factor))
            for name in STATISTICS:
                cells = [
                    f"{100 * one.inside / given.runs:.0f} %, {np.mean(one.bias):+.1f}, {np.mean(one.error):.1f}"
                    for one in (found[way, name] for way in WAYS)
                ]
                print(f"| {method} | {epsilon} | {name} | {held[name]} | " + " | ".join(cells) + " |", flush=True)
            print(f"<!-- {method} {epsilon}: {process_time() - started:.0f} CPU seconds -->", flush=True)


if __name__ == "__main__":
    main()
