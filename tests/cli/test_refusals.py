"""Bad input: each gets a clear error, exit code 2, and leaves nothing behind. No message shows a private value."""

import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from test_commands import SCHEMA, clinic, refused, sfumato, synthesize, table

__all__ = ["clinic"]  # the fixture


def rewrite(folder, frame):
    frame.to_csv(folder / "clinic.csv", index=False)


def test_missing_column(clinic):
    rewrite(clinic, table().drop(columns=["sex"]))
    refused(synthesize(clinic), clinic, "sex")


def test_extra_column(clinic):
    rewrite(clinic, table().assign(weight="1"))
    refused(synthesize(clinic), clinic, "weight")


@pytest.mark.parametrize(
    ("column", "value"),
    [("age", "321"), ("sex", "zebra"), ("bmi", "7.5"), ("smoker", "perhaps"), ("seen", "2031-05-05")],
)
def test_value_outside_the_schema(clinic, column, value):
    frame = table().astype(str)
    frame.loc[7, column] = value
    rewrite(clinic, frame)
    result = synthesize(clinic)
    refused(result, clinic, column)
    assert value not in result.stderr


@pytest.mark.parametrize(
    ("column", "value"), [("age", ""), ("age", "NaN"), ("age", "abc"), ("bmi", "1,5"), ("seen", "May")]
)
def test_unreadable_or_missing_value(clinic, column, value):
    frame = table().astype(str)
    frame.loc[7, column] = value
    rewrite(clinic, frame)
    refused(synthesize(clinic), clinic, column)


def test_all_missing_where_missing_is_allowed(clinic):
    rewrite(clinic, table().assign(sex="?"))
    assert synthesize(clinic).exit_code == 0


def test_empty_file(clinic):
    (clinic / "clinic.csv").write_text("")
    refused(synthesize(clinic), clinic, "clinic.csv", "empty")


@pytest.mark.parametrize("rows", [0, 1])
def test_header_only_and_one_row_are_legal(clinic, rows):
    rewrite(clinic, table().head(rows))
    result = synthesize(clinic, "--rows", "5")
    assert result.exit_code == 0, result.output
    assert len(pd.read_csv(clinic / "release" / "synthetic.csv")) == 5


def test_one_column(clinic):
    (clinic / "clinic.schema.json").write_text(json.dumps({"name": "one", "columns": SCHEMA["columns"][:1]}))
    rewrite(clinic, table()[["age"]])
    assert synthesize(clinic).exit_code == 0


def test_constant_column(clinic):
    rewrite(clinic, table().assign(age="40"))
    assert synthesize(clinic).exit_code == 0


def test_two_thousand_categories(clinic):
    many = [f"c{i}" for i in range(2000)]
    columns = [*SCHEMA["columns"], {"name": "code", "type": "categorical", "categories": many}]
    (clinic / "clinic.schema.json").write_text(json.dumps({"name": "many", "columns": columns}))
    rewrite(clinic, table().assign(code=[many[(37 * i) % 2000] for i in range(400)]))
    assert synthesize(clinic).exit_code == 0


def test_duplicate_column_names(clinic):
    text = (clinic / "clinic.csv").read_text().replace("age,sex", "age,age", 1)
    (clinic / "clinic.csv").write_text(text)
    refused(synthesize(clinic), clinic, "age")


def test_bad_encoding(clinic):
    data = (clinic / "clinic.csv").read_bytes().replace(b"\nf", b"\n\xff\xfe", 1).replace(b",f,", b",\xe9\xff,", 1)
    (clinic / "clinic.csv").write_bytes(data)
    refused(synthesize(clinic), clinic, "UTF-8")


def test_ragged_csv(clinic):
    text = (clinic / "clinic.csv").read_text() + "1,f,true\n"
    (clinic / "clinic.csv").write_text(text)
    refused(synthesize(clinic), clinic, "clinic.csv")


def test_missing_and_unknown_files(clinic):
    refused(synthesize(clinic, data="nowhere.csv"), clinic, "nowhere.csv")
    (clinic / "clinic.xlsx").write_text("x")
    refused(synthesize(clinic, data="clinic.xlsx"), clinic, "clinic.xlsx")
    refused(synthesize(clinic, schema="nowhere.json"), clinic, "nowhere.json")


def test_broken_schema(clinic):
    (clinic / "clinic.schema.json").write_text("{")
    refused(synthesize(clinic), clinic, "not valid JSON")
    wrong = json.loads(json.dumps(SCHEMA))
    wrong["columns"][0]["max"] = -5
    (clinic / "clinic.schema.json").write_text(json.dumps(wrong))
    refused(synthesize(clinic), clinic, "'age'", "'max'")


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "one", "1e9"])
def test_meaningless_epsilon(clinic, epsilon):
    refused(synthesize(clinic, f"--epsilon={epsilon}"), clinic, "epsilon is")


@pytest.mark.parametrize("delta", ["1", "1.5", "-1e-9", "nan"])
def test_meaningless_delta(clinic, delta):
    refused(synthesize(clinic, f"--delta={delta}"), clinic, "delta is")


def test_a_method_that_needs_delta_says_so(clinic):
    refused(synthesize(clinic, "--method", "privsyn", delta=None), clinic, "needs a delta", "1e-9")


