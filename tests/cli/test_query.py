"""`sfumato query`: a table for people on a terminal, CSV in a pipe, JSON for programs, and no file overwritten."""

import csv
import importlib
import io
import json

import pandas as pd
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from test_commands import clinic, sfumato, synthesize

from sfumato.release import Release
from sfumato.release.answers import FIGURES

__all__ = ["clinic"]  # the fixture

# The package names the command `query` as well, which hides the module.
module = importlib.import_module("sfumato.cli.query")


@pytest.fixture
def release(clinic):
    assert synthesize(clinic, epsilon="5").exit_code == 0
    return clinic / "release"


def test_a_pipe_gets_csv(release):
    result = sfumato("query", release, "sex, smoker")
    assert result.exit_code == 0, result.output
    lines = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [(line["sex"], line["smoker"]) for line in lines] == [
        (sex, smoker) for sex in ("f", "m", "(missing)") for smoker in ("false", "true")
    ]
    found = Release.load(release).marginal("sex", "smoker").to_pandas()
    assert [float(line["count"]) for line in lines] == pytest.approx(list(found["count"]))
    assert sum(float(line["count"]) for line in lines) == pytest.approx(400, abs=100)


def test_json_for_programs(release):
    report = json.loads(sfumato("query", release, "age", "--json").stdout)
    assert report["columns"] == ["age"]
    assert [cell["age"] for cell in report["cells"]] == [f"{10 * i} … {10 * i + 9}" for i in range(10)]
    assert all(cell["standard_error"] is None or cell["standard_error"] > 0 for cell in report["cells"])


def terminal(monkeypatch, *arguments):
    screen = io.StringIO()
    monkeypatch.setattr(module, "out", Console(file=screen, force_terminal=True, color_system=None, width=100))
    assert sfumato("query", *arguments).exit_code == 0
    return screen.getvalue()


def test_a_terminal_gets_a_table(release, monkeypatch):
    shown = terminal(monkeypatch, release, "sex,smoker")
    assert "(missing)" in shown
    assert all(name in shown for name in FIGURES)
    assert "fullest" not in shown


def test_a_terminal_gets_only_the_fullest_of_many_cells(release, monkeypatch):
    shown = terminal(monkeypatch, release, "age,bmi")
    assert "The 60 fullest of 100 cells" in shown
    counts = Release.load(release).marginal("age", "bmi").to_pandas()["count"]
    assert f"{counts.max():,.1f}" in shown


def test_a_new_file_is_written_and_never_overwritten(release):
    for name in ("answer.csv", "answer.parquet"):
        file = release.parent / name
        report = json.loads(sfumato("query", release, "sex,age", "--out", file, "--json").stdout)
        assert {key: report[key] for key in ("file", "cells")} == {"file": str(file), "cells": 30}
        before = file.read_bytes()
        again = sfumato("query", release, "sex", "--out", file)
        assert again.exit_code == 2
        assert "exists already" in again.stderr
        assert file.read_bytes() == before
    one, two = pd.read_csv(release.parent / "answer.csv"), pq.read_table(release.parent / "answer.parquet").to_pandas()
    assert list(one.columns) == list(two.columns) == ["sex", "age", *FIGURES]
    assert list(one["sex"]) == list(two["sex"])
    assert list(one["count"]) == pytest.approx(list(two["count"]))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("age,weight", "column 'weight' is not in the table; it has age, sex, smoker, bmi, seen"),
        ("age,sex,age", "age occur twice"),
        ("", "no columns were asked for"),
        ("age,,sex", "column '' is not in the table"),
    ],
)
def test_wrong_columns_are_explained(release, columns, words):
    result = sfumato("query", release, columns)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stdout == ""
    as_json = sfumato("query", release, columns, "--json")
    assert words in json.loads(as_json.stdout)["error"]


def test_a_wrong_folder_or_file_is_explained(release):
    missing = sfumato("query", release.parent / "nowhere", "age")
    assert missing.exit_code == 2
    assert "is not a folder" in missing.stderr
    ending = sfumato("query", release, "age", "--out", release.parent / "answer.xls")
    assert ending.exit_code == 2
    assert "give .csv or .parquet" in ending.stderr
    nowhere = sfumato("query", release, "age", "--out", release.parent / "nowhere" / "answer.csv")
    assert nowhere.exit_code == 2
    assert "nowhere' is not a folder; make it first" in nowhere.stderr


def test_a_name_with_a_comma_is_quoted(tmp_path):
    schema = {"name": "odd", "columns": [{"name": "a,b", "type": "boolean"}, {"name": "c", "type": "boolean"}]}
    (tmp_path / "odd.json").write_text(json.dumps(schema))
    (tmp_path / "odd.csv").write_text('"a,b",c\n' + "true,false\nfalse,true\n" * 50)
    synthesize(tmp_path, data="odd.csv", schema="odd.json")
    result = sfumato("query", tmp_path / "release", '"a,b",c')
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith('"a,b","c","count","standard_error","low","high","unbiased"')


def test_why_there_is_no_interval_is_said_beside_the_table(tmp_path):
    columns = [{"name": name, "type": "categorical", "categories": [*"uvwxyz"]} for name in "abc"]
    (tmp_path / "three.json").write_text(json.dumps({"name": "three", "columns": columns}))
    (tmp_path / "three.csv").write_text("a,b,c\n" + "u,v,w\nx,y,z\n" * 50)
    (tmp_path / "views.json").write_text(json.dumps([{"columns": ["a", "b"]}, {"columns": ["b", "c"]}]))
    made = sfumato(
        *("synthesize", tmp_path / "three.csv", "--schema", tmp_path / "three.json", "--epsilon", "5"),
        *("--method", "priview", "--views", tmp_path / "views.json", "--out", tmp_path / "release"),
    )
    assert made.exit_code == 0, made.output
    result = sfumato("query", tmp_path / "release", "a,c")
    assert "No interval: no noisy table holds a, c together" in " ".join(result.stderr.split())
    assert ",,,," in result.stdout
    report = json.loads(sfumato("query", tmp_path / "release", "a,c", "--json").stdout)
    assert "no noisy table holds a, c together" in report["no_interval"]
    held = json.loads(sfumato("query", tmp_path / "release", "a,b", "--json", "--confidence", "0.9").stdout)
    assert "no_interval" not in held
    assert held["confidence"] == 0.9
    wrong = sfumato("query", tmp_path / "release", "a", "--confidence", "95")
    assert wrong.exit_code == 2
    assert "the confidence is 95; give a number from 0.5 to 0.9999" in wrong.stderr


def test_means_of_a_column_in_each_cell(release):
    report = json.loads(sfumato("query", release, "smoker", "--mean", "bmi", "--json").stdout)
    assert [cell["smoker"] for cell in report["cells"]] == ["false", "true"]
    for cell in report["cells"]:
        assert cell["low"] is None or cell["low"] <= cell["high"]
    text = sfumato("query", release, "smoker", "--mean", "sex")
    assert text.exit_code == 2
    assert "column 'sex' is of type categorical; a mean or a sum wants a column of numbers" in text.stderr
