"""The bench on a small survey: what is recorded, what is resumed, what is refused."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from typer.testing import CliRunner

from bench import results, runner
from bench.drawing import alone, bench_page, chart
from bench.process import run_limited
from bench.results import Key, Result
from bench.runner import Plan, bench
from bench.summary import HEADS, lines, markdown
from bench.systems import rivals_in
from bench.tasks import Task
from sfumato.cli import app
from sfumato.errors import BudgetError, DataError, MethodError, SfumatoError
from sfumato.intake.codec import SchemaCodec

SCHEMA = {
    "name": "tiny",
    "columns": [
        {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 5},
        {"name": "sex", "type": "categorical", "categories": ["f", "m"]},
        {"name": "since", "type": "date", "min": "2024-01-01", "max": "2024-12-31", "granularity": "month"},
    ],
}
COPY = """
import sys, shutil
given = dict(zip(sys.argv[2::2], sys.argv[3::2]))
if sys.argv[1] in ("copy", "gone"): shutil.copy(given["--train"], given["--out"])
if sys.argv[1] == "outside": open(given["--out"], "w").write("age,sex,since\\n0,7,0\\n")
if sys.argv[1] == "columns": open(given["--out"], "w").write("age,sex\\n0,1\\n")
if sys.argv[1] == "crash": sys.exit("the adapter gave up")
"""


@pytest.fixture
def data(tmp_path):
    """A folder with one small set without a label."""
    rng = np.random.default_rng(5)
    folder = tmp_path / "data"
    folder.mkdir()
    months = [f"2024-{month:02}-01" for month in rng.integers(1, 13, 300)]
    table = pa.table({"age": rng.integers(0, 100, 300), "sex": rng.choice(["f", "m"], 300).tolist(), "since": months})
    csv.write_csv(table, folder / "tiny.csv")
    (folder / "tiny.schema.json").write_text(json.dumps(SCHEMA))
    return folder


@pytest.fixture
def rivals(tmp_path):
    """A folder of adapters; all but one are installed."""
    folder, environment = tmp_path / "rivals", tmp_path / "environments" / "here"
    folder.mkdir()
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(sys.executable)
    (environment / "installed").touch()
    (tmp_path / "environments" / "gone.failed").write_text("pip install gone: ERROR: no such thing\n")
    table = 'folder = "../environments"\n'
    for name in ("copy", "outside", "columns", "crash", "gone"):
        environment_name = "gone" if name == "gone" else "here"
        table += f'[rivals.{name}]\nenvironment = "{environment_name}"\nscript = "adapter.py"\nvariant = "{name}"\n'
    (folder / "rivals.toml").write_text(table)
    (folder / "adapter.py").write_text(COPY)
    return folder


def plan(data, *methods, rivals=None, repeats=1, limit=60.0, epsilons=("1",)):
    return Plan(data, ("tiny",), methods, epsilons, "1e-6", repeats, limit, rivals)


def test_a_finished_run_is_not_run_again(data, tmp_path, rivals):
    shown = []
    first = bench(plan(data, "copy", rivals=rivals, repeats=2), tmp_path / "out", shown.append)
    again = bench(plan(data, "copy", rivals=rivals, repeats=3), tmp_path / "out", shown.append)
    assert [result.key.repeat for result in shown] == [0, 1, 2]
    assert again[:2] == first
    assert len((tmp_path / "out" / "results.jsonl").read_text().splitlines()) == 3


def test_a_half_written_line_is_dropped_and_its_run_repeated(data, tmp_path, rivals):
    asked = plan(data, "copy", rivals=rivals, repeats=2)
    bench(asked, tmp_path / "out")
    file = tmp_path / "out" / "results.jsonl"
    whole, last = file.read_text().splitlines()
    file.write_text(f"{whole}\n{last[: len(last) // 2]}")
    assert [key.repeat for key in results.load(file)] == [0]
    assert file.read_text() == f"{whole}\n"
    shown = []
    bench(asked, tmp_path / "out", shown.append)
    assert [result.key.repeat for result in shown] == [1]
    assert len(results.load(file)) == 2


def test_a_file_that_is_one_half_line_becomes_empty(tmp_path):
    file = tmp_path / "results.jsonl"
    file.write_text('{"set": "ti')
    assert results.load(file) == {}
    assert file.read_bytes() == b""


def test_a_line_that_is_no_result_is_refused(tmp_path):
    (tmp_path / "results.jsonl").write_text('{"set": "tiny"}\n')
    with pytest.raises(DataError, match="no result"):
        results.load(tmp_path / "results.jsonl")


def test_our_methods_and_floors_are_scored_and_their_costs_measured(data, tmp_path):
    found = {r.key.method: r for r in bench(plan(data, "privsyn", "dpview", "independent", "resample"), tmp_path / "o")}
    assert {result.status for result in found.values()} == {"done"}
    for result in found.values():
        assert 0 <= result.figures["1-way"] <= result.figures["2-way"] <= result.figures["3-way"] <= 1
        assert result.figures["cpu_seconds"] > 0.1
        assert 0.02 < result.figures["peak_gigabytes"] < 4
    assert [found[name].key.delta for name in found] == ["1e-6", "", "1e-6", ""]
    assert found["resample"].key.epsilon == ""


def test_fresh_is_what_new_rows_of_the_same_population_would_have(tmp_path):
    """Rows are drawn twice from one distribution; the halves of the first are to tell how far apart the two are."""
    rng = np.random.default_rng(1)

    def rows(count):
        ages, months = rng.integers(0, 100, count), rng.integers(1, 13, count)
        sexes = np.where(rng.random(count) < ages / 100, "f", "m")
        return pa.table({"age": ages, "sex": sexes.tolist(), "since": [f"2024-{month:02}-01" for month in months]})

    csv.write_csv(rows(5000), tmp_path / "tiny.csv")
    (tmp_path / "tiny.schema.json").write_text(json.dumps(SCHEMA))
    (fresh,) = bench(plan(tmp_path, "fresh"), tmp_path / "out")
    task = Task.load(tmp_path, "tiny", tmp_path)
    new = SchemaCodec(task.schema).encode(rows(len(task.train)))
    for kind, value in task.measure(new, 0).items():
        assert fresh.figures[kind] == pytest.approx(value, rel=0.4)
    assert fresh.status == "done"
    assert fresh.key.epsilon == ""


def test_a_rival_gets_codes_and_is_scored_in_the_same_bins(data, tmp_path, rivals):
    (copied,) = bench(plan(data, "copy", rivals=rivals), tmp_path / "out")
    assert [copied.figures[name] for name in ("1-way", "2-way", "3-way", "range")] == [0, 0, 0, 0]


def test_failures_are_recorded_with_their_reason_and_shown(data, tmp_path, rivals):
    methods = ("outside", "columns", "crash", "gone", "copy")
    found = bench(plan(data, *methods, rivals=rivals), tmp_path / "out")
    assert [result.status for result in found] == ["failed", "failed", "failed", "not installed", "done"]
    outside, columns, crash, gone, _ = (result.message for result in found)
    assert "'sex'" in outside
    assert "cannot be read" in columns
    assert crash == "exit code 1: the adapter gave up"
    assert gone == "pip install gone: ERROR: no such thing"
    text = markdown(lines(found))
    assert all(result.message in text for result in found)
    assert all(result.message in bench_page(lines(found)) for result in found[2:])


def test_what_was_not_installed_is_run_once_it_is(data, tmp_path, rivals):
    asked = plan(data, "gone", rivals=rivals)
    bench(asked, tmp_path / "out")
    shown = []
    bench(asked, tmp_path / "out", shown.append)
    assert shown == []
    shutil.copytree(tmp_path / "environments" / "here", tmp_path / "environments" / "gone", symlinks=True)
    (installed,) = bench(asked, tmp_path / "out", shown.append)
    assert installed.status == shown[0].status == "done"


def test_without_a_complaint_the_message_says_how_to_install(rivals, tmp_path):
    (tmp_path / "environments" / "gone.failed").unlink()
    assert "install.py gone" in rivals_in(rivals)["gone"].missing


def test_the_adapters_of_the_repository_are_all_there():
    folder = Path(__file__).parents[2] / "benchmarks" / "rivals"
    environments = tomllib.loads((folder / "rivals.toml").read_text())["environments"]
    found = rivals_in(folder)
    assert len(found) == 11
    for rival in found.values():
        assert rival.script.exists()
        assert rival.python.parent.parent.name in environments


ALIVE = """
import fcntl, time
file = open({0!r}, "a")
fcntl.flock(file, fcntl.LOCK_EX)
file.write("started"), file.flush()
time.sleep(10_000)
"""
"""A process that holds a lock on a file for as long as it lives."""

GRANDCHILD = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", {0!r}])
time.sleep(10_000)
"""


