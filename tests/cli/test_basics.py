"""The command line as a newcomer meets it, and the same from Python."""

import json
import shlex
import subprocess
import sys

import numpy as np
import pandas
import pyarrow as pa
import pytest
import typer
from test_commands import SCHEMA, clinic, sfumato, synthesize, table

import sfumato as package
from sfumato.cli import app
from sfumato.cli.console import left
from sfumato.errors import SchemaError

__all__ = ["clinic"]  # the fixture


def test_the_version_tells_about_the_kernels():
    found = sfumato("--version")
    assert found.exit_code == 0
    assert found.stdout.startswith(f"sfumato {package.__version__} (kernels ")


def test_our_warnings_are_told_once_and_those_for_programmers_not_at_all():
    script = """
import sys, warnings
from contextlib import suppress
from sfumato.cli import main
from sfumato.errors import IntakeWarning, NoiseWarning

sys.argv[1:] = ["--version"]
with suppress(SystemExit):
    main()
for kind in (IntakeWarning, IntakeWarning, NoiseWarning, DeprecationWarning, ResourceWarning):
    warnings.warn_explicit(kind.__name__, kind, "library.py", 1, module="library")
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stderr.splitlines() == ["warning: IntakeWarning", "warning: NoiseWarning"]


def test_help_has_groups_and_completion():
    text = sfumato("--help").stdout
    for words in ("First steps", "Use and check a release", "Many parties", "--install-completion"):
        assert words in text


def test_lines_are_whole_in_a_pipe(clinic):
    result = synthesize(clinic)
    assert any(line.startswith("Guarantee: ") and line.endswith("%).") for line in result.stdout.splitlines())


def test_quiet_says_nothing_more(clinic):
    result = sfumato(
        *("--quiet", "synthesize", clinic / "clinic.csv", "--schema", clinic / "clinic.schema.json"),
        *("--epsilon", "2", "--delta", "1e-6", "--out", clinic / "release"),
    )
    assert result.exit_code == 0
    assert result.stdout == ""


def test_verbose_tells_stages_in_a_pipe(clinic):
    result = sfumato(
        *("--verbose", "synthesize", clinic / "clinic.csv", "--schema", clinic / "clinic.schema.json"),
        *("--epsilon", "2", "--delta", "1e-6", "--out", clinic / "release"),
    )
    stages = [line.split(" s: ")[1] for line in result.stderr.splitlines() if " s: " in line]
    assert stages == ["read", "encode", "learn", "reconcile", "synthesize", "done"]


def test_tables_have_no_boxes_in_a_pipe(clinic):
    synthesize(clinic)
    for words in (["ledger", clinic / "release"], ["methods"]):
        text = sfumato(*words).stdout
        assert not set(text) & set("│┃━─┌└")
        assert any("\t" in line for line in text.splitlines())
        assert len({line.count("\t") for line in text.splitlines() if "\t" in line}) == 1


def test_every_command_that_asks_nothing_speaks_json():
    def commands(group, path=()):
        for name, one in group.commands.items():
            yield from commands(one, (*path, name)) if hasattr(one, "commands") else [((*path, name), one)]

    without = {
        path
        for path, one in commands(typer.main.get_command(app))
        if not any("--json" in parameter.opts for parameter in one.params)
    }
    assert without == {("schema", "edit"), ("app",), ("bench",), ("account", "add"), ("party", "approve")}


def test_a_loop_says_how_long_it_will_take():
    assert left("sweeps", 5, 20, 10.0) == "5 of 20 sweeps, 30 s left"
    assert left("sweeps", 0, 20, 0.0) == "0 of 20 sweeps"


def test_a_budget_that_promises_nothing_needs_a_reason(clinic):
    asked = ("--epsilon", "100", "--delta", "0.1")
    base = ("synthesize", clinic / "clinic.csv", "--schema", clinic / "clinic.schema.json", "--out", clinic / "r")
    refused = sfumato(*base, *asked)
    assert refused.exit_code == 2
    assert "right 100.00% of the time" in refused.stderr
    assert "chance that the promise fails" in refused.stderr
    assert not (clinic / "r").exists()
    assert sfumato(*base, *asked, "--yes", "  ").exit_code == 2
    assert sfumato(*base, *asked, "--yes", "made-up rows").exit_code == 0
    assert "made-up rows" in json.loads((clinic / "r" / "schema.json").read_text())["notes"]


def test_a_card_has_a_place_of_its_own(clinic):
    synthesize(clinic)
    assert sfumato("card", clinic / "release").exit_code == 0
    assert (clinic / "release-card.html").exists()


def test_the_demo_leaves_what_its_commands_need(tmp_path):
    result = sfumato("demo", "--out", tmp_path / "demo", "--seed", "1")
    assert result.exit_code == 0, result.output
    commands = {"ledger", "sample", "card", "synthesize"}
    lines = [line for line in result.stdout.splitlines() if commands.intersection(line.split()[1:2])]
    assert len(lines) == 4
    for line in lines:
        found = sfumato(*shlex.split(line)[1:])
        assert found.exit_code == 0, (line, found.output)
    assert (tmp_path / "demo-2" / "synthetic.csv").exists()


def test_python_has_what_the_command_line_has(clinic, tmp_path):
    found = package.draft(clinic / "clinic.csv")
    assert {one.column for one in found.findings} == set(found.schema.names)
    assert "not private" in found._repr_html_()
    assert package.check(table(), SCHEMA) == ()
    release = package.fit(table(), SCHEMA, epsilon=2, delta=1e-6)
    card = package.card(release)
    assert "srcdoc" in card._repr_html_()
    saved = package.card(release.save(tmp_path / "r"))
    assert (saved.columns, saved.tables) == (card.columns, card.tables)
    assert "synthetic.csv" in saved.checksums
    card.save(tmp_path / "card.html")
    judged = package.evaluate(table(), release.sample(), SCHEMA, release=release, fast=True)
    assert [one.use for one in judged.verdicts][:2] == ["single columns", "crosstabs"]
    judged.save(tmp_path / "report.html")
    assert json.loads((tmp_path / "report.json").read_text())["verdicts"]
    assert release.marginal(["sex", "smoker"]).equals(release.marginal("sex", "smoker"))
    assert package.verify(tmp_path / "r").is_consistent
    assert "Consistent." in package.verify(tmp_path / "r")._repr_html_()
    for shown in (release, release.ledger, release.schema):
        assert "<table" in shown._repr_html_()


def test_answers_have_the_types_of_their_columns():
    columns = [
        {"name": "visits", "type": "integer", "min": 8, "max": 11, "nullable": True, "special": [999]},
        {"name": "dose", "type": "number", "min": 2.5, "max": 10, "values": [2.5, 5, 10]},
        {"name": "ill", "type": "boolean"},
        {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 5},
    ]
    data = pandas.DataFrame(
        {"visits": [8, 11, 999], "dose": [2.5, 5, 10], "ill": [True, False, True], "age": [5, 50, 95]}
    )
    release = package.fit(data, {"name": "<b>t", "columns": columns}, epsilon=5, method="dpview")
    visits = release.marginal("visits")["visits"]
    assert visits.tolist()[:-1] == [8, 9, 10, 11, 999]  # in their order, not that of texts
    assert visits.isna().tolist()[-1]
    assert release.marginal("dose")["dose"].tolist() == [2.5, 5, 10]
    assert release.marginal("ill")["ill"].tolist() == [False, True]
    ages = release.marginal("age")["age"]
    assert ages.cat.ordered
    assert list(ages.cat.categories) == ["0 … 19", "20 … 39", "40 … 59", "60 … 79", "80 … 99"]
    assert "<b>t" not in release._repr_html_() + release.schema._repr_html_()


def test_a_range_is_a_range_and_a_tuple_is_a_question():
    age = {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 10}
    data = pa.table({"age": np.arange(100)})
    release = package.fit(data, {"name": "t", "columns": [age]}, epsilon=5, method="dpview")
    ages = release.sample_arrow(50, given={"age": range(20, 30)})["age"].to_pylist()
    assert set(ages) <= set(range(20, 30))
    with pytest.raises(SchemaError, match=r"range\(20, 30\)"):
        release.sample(5, given={"age": (20, 29)})
    with pytest.raises(SchemaError, match="its bins begin at 0, 10, 20"):
        release.sample(5, given={"age": range(20, 25)})
    with pytest.raises(SchemaError, match="steps of one"):
        release.sample(5, given={"age": range(20, 30, 2)})


def test_frames_are_drafted_too():
    frame = pandas.DataFrame({"age": [30, 40], "name": pandas.Categorical(["a", "b"])})
    assert package.draft(frame, "people").schema.names == ("age", "name")
