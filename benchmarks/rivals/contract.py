"""What all adapters share: they take codes under the public bins of a schema, and write codes.

    ENVIRONMENT/bin/python ADAPTER.py VARIANT --train CODES.csv --domain DOMAIN.json
        --epsilon E --delta D --seed S --out OUT.csv

CODES.csv has one column of integers 0 … size - 1 for each column, DOMAIN.json the sizes by name. So every rival gets
the same public domain and the same bins, and its mechanism is measured, not its way to discretise. OUT.csv has the same
columns. The number of rows is taken as public, because all rivals do. A seed sets what can be seeded.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import pandas as pd


@dataclass(frozen=True)
class Request:
    """The arguments of an adapter, read."""

    variant: str
    train: Path
    rows: pd.DataFrame
    sizes: dict[str, int]
    epsilon: float
    delta: float
    seed: int
    out: Path


def request() -> Request:
    """Read the command line and the files that it names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("variant")
    for name, kind in (("train", Path), ("domain", Path), ("epsilon", float), ("delta", float), ("seed", int)):
        parser.add_argument(f"--{name}", type=kind, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    sizes = json.loads(given.domain.read_text(encoding="utf-8"))
    rows = pd.read_csv(given.train, dtype=int)[list(sizes)]
    return Request(given.variant, given.train, rows, sizes, given.epsilon, given.delta, given.seed, given.out)


def answer(asked: Request, rows: pd.DataFrame) -> None:
    """Write synthetic codes, columns in the order of the domain."""
    rows[list(asked.sizes)].astype(int).to_csv(asked.out, index=False)