def wait_for_the_end(file):
    """Return as soon as nobody holds the lock on a file; a busy machine may take its time to end a process."""
    with file.open() as lock:
        for _ in range(12_000):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.05)
            else:
                return
    raise AssertionError("the process is still alive")


def test_the_limit_on_the_clock_kills_the_whole_process_group(tmp_path):
    trace = tmp_path / "alive"
    command = [sys.executable, "-c", GRANDCHILD.format(ALIVE.format(str(trace)))]
    for limit in (0.2, 2, 20):  # on a busy machine the grandchild may not have been started when its time is up
        assert run_limited(command, limit, tmp_path / "log").status == "time limit"
        if trace.exists() and trace.read_text():
            break
    assert trace.read_text()
    wait_for_the_end(trace)


def test_nothing_goes_on_when_the_bench_is_killed(tmp_path):
    """The launcher sees that whoever started it is gone, and ends what it runs."""
    trace = tmp_path / "alive"
    code = "import sys; from pathlib import Path; from bench.process import run_limited\n"
    code += f"run_limited([sys.executable, '-c', {ALIVE.format(str(trace))!r}], 600, Path({str(tmp_path / 'log')!r}))"
    parent = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    while not (trace.exists() and trace.read_text()):  # until the work has been started
        assert parent.poll() is None
        time.sleep(0.02)
    parent.kill()
    parent.wait()
    wait_for_the_end(trace)


