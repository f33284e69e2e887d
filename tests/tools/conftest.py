"""The tools that exchange schemas and tables with us, in an environment of their own: make test-tools."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.fitting import fit
from sfumato.schema.schema import Schema

if "SFUMATO_TOOLS" not in os.environ:
    collect_ignore_glob = ["test_*.py"]

VISITS = {
    "name": "visits",
    "columns": [
        {"name": "sex", "type": "categorical", "categories": ["f", "m"]},
        {"name": "grade", "type": "categorical", "categories": ["low", "o'hara", "high"], "ordered": True},
        {"name": "smokes", "type": "boolean"},
        {"name": "age", "type": "integer", "min": 0, "max": 120, "bins": 12, "outside": "clip"},
        {"name": "weight", "type": "number", "min": 0.0, "max": 250.5, "decimals": 1, "nullable": True},
        {"name": "born", "type": "date", "min": "1900-01-01", "max": "2024-12-31", "granularity": "year"},
    ],
}


def frame(rows=400):
    """A table that fits the schema, with every kind of column and some missing weights."""
    rng = np.random.default_rng(0)
    weight = np.round(rng.uniform(20, 120, rows), 1)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "grade": rng.choice(["low", "o'hara", "high"], rows),
            "smokes": rng.random(rows) < 0.3,
            "age": rng.integers(0, 100, rows),
            "weight": np.where(rng.random(rows) < 0.1, np.nan, weight),
            "born": [
                f"{year}-0{month}-1{day}" for year, month, day in rng.integers([1920, 1, 0], [2020, 9, 9], (rows, 3))
            ],
        }
    )


@pytest.fixture(scope="session")
def visits():
    return frame()


@pytest.fixture(scope="session")
def release(visits, tmp_path_factory):
    """A release of the table, as a folder."""
    folder = tmp_path_factory.mktemp("visits") / "release"
    fit(visits, VISITS, epsilon=5, delta=1e-9, method="pgm").save(folder)
    return folder


@pytest.fixture
def sfumato(tmp_path):
    """The command line, in this process; what it printed, after it has ended well."""

    def run(*words):
        done = CliRunner().invoke(app, [str(word) for word in words])
        assert done.exit_code == 0, done.output
        return done.output

    return run


@pytest.fixture
def bring_in(sfumato, tmp_path):
    """`schema import` of a file: its columns by name, and what was printed. Nothing it brings in is confirmed."""

    def run(file, tool):
        out = tmp_path / f"imported-{file.name}.json"
        said = sfumato("schema", "import", file, "--from", tool, "--out", out)
        keys = json.loads(out.read_text())
        assert all(column["domain_from"].startswith("observed, imported from") for column in keys["columns"])
        return {column["name"]: column for column in keys["columns"]}, said

    return run


@pytest.fixture
def send_out(sfumato, tmp_path):
    """`schema export` of the schema: the file, and what was printed."""

    def run(tool):
        Schema.parse(VISITS)
        (tmp_path / "visits.schema.json").write_text(json.dumps(VISITS))
        said = sfumato("schema", "export", tmp_path / "visits.schema.json", "--to", tool, "--out", tmp_path / "out")
        return tmp_path / "out", said

    return run
