"""Two systems to hold others against, run as `python -m sfumato.bench.floors`.

- `independent`: every column by itself, with the whole budget. A system that is worse has wasted its budget on pairs.
- `resample`: real rows, drawn with replacement. It is not private; its error is that of sampling alone.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from sfumato import tables
from sfumato.data.schema import Schema
from sfumato.data.selection import Selection
from sfumato.fitting import take_in
from sfumato.pipeline import run
from sfumato.privacy.budget import budget_of
from sfumato.recipes.privsyn import PRIVSYN
from sfumato.release import Release

INDEPENDENT = replace(
    PRIVSYN,
    name="independent",
    shares={"encode": Fraction(1), "select": Fraction(0), "measure": Fraction(0)},
    select=lambda holder, share: Selection(()),
)


def independent(rows: Path, schema: Schema, epsilon: str, delta: str) -> pa.Table:
    """Noisy columns, drawn independently of each other."""
    holder, ledger = take_in(rows, schema, budget_of(epsilon, delta))
    model = run(INDEPENDENT, holder, schema, ledger)
    return Release.made_by(INDEPENDENT, schema, ledger.statement(), model).sample_arrow()


def resample(rows: Path, seed: int) -> pa.Table:
    """As many real rows, drawn with replacement."""
    table = tables.read(rows)
    chosen = np.random.default_rng(2 + seed).integers(0, table.num_rows, table.num_rows)
    return table.take(pa.array(chosen))


def main(name: str, rows: str, schema: str, epsilon: str, delta: str, seed: str, out: str) -> None:
    """Make the rows of one floor, and write them."""
    if name == "resample":
        csv.write_csv(resample(Path(rows), int(seed)), out)
    else:
        public = Schema.load(Path(schema))
        tables.write(independent(Path(rows), public, epsilon, delta), out, public)


if __name__ == "__main__":
    main(*sys.argv[1:])
