"""Rows of every method do not depend on the number of threads that draw them, and an interrupt ends all threads."""

import subprocess
import sys
from dataclasses import replace

import pyarrow as pa
import pytest
from test_recipes import every_recipe, fit_with, schema_of, table_of

from sfumato.release import drawing

COLUMNS = {"a": 4, "b": 3, "c": 5}


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(drawing, "PIECE", 300)
    monkeypatch.setattr(drawing, "BLOCK", 64)
    monkeypatch.setattr(drawing, "ENOUGH_ROWS", 300)


def ruled(schema):
    rule = {"if": {"a": ["1"]}, "then": {"b": ["0", "2"]}}
    return type(schema).parse(schema.to_dict() | {"rules": [rule]})


@pytest.mark.usefixtures("small_pieces")
@every_recipe
@pytest.mark.parametrize("with_rules", [False, True], ids=["plain", "rules"])
def test_rows_do_not_depend_on_the_number_of_threads(recipe, with_rules):
    schema = ruled(schema_of(COLUMNS)) if with_rules else schema_of(COLUMNS)
    release = fit_with(recipe, table_of(COLUMNS, 500), schema)
    for given in (None, {"a": ["0", "1"]}):
        drawn = [replace(release._drawing(1100, given), threads=number) for number in (1, 2, 4)]
        tables = [pa.concat_tables(one.blocks(seed=5)) for one in drawn]
        assert len(tables[0]) == 1100
        assert all(table.equals(tables[0]) for table in tables)
        assert len({(one.tally.rows, one.tally.repairs, one.tally.copies) for one in drawn}) == 1


INTERRUPTED = """
import os, signal, sys
from dataclasses import replace
from threading import Timer
from time import process_time
import numpy as np
import pyarrow as pa
import sfumato
from sfumato import tables
columns = [{"name": name, "type": "integer", "min": 0, "max": 19, "bins": 20} for name in "abcdef"]
rows = {name: np.random.default_rng(0).integers(0, 20, 300) for name in "abcdef"}
schema = sfumato.Schema.parse({"name": "test", "columns": columns})
release = sfumato.fit(pa.table(rows), schema, epsilon=3, delta=1e-6, method=sys.argv[1])
sent = []
def send():
    sent.append(process_time())
    os.kill(os.getpid(), signal.SIGINT)
Timer(1, send).start()
try:
    drawing = replace(release._drawing(50_000_000), threads=2)
    tables.write(drawing.blocks(1), sys.argv[2], schema)
except KeyboardInterrupt:
    print("heard", "soon" if process_time() - sent[0] < 2 else "late")
"""


@pytest.mark.parametrize("method", ["auto", "privsyn", "pgm", "privbayes", "dpview+", "dpsyn", "priview"])
def test_an_interrupt_ends_all_threads_soon(method, tmp_path):
    """Within a second of two threads' time, however busy the machine is; and no half of a file is left."""
    command = [sys.executable, "-c", INTERRUPTED, method, str(tmp_path / "rows.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["heard", "soon"]
    assert not list(tmp_path.iterdir())
