"""`sfumato schema draft`, `edit` and `check`: from a messy file to a schema that a person stands for."""

import json
import os
import stat

import numpy as np
import pandas
import pytest
import yaml
from test_commands import sfumato
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.schema.schema import Schema


@pytest.fixture
def study(tmp_path):
    rng = np.random.default_rng(3)
    rows = 400
    table = pandas.DataFrame({f"symptom {i}": rng.choice(["Y", "N"], rows) for i in range(30)})
    table["age"] = rng.integers(18, 95, rows)
    table["dose"] = rng.choice([2.5, 5.0, 10.0], rows)
    table["seen"] = pandas.to_datetime("2020-01-01") + pandas.to_timedelta(rng.integers(0, 900, rows), "D")
    table["site"] = rng.choice(["north", "south", "west"], rows)
    table["note"] = [f"the patient number {i} felt well today" for i in range(rows)]
    table.to_csv(tmp_path / "trial.csv", index=False, sep=";", decimal=",")
    return tmp_path


def edit(*words, typed):
    return CliRunner().invoke(app, ["schema", "edit", *map(str, words)], input="\n".join(typed) + "\n")


def test_a_wide_draft_is_confirmed_in_a_few_answers(study):
    result = sfumato("schema", "draft", study / "trial.csv", "--out", study / "trial.yaml")
    assert result.exit_code == 0, result.output
    assert "note: ignore. free text: 400 different values" in result.stderr
    assert "read with separator ';'" in result.stderr
    drafted = Schema.load(study / "trial.yaml")
    assert drafted.ignore == ("note",)
    assert len(drafted.unaccepted) == 34
    typed = ["k", "form 3", "b", "b", "0", "120", "k", "leaflet", "a", "A. Steward", "dates are on our web site", "i"]
    typed += [""] * 4  # nothing to say about the table as a whole
    result = edit(study / "trial.yaml", typed=typed)
    assert result.exit_code == 0, result.output
    assert "16 answers; 0 of 33 columns are still to be confirmed" in " ".join(result.output.split())
    schema = Schema.load(study / "trial.yaml")
    assert (schema["age"].min, schema["age"].max, schema["age"].domain_from) == (0, 120, "declared")
    assert schema["symptom 7"].note == "form 3"
    assert schema.observed == ("seen",)
    assert schema.accept_observed[0].by == "A. Steward"
    assert schema.ignore == ("note", "site")
    assert stat.S_IMODE(os.stat(study / "trial.yaml").st_mode) == 0o600
    assert sfumato("schema", "check", study / "trial.csv", "--schema", study / "trial.yaml").exit_code == 0


def test_questions_about_the_table_come_last(tmp_path):
    age = {"name": "age", "type": "integer", "min": 0, "max": 120, "domain_from": "observed"}
    days = [
        {"name": name, "type": "date", "min": "2020-01-01", "max": "2021-12-31"} for name in ("born", "seen", "left")
    ]
    site = {"name": "site", "type": "categorical", "categories": ["north", "south"]}
    person = {"name": "person", "type": "categorical", "categories": ["p1", "p2"]}
    rules = [{"less_or_equal": ["born", "seen"]}, {"less_or_equal": ["born", "left"]}]
    file = tmp_path / "s.yaml"
    file.write_text(yaml.safe_dump({"name": "t", "columns": [age, *days, site, person], "rules": rules}))
    typed = ["v", "999, 998", "k", "form 3", "person", "no", "person", "3", "site", "9", "2"]
    typed += ["{less_or_equal: [seen, nothing]}", "{", '{"less_or_equal": ["seen", "left"]}', "", "12345", "10000"]
    result = edit(file, typed=typed)
    assert result.exit_code == 0, result.output
    assert "2. born <= left" in result.output
    assert result.output.count("That cannot be") == 5  # no number, no rule 9, no column, no YAML, no public guess
    schema = Schema.load(file)
    assert schema["age"].special == (999, 998)
    assert (schema.unit.column, schema.unit.rows, schema.label, schema.rows_guess) == ("person", 3, "site", 10_000)
    assert "person" not in schema.names
    assert list(map(str, schema.rules)) == ["born <= seen", "seen <= left"]
    edit(file, typed=["-", "", "", "", ""])
    assert Schema.load(file).unit.column is None


def test_what_was_read_from_the_rows_stays_observed_until_a_person_confirms_it(tmp_path):
    days = [{"name": name, "type": "date", "min": "2020-01-01", "max": "2021-12-31"} for name in ("born", "seen")]
    seen = {
        "name": "t",
        "columns": days,
        "ignore": ["note"],
        "unit": {"column": "person", "rows": 6, "rows_from": "observed"},
        "rules": [{"less_or_equal": ["born", "seen"]}],
        "rules_from": "observed",
    }
    file = tmp_path / "s.yaml"
    file.write_text(yaml.safe_dump(seen))
    assert Schema.load(file).unaccepted == ("rules", "unit.rows")
    result = edit(file, typed=[""] * 7)  # Enter confirms nothing
    assert "Still to be confirmed: the rules." in result.output
    assert Schema.load(file).unaccepted == ("rules", "unit.rows")
    result = edit(file, typed=["persn", "persn?", "", "5", "", "", "a", "A. Steward", "all rules of its kind", "", ""])
    assert "did you mean person?" in result.output
    schema = Schema.load(file)
    assert (schema.unit.rows, schema.observed, schema.unaccepted) == (5, ("rules",), ())
    assert schema.accept_observed[0].columns == ("rules",)
    file.write_text(yaml.safe_dump(seen))
    edit(file, typed=["", "a", "A. Steward", "a number of ours", "", "", "k", "", ""])
    assert Schema.load(file).observed == ("unit.rows",)
    edit(file, typed=["-", "", "1", "", ""])  # no persons, no rule: nothing is left to have accepted
    assert (Schema.load(file).observed, Schema.load(file).accept_observed) == ((), ())


