"""Tables of Spark by name: what a name means, what is refused, and that the command line counts where the rows are."""

import json

import pyarrow as pa
import pytest
from helpers_engines import NAMES, Places
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.engines import sources, spark
from sfumato.errors import DataError

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning"),
]

SCHEMA = {
    "name": "people",
    "columns": [
        {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 10},
        {"name": "city", "type": "categorical", "categories": ["Rome", "Oslo"]},
    ],
}


@pytest.mark.parametrize("name", ["spark:///", "spark://host/t", "spark:///a..b", "spark:///a.b.c.d", "spark:///a/b"])
def test_a_name_that_says_no_table_is_refused(name):
    assert spark.is_named(name)
    with pytest.raises(DataError, match="does not say which; write spark:///table"):
        spark.table_of(name)


def test_a_name_is_no_file():
    assert sources.kind_of("spark:///people") == "arrow"
    assert not spark.is_named("people.csv")


def test_without_spark_the_remedy_is_named(monkeypatch):
    monkeypatch.setattr(spark, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"pip install 'sfumato\[spark\]'"):
        spark.table_of("spark:///people")


@pytest.fixture
def places():
    made = Places()
    yield made
    made.close()


@pytest.mark.skipif("spark" not in NAMES, reason="make test-engines runs Spark")
def test_the_command_line_counts_a_table_of_spark(places, tmp_path):
    table = pa.table({"age": [number % 100 for number in range(60)], "city": ["Rome", "Oslo"] * 30})
    places.put("spark", table).write.saveAsTable("visits")
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    arguments = ["--schema", str(tmp_path / "schema.json"), "--epsilon", "100", "--delta", "1e-9", "--method", "pgm"]
    more = ["--out", str(tmp_path / "release"), "--yes", "made up", "--json"]
    done = CliRunner().invoke(app, ["synthesize", "spark:///default.visits", *arguments, *more])
    assert done.exit_code == 0, done.output
    assert abs(json.loads(done.stdout)["rows"] - 60) < 20
    missing = CliRunner().invoke(app, ["synthesize", "spark:///default.nothing", *arguments, *more[2:], "--out", "x"])
    assert missing.exit_code == 2
    assert "Spark has no table 'default.nothing'" in missing.output
