"""A data set of the bench: split once, and asked the same questions for every system."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
from pyarrow import csv

from sfumato import tables
from sfumato.data.records import Records
from sfumato.errors import DataError, MethodError
from sfumato.evaluate.classifiers import majority, scores
from sfumato.evaluate.marginals import cliques_of, mean_total_variation
from sfumato.evaluate.ranges import RangeQuery, random_ranges
from sfumato.intake.codec import SchemaCodec
from sfumato.schema.schema import Schema

CLASSIFIERS = ("decision tree", "logistic regression", "support vector machine", "LightGBM")
TABLES, CELLS, QUERIES, TRAINING_ROWS = 300, 10**7, 1000, 3000
"""At most this many tables for each number of columns, of this many cells; range queries; rows for classifiers."""

ENDINGS = (".csv.gz", ".csv")


@dataclass(frozen=True)
class Files:
    """What a process is given: the training rows and the schema, as they are and in codes.

    Args:
        rows: a CSV file of raw values.
        schema: the public schema.
        codes: the same rows as integer codes under the bins of the schema.
        domain: a JSON object with the number of codes of each column.
    """

    rows: Path
    schema: Path
    codes: Path
    domain: Path


@dataclass(frozen=True, eq=False)
class Task:
    """A data set with the questions that all systems are asked about it."""

    name: str
    schema: Schema
    files: Files
    train: Records
    test: Records
    queries: list[RangeQuery]
    shares: list[float]

    @classmethod
    def load(cls, folder: Path, name: str, scratch: Path) -> Self:
        """Read a data set, keep 80 % of its rows (seed 0) for training, and write them to `scratch`."""
        data, public = find_set(folder, name)
        schema = data_set_schema(public)
        table = tables.read(data)
        order = np.random.default_rng(0).permutation(table.num_rows)
        cut = table.num_rows * 8 // 10
        codec = SchemaCodec(schema)
        rows = table.take(pa.array(order[:cut]))
        train, test = codec.encode(rows), codec.encode(table.take(pa.array(order[cut:])))
        files = Files(*(scratch / f"{name}.{ending}" for ending in ("csv", "schema.json", "codes.csv", "domain.json")))
        files.schema.write_text(json.dumps(schema.to_dict()), encoding="utf-8")
        csv.write_csv(rows, files.rows)
        csv.write_csv(pa.table(dict(zip(train.domain.names, train.columns, strict=True))), files.codes)
        files.domain.write_text(json.dumps(dict(train.domain.items())), encoding="utf-8")
        queries = random_ranges(codec.domain, cls._ordered(schema), QUERIES, seed=1)
        return cls(name, schema, files, train, test, queries, [query.share(train) for query in queries])

    @staticmethod
    def _ordered(schema: Schema) -> frozenset[str]:
        return frozenset(column.name for column in schema.columns if column.is_ordered)

    def rows_in(self, file: Path) -> Records:
        """Synthetic rows of raw values."""
        return SchemaCodec(self.schema).encode(tables.read(file))

    def codes_in(self, file: Path) -> Records:
        """Synthetic rows in codes, as rivals write them."""
        try:
            table = csv.read_csv(file)
            found = [table.column(name).to_numpy() for name in self.train.domain]
        except (OSError, KeyError, pa.ArrowInvalid) as problem:
            raise DataError(f"the synthetic codes cannot be read: {type(problem).__name__}; see the adapter") from None
        return Records(self.train.domain, found)

    def measure(self, synthetic: Records, seed: int) -> dict[str, float]:
        """All scores of some rows."""
        if not len(synthetic):
            raise DataError("the synthetic table has no rows; there is nothing to score")
        found = self._errors(self.train, synthetic, self.shares)
        if self.schema.label:
            ordered = self._ordered(self.schema)
            trained = scores(synthetic, self.test, self.schema.label, ordered, CLASSIFIERS, TRAINING_ROWS, seed)
            found |= {score.classifier: score.accuracy for score in trained}
            found["accuracy"] = float(np.mean([score.accuracy for score in trained]))
            found["majority"] = majority(self.test, self.schema.label)
        return found

    def fresh(self, seed: int) -> dict[str, float]:
        """The errors of as many new rows of the same population: those of two halves, whose luck is larger.

        Each half deviates by sqrt(2) times as much as all rows would, and both do: new rows, which deviate from the
        training rows by the luck of both, have 1 / sqrt(2) of the distance of the halves.
        """
        if len(self.train) < 2:
            raise DataError("the training rows have no two halves; there is nothing to compare")
        order = np.random.default_rng(2 + seed).permutation(len(self.train))
        one, two = (self.train.take(half) for half in np.array_split(order, 2))
        errors = self._errors(one, two, [query.share(one) for query in self.queries])
        return {kind: value / sqrt(2) for kind, value in errors.items()}

    def _errors(self, real: Records, synthetic: Records, shares: Sequence[float]) -> dict[str, float]:
        """The errors of tables and of range queries, which hold these shares of the real rows."""
        domain, found = real.domain, {}
        for k in (1, 2, 3):
            cliques = [c for c in cliques_of(domain, k, TABLES, seed=1) if domain.cells(c) <= CELLS]
            found[f"{k}-way"] = mean_total_variation(real, synthetic, cliques)
        answers = np.array([query.share(synthetic) for query in self.queries])
        found["range"] = float(np.mean(np.abs(answers - shares)))
        return found


def find_set(folder: Path, name: str) -> tuple[Path, Path]:
    """The files of a data set: its table and its schema. Refuses a set that is not there, and says which are."""
    known = sets_in(folder)
    if name not in known:
        raise DataError(f"set {name!r} is not in {str(folder)!r}; it has {', '.join(known)}")
    return next(file for ending in ENDINGS if (file := folder / f"{name}{ending}").exists()), _schema(folder, name)


def sets_in(folder: Path) -> list[str]:
    """The names of the data sets in a folder. Refuses a folder that has none."""
    names = sorted({file.name.removesuffix(ending) for ending in ENDINGS for file in folder.glob(f"*{ending}")})
    names = [name for name in names if _schema(folder, name).exists()]
    if not names:
        raise DataError(f"{str(folder)!r} has no data set; give a folder with NAME.csv.gz and NAME.schema.json")
    return names


def data_set_schema(path: Path) -> Schema:
    """The schema of a public data set. Its rows are public, so what was observed in them may be known."""
    try:
        keys = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return Schema.load(path)  # says what is wrong
    if isinstance(keys, dict):
        keys = {key: value for key, value in keys.items() if key not in ("rows", "splits")}
        for column in keys.get("columns", ()):
            if isinstance(column, dict) and isinstance(source := column.get("domain_from"), str):
                column["domain_from"] = "known" if source.startswith("observed") else "declared"
    return Schema.parse(keys)


def check_classifiers(folder: Path, name: str) -> None:
    """Refuse a set with a label where the libraries for classifiers are not installed."""
    if data_set_schema(find_set(folder, name)[1]).label and not (find_spec("sklearn") and find_spec("lightgbm")):
        raise MethodError("the bench trains classifiers, which are not installed; install sfumato[evaluate]")


def _schema(folder: Path, name: str) -> Path:
    return folder / f"{name}.schema.json"
