"""How much memory the rows take beyond the table that was given: at most 1.5 bytes for each value of small columns."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource
import numpy as np
import pyarrow as pa
from sfumato.privacy.budget import PureDP
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.opening import open_local
from sfumato.schema.schema import Schema

ROWS, COLUMNS = {rows}, 20

def schema(columns):
    kinds = [{{"name": f"c{{i}}", "type": "integer", "min": 0, "max": 255}} for i in range(columns)]
    return Schema.parse({{"name": "wide", "columns": kinds}})

def table(rows, columns):
    codes = np.arange(rows, dtype=np.uint32)
    return pa.table({{f"c{{i}}": pa.array((codes * (2 * i + 3) >> 3).astype(np.uint8)) for i in range(columns)}})

def measured(given, rows, columns):
    holder = open_local(given, schema(columns), Ledger(PureDP(10), "test"))
    names = holder.domain.names
    cliques = [(one, other) for one, other in zip(names, names[1:])]
    tables = holder.measure(cliques, PureDP(10).total.split([1.0] * len(cliques)))
    assert abs(tables[0].marginal.total - rows) < rows

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * {unit}

measured(table(1 << 17, COLUMNS), 1 << 17, COLUMNS)  # what is imported, allocated once and kept
before = peak()
given = table(ROWS, COLUMNS)
measured(given, ROWS, COLUMNS)
print((peak() - before - given.nbytes) / (ROWS * COLUMNS))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no resource module")
def test_rows_take_at_most_one_and_a_half_bytes_a_value_beyond_the_table():
    program = PROGRAM.format(rows=2_000_000, unit=1024 if sys.platform == "linux" else 1)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(done.stdout) <= 1.5
