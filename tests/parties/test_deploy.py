"""Units, configuration and container file: as far as they can be tried on a machine without services."""

import configparser
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import click
import pytest
import typer

from sfumato.cli import app

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = {"sfumato-party.service": ("party", "serve"), "sfumato-curate.service": ("curate",)}
COMMANDS = {"party.toml": ("party", "serve"), "curate.toml": ("curate",)}


def command(names):
    found: click.Command = typer.main.get_command(app)
    for name in names:
        found = found.commands[name]
    return found


@pytest.mark.parametrize("file", COMMANDS)
def test_every_option_of_an_example_is_one_of_its_command(file):
    known = {one.lstrip("-") for param in command(COMMANDS[file]).params for one in param.opts}
    assert set(tomllib.loads((DEPLOY / file).read_text())) <= known


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_starts_a_command_and_stops_for_what_only_a_person_can_mend(unit):
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read(DEPLOY / unit)
    _, *words = shlex.split(parser["Service"]["ExecStart"])
    names = UNITS[unit]
    assert tuple(words[: len(names)]) == names
    assert words[len(names)] == "--config"
    assert Path(words[-1]).name in COMMANDS
    assert set(parser["Service"]["RestartPreventExitStatus"].split()) == {"1", "2", "3"}
    assert parser["Service"]["Restart"] == "on-failure"


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="this machine has no systemd")
def test_systemd_reads_the_units(unit):
    result = subprocess.run(
        [str(shutil.which("systemd-analyze")), "verify", str(DEPLOY / unit)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    wrong = [line for line in result.stderr.splitlines() if re.search("Unknown|Failed to parse|Invalid", line)]
    assert not wrong


def test_the_container_runs_without_root_and_starts_the_command():
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    assert "USER 10001" in lines
    assert 'ENTRYPOINT ["sfumato"]' in lines
