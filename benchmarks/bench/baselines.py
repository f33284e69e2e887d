"""Baselines: a program with the arguments of `main`, started for each run.

- `independent`: every column by itself, with the whole budget. A system that is worse has wasted its budget on pairs.
- `resample`: real rows, drawn with replacement. It is not private; its error is that of sampling alone.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from sfumato import tables
from sfumato.data.selection import Selection
from sfumato.fitting import fit
from sfumato.learn import Known, Learned
from sfumato.learn.measure import Tables
from sfumato.learn.once import Once
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder
from sfumato.recipes.privsyn import PRIVSYN
from sfumato.schema.schema import Schema


@dataclass(frozen=True)
class NoPairs:
    """A selection of nothing: the whole budget goes into single columns."""

    def __call__(self, holder: Holder, known: Known, share: Share, ahead: Share) -> Learned:
        """Nothing."""
        return Learned(Selection(()))


INDEPENDENT = replace(PRIVSYN, name="independent", learn=Once(select=NoPairs(), measure=Tables()))


def independent(rows: Path, schema: Schema, epsilon: str, delta: str) -> pa.Table:
    """Noisy columns, drawn independently of each other."""
    return fit(rows, schema, epsilon=epsilon, delta=delta, method=INDEPENDENT).sample_arrow()


def resample(rows: Path, seed: int) -> pa.Table:
    """As many real rows, drawn with replacement."""
    table = tables.read(rows)
    chosen = np.random.default_rng(2 + seed).integers(0, table.num_rows, table.num_rows)
    return table.take(pa.array(chosen))


def main(name: str, rows: str, schema: str, epsilon: str, delta: str, seed: str, out: str) -> None:
    """Make the rows of one baseline, and write them."""
    if name == "resample":
        csv.write_csv(resample(Path(rows), int(seed)), out)
    else:
        public = Schema.load(Path(schema))
        tables.write(independent(Path(rows), public, epsilon, delta), out, public)


if __name__ == "__main__":
    main(*sys.argv[1:])
