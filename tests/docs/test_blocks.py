"""Every code block of the README and the pages: run, or marked with a reason that is checked.

The pages are written around three names: `patients.csv`, a table of the reader's; `patients.schema.json`, its schema;
`release`, a release. Here the table is a small survey, and the release is made once. The tutorial has names of its own.
"""

import json
import re
import shutil
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from helpers_blocks import LANGUAGES, REASONS, blocks, run_command, run_python, unknown
from sfumato.fitting import fit
from sfumato.schema.schema import Schema
from sfumato.survey import simulate, survey_schema_text
from sfumato.tables import write

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / ".github").rglob("*.md"))]
TUTORIAL = ROOT / "docs" / "tutorial.md"
RUN = [page for page in PAGES if any(block.language in ("sh", "python") for block in blocks(page)) and page != TUTORIAL]
SLOW = ("docs/plan.md", "docs/how-to/hospitals.md")
"""Pages that take many seconds each: other workers may have them, so the rest does not wait."""
ROWS = 1000

pytestmark = pytest.mark.xdist_group("pages")


def name(page):
    return str(page.relative_to(ROOT))


def run_page(page, folder):
    """Run what a page tells to run, in its order; one namespace for all its Python."""
    names = {"__name__": "__main__"}
    for block in blocks(page):
        where = f"{name(page)}:{block.line}"
        if block.language == "python" and not block.not_run:
            run_python(block.text, folder, names, where)
        elif block.language == "sh":
            for command in block.commands():
                if block.reason(command) in (None, *([] if find_spec("ibis") is None else ["needs sfumato[sql]"])):
                    code, said = run_command(command, folder)
                    assert code == 0, f"{where}: {command}\n{said}"


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory):
    """The folder of a reader who has followed the tutorial."""
    folder = tmp_path_factory.mktemp("tutorial")
    run_page(TUTORIAL, folder)
    return folder


def test_the_tutorial_runs_as_it_is_written(tutorial):
    found = [command for block in blocks(TUTORIAL) for command in block.commands()]
    assert len(found) >= 9
    assert all(block.language == "sh" and not block.not_run for block in blocks(TUTORIAL))
    assert (tutorial / "demo-release" / "synthetic.csv").is_file()
    assert (tutorial / "my.schema.json").is_file()


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """The folder of a reader who has a table, its schema and a release."""
    folder = tmp_path_factory.mktemp("reader")
    write(simulate(ROWS), folder / "patients.csv", Schema.parse(json.loads(survey_schema_text())))
    (folder / "patients.schema.json").write_text(survey_schema_text())
    fit(folder / "patients.csv", folder / "patients.schema.json", epsilon=1, delta=1e-9).save(folder / "release")
    return folder


def alone(page):
    """A page as a parameter; a slow one in a group of its own."""
    return pytest.param(page, marks=pytest.mark.xdist_group(name(page)) if name(page) in SLOW else (), id=name(page))


@pytest.mark.parametrize("page", [alone(page) for page in RUN])
def test_what_a_page_tells_to_run_runs(page, reader, tmp_path):
    folder = tmp_path / "reader"
    shutil.copytree(reader, folder)
    if re.search(r"--out release\b(?!-)", page.read_text(encoding="utf-8")):
        shutil.rmtree(folder / "release")
    run_page(page, folder)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_says_what_it_is_and_why_it_is_not_run(page):
    for block in blocks(page):
        where = f"{name(page)}:{block.line}"
        assert block.language in LANGUAGES, f"{where}: say which language it is, one of {', '.join(LANGUAGES)}"
        if block.language == "text":
            code = [line for line in block.text.splitlines() if line.startswith(("sfumato ", "$ ", "import ", "pip "))]
            assert code == [], f"{where}: this is code"
        elif block.language in ("sh", "console"):
            check_commands(block, where)
        elif block.language == "json":
            for part in block.text.split("\n\n"):
                record = json.loads(part)
                if {"name", "columns"} <= set(record):
                    Schema.parse(record)
        elif block.language == "yaml":
            yaml.safe_load(block.text)
        elif block.language == "toml":
            tomllib.loads(block.text)
        elif block.not_run:
            assert set(block.reasons()) == {"all"}, where
            assert set(block.reasons().values()) <= set(REASONS), where


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=name)
def test_commands_that_sentences_speak_of_exist(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    spoken = [" ".join(one.split()) for one in re.findall(r"`(sfumato [^`]*)`", text) if "COMMAND" not in one]
    assert [one for one in spoken if unknown(one) is not None] == []


def check_commands(block, where):
    commands = block.commands()
    for command in commands:
        if command.startswith("sfumato "):
            assert unknown(command) is None, f"{where}: there is no {unknown(command)!r} in {command!r}"
        why = block.reason(command)
        if why is not None and block.language == "sh":
            assert REASONS[why](command), f"{where}: {command!r} is not run, but {why!r} is no reason for it"
    for start in block.reasons():
        assert start == "all" or any(command.startswith(start) for command in commands), f"{where}: no {start!r} here"
    assert bool(block.reasons()) == bool(block.not_run), f"{where}: 'not run' wants COMMAND (REASON), COMMAND (REASON)"
    if block.language == "console":
        assert not block.not_run, f"{where}: what was printed on some day is never run"


def test_a_wrong_reason_an_unknown_option_and_a_block_without_a_fence_are_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- not run: all (takes minutes) -->\n```sh\nsfumato ledger release\n```\n")
    with pytest.raises(AssertionError, match="no reason for it"):
        check_commands(blocks(page)[0], "page")
    assert unknown("sfumato query release age --mean income") is None
    assert unknown("sfumato query release age --median income") == "--median"
    assert unknown("sfumato schema forget x") == "forget"
    for other in ("    sfumato ledger release", '```sh title="x"\nls\n', "~~~sh\nls\n", "<pre>ls</pre>", "   ~~~\n"):
        page.write_text(f"text\n\n{other}\n")
        assert "" in [block.language for block in blocks(page)], other
