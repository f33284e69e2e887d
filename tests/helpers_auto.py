"""Tables of dependent columns for auto, and runs of it with scripted noise."""

import numpy as np

from helpers_entropy import ScriptedEntropy
from helpers_holders import holder_of
from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.pipeline import run
from sfumato.privacy.budget import ApproxDP
from sfumato.privacy.neighbours import Neighbours
from sfumato.recipes.auto import AUTO
from sfumato.schema.schema import Schema

COLUMNS = {"a": 4, "b": 3, "c": 5, "d": 2, "age": 60}


def schema_of(columns=COLUMNS, **more):
    """A schema of categories; `age` is a number."""
    kinds = [
        {"name": name, "type": "integer", "min": 0, "max": size - 1, "bins": size}
        if name.startswith("age")
        else {"name": name, "type": "categorical", "categories": [str(code) for code in range(size)]}
        for name, size in columns.items()
    ]
    return Schema.parse({"name": "test", "columns": kinds, **more})


def records_of(columns=COLUMNS, rows=3000, seed=0, dependent=0.8):
    """A chain of dependent columns."""
    rng = np.random.default_rng(seed)
    made, last = [], rng.random(rows)
    for size in columns.values():
        last = np.where(rng.random(rows) < dependent, last, rng.random(rows))
        made.append((last * size).astype(np.int64))
    return Records(Domain(columns), made)


def run_auto(records, schema, budget=None, seed=0, recipe=AUTO):
    """A model of the records, with noise that is the same in every run, and the ledger."""
    budget = budget or ApproxDP(1, "1e-6")
    holder, ledger = holder_of(records, budget, Neighbours.of(schema), ScriptedEntropy(seed))
    return run(recipe, holder, schema, ledger), ledger
