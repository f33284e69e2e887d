import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.privacy.ledger import Statement

SCHEMA = {
    "name": "clinic",
    "label": "smoker",
    "columns": [
        {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 10},
        {"name": "sex", "type": "categorical", "categories": ["f", "m"], "nullable": True, "null_values": ["?"]},
        {"name": "smoker", "type": "boolean"},
        {"name": "bmi", "type": "number", "min": 10, "max": 60, "bins": 10, "decimals": 1},
        {"name": "seen", "type": "date", "min": "2024-01-01", "max": "2024-12-31", "granularity": "month"},
    ],
}


def table(rows=400):
    return pd.DataFrame(
        {
            "age": [(7 * i) % 100 for i in range(rows)],
            "sex": ["f" if i % 3 else ("m" if i % 2 else "?") for i in range(rows)],
            "smoker": ["true" if i % 4 == 0 else "false" for i in range(rows)],
            "bmi": [f"{15 + (i % 300) / 10:.1f}" for i in range(rows)],
            "seen": [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(rows)],
        }
    )


@pytest.fixture
def clinic(tmp_path):
    """A folder with a table and its schema."""
    table().to_csv(tmp_path / "clinic.csv", index=False)
    (tmp_path / "clinic.schema.json").write_text(json.dumps(SCHEMA))
    return tmp_path


def sfumato(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def synthesize(folder, *more, data="clinic.csv", schema="clinic.schema.json", epsilon="2", delta="1e-6", out="release"):
    options = ["--schema", folder / schema, "--epsilon", epsilon, "--out", folder / out]
    options += ["--delta", delta] if delta else []
    return sfumato("synthesize", folder / data, *options, *more)


def refused(result, folder, *words, out="release"):
    """Exit code 2, one explained line, no traceback, nothing written, nothing left behind."""
    assert result.exit_code == 2, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    message = result.stderr
    assert "Traceback" not in message
    for word in words:
        assert word in message
    assert not (folder / out).exists()
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_a_table_becomes_a_release(clinic):
    result = synthesize(clinic, "--rows", "250", "--seed", "3")
    assert result.exit_code == 0, result.output
    folder = clinic / "release"
    assert sorted(path.name for path in folder.iterdir()) == [
        *("answers.json", "croissant.json", "datapackage.json", "ledger.json", "manifest.json", "marginals", "model"),
        *("registry.yaml", "release.json", "schema.json", "synthetic.csv", "verify.py"),
    ]
    synthetic = pd.read_csv(folder / "synthetic.csv", dtype=str, keep_default_na=False)
    assert list(synthetic.columns) == ["age", "sex", "smoker", "bmi", "seen"]
    assert len(synthetic) == 250
    assert set(synthetic["sex"]) <= {"f", "m", "?"}
    assert synthetic["bmi"].str.fullmatch(r"\d\d\.\d").all()
    assert synthetic["seen"].str.fullmatch(r"2024-\d\d-01").all()
    description = json.loads((folder / "release.json").read_text())
    assert "epsilon = 2" in description["guarantee"]
    assert description["method"] == "auto"


def test_noisy_tables_are_published_with_their_deviation(clinic):
    synthesize(clinic, "--method", "privsyn")
    index = json.loads((clinic / "release" / "marginals" / "index.json").read_text())["tables"]
    assert [entry["columns"] for entry in index][:5] == [["age"], ["sex"], ["smoker"], ["bmi"], ["seen"]]
    age = pq.read_table(clinic / "release" / "marginals" / index[0]["file"]).to_pandas()
    assert list(age["age"]) == [f"{10 * i} … {10 * i + 9}" for i in range(10)]
    assert age["noisy_count"].dtype == "int64"
    assert (age["standard_deviation"] > 0).all()
    assert (abs(age["noisy_count"] - 40) < 8 * age["standard_deviation"]).all()


def test_json_for_programs(clinic):
    result = synthesize(clinic, "--json")
    report = json.loads(result.stdout)
    assert report["method"] == "auto"
    assert report["epsilon"] <= 2
    ledger = json.loads(sfumato("ledger", clinic / "release", "--json").stdout)
    assert Statement.from_dict(ledger).guarantee["epsilon"] == pytest.approx(report["epsilon"])
    broken = synthesize(clinic, "--json", epsilon="nan", out="other")
    assert broken.exit_code == 2
    assert json.loads(broken.stdout)["kind"] == "BudgetError"


def test_parquet_out_and_parquet_in(clinic):
    assert synthesize(clinic, "--format", "parquet").exit_code == 0
    result = synthesize(clinic, data="release/synthetic.parquet", out="again")
    assert result.exit_code == 0, result.output


def test_more_rows_are_free_and_repeatable(clinic):
    synthesize(clinic)
    ledger = (clinic / "release" / "ledger.json").read_text()
    one, two, three = (sfumato("sample", clinic / "release", "--rows", "40", "--seed", s).stdout for s in (1, 1, 2))
    assert one == two != three
    assert one.count("\n") == 41
    assert (clinic / "release" / "ledger.json").read_text() == ledger
    assert sfumato("sample", clinic / "release", "--rows", "9", "--out", clinic / "more.csv").exit_code == 0
    assert len(pd.read_csv(clinic / "more.csv")) == 9
    refused_again = sfumato("sample", clinic / "release", "--rows", "9", "--out", clinic / "more.csv")
    assert refused_again.exit_code == 2
    assert "exists already" in refused_again.stderr


def test_the_ledger_shows_every_event_and_the_guarantee(clinic):
    synthesize(clinic, "--method", "privsyn")
    result = sfumato("ledger", clinic / "release")
    text = " ".join(result.stdout.replace("│", " ").split())
    assert "table age" in text
    assert "dependence of 10 pairs" in text
    assert "Guarantee: epsilon" in result.stdout.replace("\n", " ")


def test_a_ledger_that_was_tampered_with_is_refused(clinic):
    synthesize(clinic)
    path = clinic / "release" / "ledger.json"
    record = json.loads(path.read_text())
    record["events"] += record["events"]
    path.write_text(json.dumps(record))
    result = sfumato("ledger", clinic / "release")
    assert result.exit_code == 2
    assert "cost more than its budget" in result.stderr


def test_methods_lists_privsyn():
    assert "privsyn" in sfumato("methods").stdout
    assert "privsyn" in json.loads(sfumato("methods", "--json").stdout)


def accepting(*columns):
    """The options that accept observed domains."""
    names = [text for name in columns for text in ("--accept-observed", name)]
    return [*names, "--accepted-by", "A. Steward", "--reason", "it is in the codebook"]


def test_schema_check_and_draft(clinic):
    assert sfumato("schema", "check", clinic / "clinic.csv", "--schema", clinic / "clinic.schema.json").exit_code == 0
    draft = sfumato("schema", "draft", clinic / "clinic.csv", "--out", clinic / "draft.json")
    assert draft.exit_code == 0
    assert "taken from the data" in draft.stderr
    drafted = json.loads((clinic / "draft.json").read_text())
    assert all(column["domain_from"].startswith("observed") for column in drafted["columns"])
    names = [column["name"] for column in drafted["columns"]]
    refused(synthesize(clinic, schema="draft.json"), clinic, "observed in the data", "--accept-observed")
    accepted = synthesize(clinic, *accepting(*names), schema="draft.json")
    assert accepted.exit_code == 0, accepted.output
    description = json.loads((clinic / "release" / "release.json").read_text())
    assert description["observed_domains_accepted"] == ["age", "sex", "smoker", "bmi", "seen"]
    assert "was observed in the data" in (clinic / "release" / "ledger.json").read_text()


def test_the_demo_runs(tmp_path):
    result = sfumato("demo", "--out", tmp_path / "demo", "--seed", "1")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "demo" / "synthetic.csv").exists()
    assert "2-way" in result.stdout