def test_unknown_method_and_format_and_negative_rows(clinic):
    refused(synthesize(clinic, "--method", "magic"), clinic, "method 'magic' is unknown", "privsyn")
    refused(synthesize(clinic, "--format", "xml"), clinic, "format 'xml' is unknown", "csv and parquet")
    refused(synthesize(clinic, "--rows=-3"), clinic, "-3 rows")
    refused(synthesize(clinic, "--seed=-3"), clinic, "seed is -3")


def test_a_release_in_the_way_is_left_alone(clinic):
    (clinic / "release").mkdir()
    (clinic / "release" / "precious.txt").write_text("keep me")
    result = synthesize(clinic)
    assert result.exit_code == 2
    assert "exists already" in result.stderr
    assert (clinic / "release" / "precious.txt").read_text() == "keep me"


def test_an_unwritable_folder(clinic):
    refused(synthesize(clinic, out="no/such/folder"), clinic, "is not a folder", out="no")
    (clinic / "file").write_text("")
    refused(synthesize(clinic, out="file/release"), clinic, "is not a folder", out="nothing")
    if os.geteuid() != 0:  # the superuser may write everywhere
        (clinic / "locked").mkdir(mode=0o500)
        refused(synthesize(clinic, out="locked/release"), clinic, "cannot be written to", out="nothing")


def test_a_disk_that_fills_up_leaves_nothing(clinic, monkeypatch):
    from sfumato.release import storage

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage, "write_model", full)
    refused(synthesize(clinic), clinic, "No space left on device", "nothing was left behind")


@pytest.mark.parametrize("folder", ["nowhere", "."])
def test_folders_that_are_no_release(clinic, folder):
    for command in ("sample", "ledger"):
        result = sfumato(command, clinic / folder)
        assert result.exit_code == 2
        assert "Traceback" not in result.stderr


def test_damaged_releases_are_refused(clinic):
    synthesize(clinic)
    release = clinic / "release"
    for name in ("model/tables.npz", "release.json", "schema.json", "model/model.json", "marginals/index.json"):
        original = (release / name).read_bytes()
        (release / name).write_bytes(original[: len(original) // 2])
        result = sfumato("sample", release, "--rows", "3")
        assert result.exit_code == 2, name
        assert "Traceback" not in result.stderr
        (release / name).write_bytes(original)
    assert sfumato("sample", release, "--rows", "3").exit_code == 0


def test_a_fault_of_ours_shows_no_values(clinic, monkeypatch):
    from sfumato.intake import codec

    def broken(*arguments):
        raise RuntimeError("patient 4711 has a secret")

    monkeypatch.setattr(codec, "_encode", broken)
    result = synthesize(clinic)
    assert result.exit_code == 1
    assert "4711" not in result.stderr + result.stdout
    assert "please report it" in result.stderr


WAITING = """
import sys, time
from sfumato.cli import main
from sfumato.release import storage
def wait(path, content):
    path.write_text("half of")
    time.sleep(10_000)
storage.write_json = wait
main()
"""
"""The command, but it stops for ever in the middle of writing its folder."""


def test_interruption_leaves_nothing(clinic):
    command = [sys.executable, "-c", WAITING, "synthesize", clinic / "clinic.csv", "--out", clinic / "release"]
    command += ["--schema", clinic / "clinic.schema.json", "--epsilon", "2", "--delta", "1e-6"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while not list(clinic.glob(".release*/**/*.json")):  # in the middle of writing
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=600)
    assert process.returncode == 130, message
    assert "interrupted; nothing was written" in message
    assert "Traceback" not in message
    assert sorted(path.name for path in clinic.iterdir()) == ["clinic.csv", "clinic.schema.json"]


def test_views_and_synthesizers_that_make_no_sense(clinic):
    views = clinic / "views.json"
    views.write_text('[{"columns": ["age", "town"]}]')
    refused(synthesize(clinic, "--method", "dpsyn", "--views", views), clinic, "'town', which is not in the table")
    refused(synthesize(clinic, "--method", "dpview", "--views", views), clinic, "needs views of its own choice")
    refused(synthesize(clinic, "--views", clinic / "none.json"), clinic, "none.json", "cannot be read")
    refused(synthesize(clinic, "--synthesizer", "gan"), clinic, "synthesizer 'gan' is unknown; known ones are gradual-")
    assert synthesize(clinic).exit_code == 0
    assert sfumato("sample", clinic / "release", "--synthesizer", "gan").exit_code == 2


def test_a_warning_is_one_line_without_our_code(clinic):
    columns = [{"name": "seen", "type": "date", "min": "2024-01-01", "max": "2024-12-31", "nullable": True}]
    schema = {"name": "days", "on_bad_value": "missing", "columns": columns}
    (clinic / "clinic.schema.json").write_text(json.dumps(schema))
    pd.DataFrame({"seen": [1, 2]}).to_parquet(clinic / "days.parquet")
    command = [sys.executable, "-c", "from sfumato.cli import main; main()", "schema", "check"]
    command += [clinic / "days.parquet", "--schema", clinic / "clinic.schema.json"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stderr == (
        "warning: no value of seen (int64) can be read as the schema declares it, so all of them count as bad values; "
        "convert the columns, or change their declaration\n"
        "note: column 'seen': a value is not a date in ISO form (the table has Arrow type int64); it counts as "
        "missing.\n"
    )
