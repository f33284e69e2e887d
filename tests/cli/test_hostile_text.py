"""Names and texts of strangers on a real terminal: they can be read, and can neither hide nor fake a line."""

import json
import os

import pandas as pd
import pytest
from test_commands import sfumato

from helpers_terminal import foreign_sequences, run_on_terminal, screen

pytestmark = pytest.mark.xdist_group("hostile text")  # one worker: the commands are run once

CLEAR = "\x1b[2J\x1b[H"
FAKE = "\nGuarantee: epsilon = 0.001 (pure), protecting everybody."
NASTY = f"ward{CLEAR}{FAKE}\x1b[8m\x9b8m[black on black]\u202e\u2066 :boom: [/]"
LABEL = f"x{CLEAR}{FAKE}[bold]\x1b]0;title\x07"
SCHEMA = {
    "name": NASTY,
    "source": NASTY,
    "columns": [
        {"name": NASTY, "type": "categorical", "categories": [LABEL, "y"], "note": NASTY},
        {"name": "age", "type": "integer", "min": 0, "max": 9},
    ],
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A folder with a hostile name, and in it a hostile schema, its table and its release."""
    folder = tmp_path_factory.mktemp("place") / "[red]a\x1b[2J\u202eb"
    folder.mkdir()
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    pd.DataFrame({NASTY: [LABEL, "y"] * 20, "age": [1, 2] * 20}).to_csv(folder / "table.csv", index=False)
    options = ["--schema", folder / "schema.json", "--epsilon", "2", "--out", folder / "release"]
    result = sfumato("synthesize", folder / "table.csv", *options, "--method", "dpview")
    assert result.exit_code == 0, result.output
    ledger = json.loads((folder / "release" / "ledger.json").read_text())
    for event in ledger["events"]:
        event["stage"], event["question"] = f"measure{CLEAR}{FAKE}", f"{event['question']}{FAKE}[red]"
    ledger["protects"] += f"{CLEAR}{FAKE}"
    (folder / "release" / "ledger.json").write_text(json.dumps(ledger))
    return folder


COMMANDS = {
    "synthesize": (0, "synthesize table.csv --schema schema.json --epsilon 2 --method dpview --out again"),
    "ledger": (0, "ledger release"),
    "ledger as JSON": (0, "ledger release --json"),
    "query": (0, f"query release {chr(34)}COLUMN{chr(34)}"),
    "query as JSON": (0, f"query release {chr(34)}COLUMN{chr(34)} --json"),
    "sample": (0, "sample release --rows 5"),
    "card": (0, "card release --out card.html"),
    "schema check": (0, "schema check table.csv --schema schema.json"),
    "schema draft": (0, "schema draft table.csv"),
    "an unknown column": (2, "query release COLUMNx"),
    "an unknown method": (2, "synthesize table.csv --schema schema.json --epsilon 2 --method COLUMN --out no"),
    "an unknown method, as JSON": (
        2,
        "synthesize table.csv --schema schema.json --epsilon 2 --method COLUMN --out no --json",
    ),
    "a folder that is none": (2, "ledger COLUMN"),
}


@pytest.fixture(scope="module")
def outputs(hostile):
    """What each command writes onto a terminal, and its exit code."""
    files = ("table.csv", "schema.json", "release", "again", "card.html", "no")
    commands = [
        [str(hostile / word) if word in files else word.replace("COLUMN", NASTY) for word in command.split(" ")]
        for _, command in COMMANDS.values()
    ]
    return dict(zip(COMMANDS, run_on_terminal(*commands), strict=True))


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_lets_a_text_through_that_does_more_than_be_read(outputs, name):
    code, written = outputs[name]
    shown = screen(written)
    assert code == COMMANDS[name][0], shown
    assert foreign_sequences(written) == []
    assert not [line for line in shown if line.startswith("Guarantee: epsilon = 0.001")]
    assert any(shown)


def test_the_page_of_a_hostile_release_has_nothing_unseen(hostile):
    assert sfumato("card", hostile / "release", "--out", hostile / "page.html").exit_code == 0
    page = (hostile / "page.html").read_text()
    assert not [one for one in page if not one.isprintable() and one not in "\n\u00a0"]
    assert "[black on black]" in page


def test_a_pipe_gets_the_values_as_they_are(hostile):
    result = sfumato("sample", hostile / "release", "--rows", "50", "--seed", "1")
    assert LABEL in result.output
    drafted = json.loads(sfumato("schema", "draft", hostile / "table.csv").stdout)
    assert drafted["columns"][0]["name"] == NASTY


def test_a_file_name_that_is_no_text_is_shown(tmp_path):
    name = os.fsdecode(b"caf\xe9\x1b[2J")
    ((code, written),) = run_on_terminal(["ledger", tmp_path / name])
    assert code == 2
    assert foreign_sequences(written) == []