def test_a_pipe_sees_no_progress_and_no_noise_seed_exists(clinic):
    script = Path(sys.executable).with_name("sfumato")
    command = [script, "synthesize", clinic / "clinic.csv", "--schema", clinic / "clinic.schema.json"]
    command += ["--epsilon", "1", "--delta", "1e-6", "--out", clinic / "release", "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stderr == ""
    json.loads(result.stdout)
    help_text = subprocess.run([script, "synthesize", "--help"], capture_output=True, text=True, check=True).stdout
    assert help_text.count("--seed") == 1
    assert "Noise can never be seeded" in " ".join(help_text.replace("│", " ").split())


def test_views_of_a_user_and_ways_to_make_rows(clinic):
    (clinic / "views.json").write_text('[{"columns": ["age", "sex"], "weight": 2}, {"columns": ["bmi", "smoker"]}]')
    views = ("--views", clinic / "views.json", "--synthesizer", "min-cost-flow")
    result = synthesize(clinic, "--method", "dpsyn", *views)
    assert result.exit_code == 0, result.output
    index = json.loads((clinic / "release" / "marginals" / "index.json").read_text())["tables"]
    assert [entry["columns"] for entry in index][5:] == [["age", "sex"], ["smoker", "bmi"], ["seen"]]
    description = json.loads((clinic / "release" / "release.json").read_text())
    assert description["recipe"]["synthesize"]["part"] == "MinCostFlow"
    assert sfumato("card", clinic / "release", "--out", clinic / "card.html").exit_code == 0
    card = (clinic / "card.html").read_text()
    for stated in (str(description["recipe"]), card):  # what ran, not what the method is usually made of
        assert "GivenViews" in stated
        assert "MinCostFlow" in stated
        assert "RandomViews" not in stated
        assert "GradualUpdate" not in stated
    drawn = [
        sfumato("sample", clinic / "release", "--rows", "50", "--seed", "1", "--synthesizer", name).stdout
        for name in ("gradual-update", "min-cost-flow", "sorted-views")
    ]
    assert len(set(drawn)) == 3
    assert sfumato("sample", clinic / "release", "--rows", "50", "--seed", "1").stdout == drawn[1]


def test_a_method_of_pure_epsilon_gives_more_than_a_delta_asks_for(clinic):
    assert synthesize(clinic, "--method", "priview", delta="1e-6").exit_code == 0
    assert "(pure)" in json.loads((clinic / "release" / "release.json").read_text())["guarantee"]
