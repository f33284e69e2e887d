"""What noise will do is said before anything is spent, from the schema, the budget and a guess of rows alone."""

from dataclasses import replace

import pytest
from typer.testing import CliRunner

import sfumato
from helpers_terminal import run_on_terminal
from sfumato.cli import app
from sfumato.errors import NoiseWarning
from sfumato.job import Job, recipe_of
from sfumato.outlook import outlook
from sfumato.privacy.budget import budget_of
from sfumato.privacy.neighbours import Neighbours
from sfumato.release import Release
from sfumato.schema.schema import Schema
from sfumato.text import json_text


def keys(**more):
    wide = {"name": "diagnosis", "type": "categorical", "categories": [f"D{code}" for code in range(900)]}
    columns = [
        {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 20},
        wide,
        {"name": "ill", "type": "boolean"},
    ]
    return {"name": "visits", "columns": columns, **more}


def job(epsilon="1", delta="1e-9", method="privsyn", **more):
    return Job(Schema.parse(keys(**more)), recipe_of(method), budget_of(epsilon, delta))


@pytest.mark.parametrize("delta", [None, "1e-9"])
def test_the_noise_is_the_least_that_an_even_part_of_the_budget_pays_for(delta):
    one = job(delta=delta, method="auto")
    found = outlook(one, rows=10_000)
    budget, tables = one.opened, 3
    mean = found.columns["age"] * 2 / 20  # in one cell
    noise = budget.noise.calibrate(budget.total.amount / tables, Neighbours().marginal)
    assert mean == pytest.approx(noise.mean_absolute)
    assert noise.cost(Neighbours().marginal, budget.notion) * tables <= budget.total.amount
    assert found.columns["diagnosis"] == pytest.approx(mean * 900 / 2)
    assert len(found.pairs) == 3


def test_rows_of_a_person_and_of_the_table_count():
    one, five = outlook(job()), outlook(job(unit={"column": "patient", "rows": 5}))
    assert five.columns["age"] == pytest.approx(5 * one.columns["age"], rel=1e-3)
    assert outlook(job(), rows=one.rows_needed).one_way(one.rows_needed) < 0.2
    assert not any("columns (" in words for words in outlook(job(), rows=one.rows_needed).warnings)
    assert "diagnosis" in outlook(job(), rows=one.rows_needed // 2).warnings[0]


def test_counting_persons_needs_no_more_noise_than_one_row_each():
    unit = {"column": "patient", "rows": 5, "count": "persons"}
    assert outlook(job(unit=unit)).columns["age"] == pytest.approx(outlook(job()).columns["age"], rel=1e-2)


def test_joint_bins_are_those_of_pairs():
    fine = job()
    age = fine.schema["age"].model_copy(update={"joint_bins": 4})
    coarse = replace(fine, schema=fine.schema.model_copy(update={"columns": (age, *fine.schema.columns[1:])}))
    assert outlook(coarse).columns == outlook(fine).columns
    assert sum(outlook(coarse).pairs) < sum(outlook(fine).pairs)


@pytest.mark.filterwarnings("error::sfumato.errors.NoiseWarning")
def test_fit_warns_before_it_looks_at_the_table():
    with pytest.raises(NoiseWarning, match="noise will drown 1 of 3 columns"):
        sfumato.fit("no such file.csv", keys(rows_guess=2000), epsilon="0.1", delta="1e-9")


def test_without_a_guess_the_rows_that_are_needed_are_told():
    (words,) = outlook(job()).words
    assert f"fewer than about {outlook(job()).rows_needed:,} rows" in words
    assert outlook(job()).warnings == ()


def test_a_person_at_a_terminal_is_asked_before_paying(tmp_path):
    (tmp_path / "schema.json").write_text(json_text(keys(rows_guess=2000)))
    (tmp_path / "visits.csv").write_text("age,diagnosis,ill\n31,D7,true\n")
    words = ["--schema", tmp_path / "schema.json", "--epsilon", "0.1", "--delta", "1e-9", "--out", tmp_path / "out"]
    [(code, text)] = run_on_terminal(["synthesize", tmp_path / "visits.csv", *words], typed="n\n")
    assert code == 2
    assert "Spend the budget all the same?" in text
    assert "nothing was spent" in text
    assert not (tmp_path / "out").exists()


def test_where_nobody_can_be_asked_a_run_that_drowns_needs_a_reason(tmp_path):
    (tmp_path / "schema.json").write_text(json_text(keys(rows_guess=2000)))
    (tmp_path / "visits.csv").write_text("age,diagnosis,ill\n31,D7,true\n")
    words = ["--schema", tmp_path / "schema.json", "--epsilon", "0.1", "--delta", "1e-9", "--out", tmp_path / "out"]
    asked = ["synthesize", tmp_path / "no such file.csv", *words]
    for more in ((), ("--json",), ("--yes", " ")):
        result = CliRunner().invoke(app, [str(word) for word in (*asked, *more)])
        assert result.exit_code == 2
        assert "--yes REASON" in result.stderr
    assert not (tmp_path / "out").exists()
    asked[1] = tmp_path / "visits.csv"
    result = CliRunner().invoke(app, [str(word) for word in (*asked, "--method", "dpview", "--yes", "a trial")])
    assert result.exit_code == 0, result.output
    assert "warning: noise will drown" in result.stderr
    assert Release.load(tmp_path / "out").schema.notes.endswith("it was made: a trial")


def test_a_study_of_many_parties_is_warned_with_their_noise():
    once, thrice = (outlook(job(rows_guess=2000), parties=number).columns["age"] for number in (1, 3))
    assert thrice == pytest.approx(3 * once, rel=1e-2)