def test_the_limit_counts_processor_time(tmp_path):
    started = time.monotonic()
    outcome = run_limited([sys.executable, "-c", "while True: pass"], 1, tmp_path / "log")
    assert outcome.status == "time limit"
    assert outcome.cpu_seconds < 3
    assert outcome.cpu_seconds > 0.5 or time.monotonic() - started >= 5  # on a busy machine the clock comes first


def test_costs_are_those_of_the_command(tmp_path):
    """A process that fills memory is seen to, and this one, which is larger than a bare interpreter, is not."""
    ballast = np.ones(50_000_000)
    small = run_limited([sys.executable, "-c", "pass"], 30, tmp_path / "log")
    large = run_limited([sys.executable, "-c", "b'x' * 200_000_000"], 30, tmp_path / "log")
    assert len(ballast)
    assert small.status == large.status == "done"
    assert small.peak_gigabytes < 0.1 < 0.18 < large.peak_gigabytes < 0.4


def test_a_command_that_cannot_be_started_is_a_failure(tmp_path):
    assert run_limited([str(tmp_path / "nothing")], 5, tmp_path / "log").status == "failed"


def some_results():
    rng = np.random.default_rng(1)
    found = []
    for method in ("one", "two"):
        for epsilon in ("0.2", "5"):
            for repeat in range(3):
                figures = {name: float(rng.random()) for name in ("1-way", "2-way", "3-way", "range", "accuracy")}
                figures |= {"cpu_seconds": float(rng.random()), "peak_gigabytes": float(rng.random())}
                found.append(Result(Key("tiny", method, epsilon, "", repeat), "done", "", figures))
    return found


def test_the_table_has_the_numbers_of_the_lines(tmp_path):
    for result in some_results():
        results.append(tmp_path / "results.jsonl", result)
    read = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    table = markdown(lines(results.load(tmp_path / "results.jsonl").values())).splitlines()
    assert len(table) == 2 + 4
    for row in table[2:]:
        cells = dict(zip(HEADS, (cell.strip() for cell in row.strip("|").split("|")), strict=True))
        own = [one for one in read if (one["method"], one["epsilon"]) == (cells["method"], cells["ε"])]
        assert cells["runs"] == "3/3"
        for name in ("1-way", "2-way", "3-way", "range", "accuracy"):
            assert cells[name] == f"{np.mean([one[name] for one in own]):.4f}"
        pairs = [one["2-way"] for one in own]
        assert cells["2-way spread"] == f"{max(pairs) - min(pairs):.4f}"
        assert cells["CPU s"] == f"{np.mean([one['cpu_seconds'] for one in own]):.1f}"
        assert cells["GB"] == f"{max(one['peak_gigabytes'] for one in own):.2f}"


def test_the_better_system_comes_first_at_each_epsilon():
    table = lines(some_results())
    for epsilon in ("0.2", "5"):
        errors = [line.mean("2-way") for line in table if line.epsilon == epsilon]
        assert errors == sorted(errors)


