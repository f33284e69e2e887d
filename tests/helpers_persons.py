"""Tables of persons with several rows each, and holders of them."""

from itertools import product

import pyarrow as pa

from sfumato.privacy.budget import ZCDP
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.opening import open_local
from sfumato.schema.schema import Schema

CELLS = list(product("xy", "pqr"))
OTHERS = [[], [[("x", "p")] * 2, [("y", "q"), ("x", "r"), ("x", "p")]]]


def schema_of(rows=3, count="persons", **unit):
    columns = [
        {"name": "a", "type": "categorical", "categories": ["x", "y"]},
        {"name": "b", "type": "categorical", "categories": ["p", "q", "r"]},
    ]
    unit = {"rows": rows, "column": "who", "count": count, **unit}
    return Schema.parse({"name": "visits", "columns": columns, "unit": unit})


def table_of(persons):
    """One list of cells for each person."""
    rows = [(f"person {name}", *cell) for name, cells in enumerate(persons) for cell in cells]
    who, a, b = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table({"who": pa.array(who, pa.string()), "a": pa.array(a, pa.string()), "b": pa.array(b, pa.string())})


def held(persons, schema, budget=None):
    ledger = Ledger(budget or ZCDP(1), str(Neighbours.of(schema)))
    return open_local(table_of(persons), schema, ledger), ledger
