"""Pairs of columns that a method never looked at are counted, and the count is shown wherever a release speaks."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.cli import app
from sfumato.data.domain import Domain
from sfumato.report.card import card_of_release, card_report

SIZES = {"a": 200, "b": 150, "c": 2, "d": 3}


def schema():
    return {
        "name": "wide",
        "columns": [
            {"name": name, "type": "integer", "min": 0, "max": size - 1, "bins": size} for name, size in SIZES.items()
        ],
    }


def table(rows=2000):
    rng = np.random.default_rng(0)
    return {name: rng.integers(0, size, rows) for name, size in SIZES.items()}


def test_a_pair_is_small_if_one_of_the_two_fits_in_its_coarsest_form():
    domain = Domain({"a": 10, "b": 10, "c": 10})
    assert domain.pairs_above(100) == 0
    assert domain.pairs_above(99) == 3
    assert domain.pairs_above(99, {"a": 2}) == 1
    assert domain.pairs_above(19, {"a": 2}) == 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import pyarrow as pa
    import pyarrow.csv

    place = tmp_path_factory.mktemp("wide")
    pyarrow.csv.write_csv(pa.table(table()), place / "t.csv")
    (place / "s.json").write_text(json.dumps(schema()))
    return place


def test_the_summary_the_release_and_the_card_count_them(folder):
    out = folder / "release"
    command = ["synthesize", str(folder / "t.csv"), "--schema", str(folder / "s.json"), "--epsilon", "1"]
    done = CliRunner().invoke(app, [*command, "--method", "privbayes", "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    # 2,000 rows at epsilon 1 support far fewer cells than 200 x 150.
    counted = summary["pairs_too_large"]
    assert counted >= 1
    release = sfumato.Release.load(out)
    assert release.model.selection.too_large == counted
    (said,) = [warning for warning in release.warnings if "too many cells" in warning]
    assert said.startswith(f"{counted} of 6 pairs of columns have too many cells")
    assert said in summary["warnings"]
    assert said in card_report(card_of_release(release))


def test_nothing_is_said_where_every_pair_was_looked_at(folder):
    small = {**schema(), "columns": schema()["columns"][2:]}
    rows = {name: values for name, values in table().items() if name in "cd"}
    import pyarrow as pa

    release = sfumato.fit(pa.table(rows), sfumato.Schema.parse(small), epsilon=1, method="privbayes")
    assert release.model.selection.too_large == 0
    assert not [warning for warning in release.warnings if "too many cells" in warning]