def test_drawings_are_well_formed_and_name_every_system():
    table = lines([*some_results(), Result(Key("tiny", "level", "", "", 0), "done", "", {"2-way": 0.01})])
    for figure in ("2-way", "accuracy"):
        drawing = alone(chart(table, figure))
        words = "".join(ElementTree.fromstring(drawing).itertext())  # noqa: S314 - our own
        assert "one" in words
        assert "two" in words
    assert "level" in chart(table, "2-way")
    assert chart(table, "decision tree") == ""


def test_the_last_words_of_a_rival_are_text():
    nasty = "<script>\x1b[2J\n| fake |\u202e"
    found = [Result(Key(nasty, nasty, "1", "", repeat), "done", nasty, {"2-way": 0.01 + repeat}) for repeat in range(2)]
    found.append(Result(Key(nasty, nasty, "2", "", 0), "failed", nasty, {}))
    html, text = bench_page(lines(found)), markdown(lines(found))
    assert "<script>" not in html
    assert not [one for one in html + text if not one.isprintable() and one not in "\n\u00a0"]
    assert len(text.splitlines()) == 2 + 2


def test_the_split_is_four_fifths_and_the_test_rows_are_the_others(data, tmp_path):
    task = Task.load(data, "tiny", tmp_path)
    assert (len(task.train), len(task.test)) == (240, 60)
    written = csv.read_csv(task.files.codes)
    assert [written.column(name).to_pylist() for name in task.train.domain] == [c.tolist() for c in task.train.columns]
    assert len(task.rows_in(task.files.rows)) == 240


def test_no_rows_are_a_failure_and_not_a_score(data, tmp_path):
    task = Task.load(data, "tiny", tmp_path)
    with pytest.raises(DataError, match="no rows"):
        task.measure(task.train.take(np.array([], dtype=np.int64)), 0)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"methods": ("privsin",)}, MethodError, "'privsin' is unknown; known ones are auto"),
        ({"methods": ("privsyn", "privsyn")}, MethodError, "twice"),
        ({"methods": ()}, MethodError, "no method"),
        ({"sets": ("adult",)}, DataError, "it has tiny"),
        ({"sets": ()}, MethodError, "no set"),
        ({"epsilons": ("1", "little")}, BudgetError, "epsilon"),
        ({"epsilons": ("-1",)}, BudgetError, "epsilon"),
        ({"delta": "2"}, BudgetError, "delta"),
        ({"delta": "0"}, BudgetError, "delta"),
        ({"repeats": 0}, MethodError, "repeats"),
        ({"time_limit": 0.0}, MethodError, "time limit"),
        ({"time_limit": float("inf")}, MethodError, "time limit"),
        ({"rivals": Path("nowhere")}, MethodError, "rivals.toml"),
    ],
)
def test_a_wrong_plan_is_refused_before_anything_runs(data, tmp_path, monkeypatch, change, error, words):
    monkeypatch.setattr(runner, "run_one", lambda *_: pytest.fail("something was run"))
    with pytest.raises(error, match=words):
        bench(replace(plan(data, "privsyn"), **change), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_without_data_and_a_file_as_folder_are_refused(data, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(SfumatoError, match="has no data set"):
        bench(plan(tmp_path / "empty", "privsyn"), tmp_path / "out")
    with pytest.raises(SfumatoError, match="is a file"):
        bench(plan(data, "privsyn"), tmp_path / "file")


def command(data, out, *more):
    options = ["--data", data, "--sets", "tiny", "--out", out, "--epsilons", "1", "--repeats", "1", *more]
    return CliRunner().invoke(app, ["bench", *map(str, options)])


def test_the_command_writes_table_page_and_drawings(data, tmp_path):
    result = command(data, tmp_path / "out", "--methods", "independent,resample", "--delta", "1e-6", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["without_scores"] == 0
    names = {file.name for file in (tmp_path / "out").iterdir()}
    figures = ("1-way", "2-way", "3-way", "range")
    assert names == {"results.jsonl", "table.md", "bench.html", *(f"tiny-{figure}.svg" for figure in figures)}
    assert "INTERNAL" in (tmp_path / "out" / "bench.html").read_text()


@pytest.mark.parametrize("methods", ["nonesuch", "copy", ""])
def test_the_command_refuses_with_exit_code_2(data, tmp_path, methods):
    result = command(data, tmp_path / "out", "--methods", methods)
    assert result.exit_code == 2
    assert not (tmp_path / "out").exists()
