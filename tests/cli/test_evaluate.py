"""`sfumato evaluate`: both files or nothing, stamped, and every bad input refused with exit code 2."""

import json

import pytest
from test_commands import SCHEMA, clinic, sfumato, synthesize, table

from helpers_html import read
from sfumato.report import assessment
from sfumato.report.assessment import FAST

__all__ = ["clinic"]  # the fixture


@pytest.fixture
def released(clinic):
    """The clinic with a release."""
    assert synthesize(clinic, "--seed", "1").exit_code == 0
    return clinic


def evaluate(
    folder, *more, real="clinic.csv", synthetic="release/synthetic.csv", schema="clinic.schema.json", out="r.html"
):
    options = ("--schema", folder / schema, "--out", folder / out, "--fast")
    return sfumato("evaluate", folder / real, folder / synthetic, *options, *more)


def refused(result, folder, *words):
    """Exit code 2, an explanation, no file."""
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr
    assert not [path for path in folder.iterdir() if path.suffix in (".html",) or path.name.startswith(".")]
    assert not (folder / "r.json").exists()


def test_a_report_and_its_figures(released):
    result = evaluate(released, "--release", released / "release")
    assert result.exit_code == 0, result.output
    assert "INTERNAL, NOT PRIVATE" in " ".join(result.stdout.split())
    figures = json.loads((released / "r.json").read_text())
    text = read((released / "r.html").read_text()).text
    assert [column["name"] for column in figures["columns"]] == ["age", "sex", "smoker", "bmi", "seen"]
    assert [score["classifier"] for score in figures["classifiers"]["trained_on_synthetic"]] == list(FAST.classifiers)
    for score in figures["classifiers"]["trained_on_real"]:
        assert f"{score['accuracy']:.3f}" in text
    assert figures["release"]["method"] == "auto"
    assert "INTERNAL, NOT PRIVATE" in figures["stamp"]
    assert sorted(path.name for path in released.iterdir() if path.name.startswith("r.")) == [
        "r.figures.csv",
        "r.html",
        "r.json",
    ]


def test_json_for_programs(released, monkeypatch):
    monkeypatch.setattr(assessment, "FAST", assessment.Effort(("decision tree",), 100, 5, 20, 3))
    result = evaluate(released, "--json")
    report = json.loads(result.stdout)
    assert report["classifiers"] == 1
    figures = json.loads((released / "r.json").read_text())
    assert report["total_variation"] == {str(one["columns"]): one["mean"] for one in figures["tables"]}
    again = evaluate(released, "--json")
    assert again.exit_code == 2
    assert "exists already" in json.loads(again.stdout)["error"]


def test_missing_and_unreadable_files(released):
    refused(evaluate(released, real="nowhere.csv"), released, "nowhere.csv")
    refused(evaluate(released, synthetic="nowhere.csv"), released, "nowhere.csv")
    refused(evaluate(released, schema="nowhere.json"), released, "nowhere.json")
    refused(evaluate(released, "--release", released / "nowhere"), released, "nowhere")
    refused(evaluate(released, "--release", released), released, "release.json")


def test_a_schema_that_does_not_fit(released):
    fewer = {**SCHEMA, "columns": SCHEMA["columns"][:4]}
    (released / "fewer.json").write_text(json.dumps(fewer))
    refused(evaluate(released, schema="fewer.json"), released, "seen")
    narrow = json.loads(json.dumps(SCHEMA))
    narrow["columns"][0]["max"] = 50
    (released / "narrow.json").write_text(json.dumps(narrow))
    refused(evaluate(released, schema="narrow.json"), released, "age")
    other = json.loads(json.dumps(SCHEMA))
    other["columns"][0]["bins"] = 5
    (released / "other.json").write_text(json.dumps(other))
    result = evaluate(released, "--release", released / "release", schema="other.json")
    refused(result, released, "other columns or values")


def test_a_table_without_rows(released):
    table(0).to_csv(released / "clinic.csv", index=False)
    refused(evaluate(released), released, "no rows")


@pytest.mark.parametrize("taken", ["r.html", "r.json"])
def test_an_existing_file_is_refused_before_any_work(released, taken):
    (released / taken).write_text("mine")
    result = evaluate(released, real="nowhere.csv", schema="nowhere.json")  # not even looked at
    assert result.exit_code == 2
    assert "exists already" in result.stderr
    assert (released / taken).read_text() == "mine"


def test_bad_names_for_the_report(released):
    refused(evaluate(released, out="r.json"), released, ".html")
    refused(evaluate(released, out="nowhere/r.html"), released, "nowhere")