def test_a_codebook_answers_for_the_columns_that_it_lists(tmp_path):
    columns = [
        {"name": "sex", "type": "categorical", "categories": ["f", "m"]},
        {"name": "site", "type": "categorical", "categories": ["north", "south"]},
        {"name": "age", "type": "integer", "min": 18, "max": 91},
        {"name": "grade", "type": "integer", "min": 2, "max": 4, "nullable": True, "null_values": ["9"]},
        {"name": "group", "type": "categorical", "categories": ["young", "old"]},
        {"name": "dose", "type": "number", "min": 2.5, "max": 10, "values": [2.5, 10.0]},
    ]
    columns[4]["derived"] = {"of": "age", "edges": [18, 65, 91], "values": ["young", "old"]}
    keys = {"name": "t", "columns": [column | {"domain_from": "observed"} for column in columns]}
    (tmp_path / "s.json").write_text(json.dumps(keys))
    lines = ["column;value;meaning;min;max;Description", "sex;f;female;;;", "sex;m;male;;;", "sex;x;other;;;"]
    lines += ["site;north;;;;", "age;;;0;120;in years", "other;1;;;;", "dose;2.5;;;;", "dose;5;;;;", "dose;10;;;;"]
    lines += [f"grade;{one};;;;" for one in (1, 2, 3, 4, 5, 9)]
    (tmp_path / "book.csv").write_text("\n".join(lines), encoding="utf-8-sig")
    result = edit(tmp_path / "s.json", "--codebook", tmp_path / "book.csv", typed=["q"])
    assert "4 columns are as" in result.output
    assert "Not settled: site: 1 values of the draft are not in the codebook (south)" in result.output
    schema = Schema.load(tmp_path / "s.json")
    assert schema.unaccepted == ("site", "group")
    assert schema["sex"].categories == ("f", "m", "x")
    assert (schema["age"].min, schema["age"].max, schema["age"].description) == (0, 120, "in years")
    assert schema["age"].domain_from == "codebook"
    assert schema["group"].derived.edges == (0, 65, 120)
    assert (schema["grade"].min, schema["grade"].max) == (1, 5)
    assert schema["dose"].values == (2.5, 5, 10)
    (tmp_path / "none.csv").write_text("a,b\n1,2\n")
    refused = edit(tmp_path / "s.json", "--codebook", tmp_path / "none.csv", typed=["q"])
    assert refused.exit_code == 2
    assert "first line has 'column'" in refused.output


def test_an_interrupted_edit_goes_on_where_it_was(study):
    sfumato("schema", "draft", study / "trial.csv", "--out", study / "draft.json")
    before = (study / "draft.json").read_text()
    edit(study / "draft.json", "--out", study / "mine.json", typed=["k", "form 3", "x", "s", "q"])
    assert (study / "draft.json").read_text() == before
    assert len(Schema.load(study / "mine.json").unaccepted) == 4
    result = edit(study / "draft.json", "--out", study / "mine.json", typed=["o", "b", "9", "no", "b", "50", "10", "q"])
    assert "'no' is not a number" in result.output
    assert "That cannot be: column 'age'" in result.output
    assert len(Schema.load(study / "mine.json").unaccepted) == 4


def test_a_draft_for_programs(study):
    found = json.loads(sfumato("schema", "draft", study / "trial.csv", "--json").stdout)
    assert found["schema"]["read"] == {"separator": ";"}
    assert {"column": "note", "proposal": "ignore"}.items() <= found["findings"][-1].items()
    assert yaml.safe_load(sfumato("schema", "draft", study / "trial.csv", "--keep", "note").stdout)["columns"]


def test_all_problems_are_listed_at_once_without_a_value(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c\n1,x,5\nsecret,y,500\n2,x,6\n")
    columns = [
        {"name": "a", "type": "integer", "min": 0, "max": 9},
        {"name": "b", "type": "categorical", "categories": ["x"]},
        {"name": "c", "type": "integer", "min": 0, "max": 9, "nullable": True, "on_bad_value": "missing"},
    ]
    (tmp_path / "s.json").write_text(json.dumps({"name": "t", "columns": columns}))
    result = sfumato("schema", "check", tmp_path / "t.csv", "--schema", tmp_path / "s.json")
    assert result.exit_code == 2
    assert "column 'a': a value is not a whole number" in result.stderr
    assert "column 'b': a value is not among those declared" in result.stderr
    assert "note: column 'c': a value lies outside min 0 and max 9; it counts as missing" in result.stderr
    assert "secret" not in result.output
    shown = sfumato("schema", "check", tmp_path / "t.csv", "--schema", tmp_path / "s.json", "--show-lines")
    assert shown.exit_code == 2
    assert "terminal only" in shown.stderr
    assert "secret" not in shown.output


def test_lines_are_shown_on_a_terminal(tmp_path):
    from helpers_terminal import run_on_terminal

    (tmp_path / "t.csv").write_text("a\n1\nsecret\n")
    schema = {"name": "t", "columns": [{"name": "a", "type": "integer", "min": 0, "max": 9}]}
    (tmp_path / "s.json").write_text(json.dumps(schema))
    command = ("schema", "check", tmp_path / "t.csv", "--schema", tmp_path / "s.json", "--show-lines")
    ((code, text),) = run_on_terminal(command)
    assert code == 2
    assert "line 3: secret" in text
