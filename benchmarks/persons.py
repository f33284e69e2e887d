"""Persons with up to 20 rows: rows that are counted and cut, against persons in parts.

python benchmarks/persons.py [--persons 5000] [--epsilon 1] [--runs 5]

Visits of simulated patients. Patients with many visits are old and ill, so cutting visits changes what is counted.
Errors are mean total variation distances over all pairs of columns: to the visits of all patients, and to the visits of
a typical patient (each patient's visits count 1 together).
"""

from __future__ import annotations

import argparse

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.evaluate.marginals import cliques_of
from sfumato.fitting import fit
from sfumato.intake.codec import SchemaCodec
from sfumato.schema.schema import Schema

UNITS = [("rows", 1), ("rows", 3), ("rows", 10), ("rows", 20), ("persons", 3), ("persons", 20)]
WARDS = ["surgery", "heart", "lung", "eyes", "other"]


def schema_of(rows: int, count: str) -> Schema:
    """The public schema of the visits."""
    columns = [
        {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 10},
        {"name": "ward", "type": "categorical", "categories": WARDS},
        {"name": "days", "type": "integer", "min": 0, "max": 19, "bins": 5},
        {"name": "urgent", "type": "boolean"},
    ]
    unit = {"rows": rows, "column": "patient", "count": count}
    return Schema.parse({"name": "visits", "columns": columns, "unit": unit})


def visits(persons: int, seed: int = 0) -> tuple[pa.Table, NDArray[np.int64]]:
    """Visits, and how many visits the patient of each has."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, persons)
    number = 1 + rng.binomial(19, 0.02 + 0.5 * (age / 99) ** 3)
    row = np.repeat(np.arange(persons), number)
    many = number[row] / 20
    ward = np.minimum((rng.random(len(row)) * (2 + 3 * (1 - many))).astype(int), 4)
    days = np.minimum(rng.poisson(2 + 6 * many + 2 * (ward == 1)), 19)
    table = pa.table(
        {
            "patient": pa.array([f"p{one}" for one in row.tolist()]),
            "age": pa.array(age[row]),
            "ward": pa.array(WARDS).take(pa.array(ward)),
            "days": pa.array(days),
            "urgent": pa.array(rng.random(len(row)) < 0.2 + 0.5 * many),
        }
    )
    return table, number[row]


def main() -> None:
    """Compare the ways to count."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--persons", type=int, default=5_000)
    parser.add_argument("--epsilon", type=float, default=1)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    table, number = visits(arguments.persons)
    for count, rows in UNITS:
        schema = schema_of(rows, count)
        codec = SchemaCodec(schema)
        real = codec.encode(table)
        figures = []
        for run in range(arguments.runs):
            release = fit(table, schema, epsilon=arguments.epsilon, delta=1e-6, method="pgm")
            made = codec.encode(release.sample_arrow(20_000, run))
            errors = np.zeros(2)
            for clique in cliques_of(real.domain, 2):
                shares = made.project(clique).counts.ravel() / len(made)
                cells = np.ravel_multi_index(
                    [real[name].astype(int) for name in clique], real.domain.project(clique).shape
                )
                for place, weight in enumerate((np.ones(len(number)), 1 / number)):
                    wanted = np.bincount(cells, weight, len(shares)) / weight.sum()
                    errors[place] += np.abs(shares - wanted).sum() / 2
            cut = release.persons.share_cut if release.persons else np.nan  # measured where persons are counted
            figures.append([*(errors / len(cliques_of(real.domain, 2))), cut])
        of_visits, of_patients, cut = np.mean(figures, axis=0)
        kept = np.minimum(number, rows)
        print(
            f"count {count:8} of at most {rows:2} rows: all visits {of_visits:.4f}  typical patient {of_patients:.4f}  "
            f"cut {cut:.3f} (true {1 - (kept / number).mean():.3f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
