"""The code blocks of pages: found, checked without running them, and run."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import typer
from typer.testing import CliRunner

from sfumato.cli import app

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\s*$")
OTHER_CODE = re.compile(r"^\s*(```|~~~|<pre\b)")
NOT_RUN = re.compile(r"^ *<!-- not run: (?P<what>.*) -->$")
PART = re.compile(r"(?P<command>[^,()]+) \((?P<reason>[^()]+)\)(?:, |$)")

LANGUAGES = ("sh", "console", "python", "r", "json", "yaml", "toml", "csv", "text", "mermaid")

REASONS = {
    "a person answers": lambda line: re.match(r"sfumato (schema edit|app|account add)\b", line),
    "takes minutes": lambda line: re.match(r"(sfumato bench|make|python benchmarks/)", line),
    "takes many seconds": lambda line: re.match(r"sfumato (audit|plan|demo .*--parties)", line),
    "installs": lambda line: re.match(
        r"(python -m )?(pip|pipx|podman|docker|make|apt|apt-get|install\.packages)\b", line
    ),
    "another machine": lambda line: re.search(r"\.example\b|spark://|0\.0\.0\.0|podman run|--mailbox", line),
    "needs the folder of a study": lambda line: re.match(r"sfumato (consortium|party|curate)\b", line),
    "usage": lambda line: "…" in line or " [" in line,
    "needs sfumato[sql]": lambda line: re.match(r"sfumato .*\b(sqlite|duckdb|postgresql)://", line),
    "needs R": lambda line: True,
    "needs SDMetrics": lambda line: True,
}
"""Why a command of a page is not run, and what such a command looks like: a reason that does not fit is an error."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: where it begins, its language and text, and what of it is not run and why."""

    page: Path
    line: int
    language: str
    text: str
    not_run: str

    def commands(self):
        """The commands of a shell block, or after the prompts of a transcript: whole, without continuations."""
        text = self.text.replace("\\\n", " ")
        lines = [line.strip() for line in text.splitlines()]
        if self.language == "console":
            return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return [line for line in lines if line and not line.startswith("#")]

    def reasons(self):
        """Which commands are not run, each with its reason; `all` stands for every one."""
        return {part["command"].strip(): part["reason"] for part in PART.finditer(self.not_run)}

    def reason(self, command):
        """Why a command is not run, or None."""
        reasons = self.reasons()
        return next((why for start, why in reasons.items() if start == "all" or command.startswith(start)), None)


def blocks(page):
    """All blocks of a page; one in any other form than a plain fence has no language, so the tests refuse it."""
    found, lines, number, not_run, listed = [], page.read_text(encoding="utf-8").splitlines(), 0, "", False
    while number < len(lines):
        line = lines[number]
        fence = FENCE.match(line)
        if fence:
            end = next(at for at in range(number + 1, len(lines)) if lines[at].strip() == "```")
            body = "\n".join(each.removeprefix(fence["indent"]) for each in lines[number + 1 : end])
            found.append(Block(page, number + 1, fence["language"], body, not_run))
            number, not_run = end + 1, ""
            continue
        mark = NOT_RUN.match(line)
        not_run = mark["what"] if mark else ""
        if line and not line.startswith(" "):
            listed = bool(re.match(r"([-*]|\d+\.|!!!|\?\?\?) ", line))
        indented = line.startswith("    ") and not lines[number - 1].strip() and not listed
        if indented or OTHER_CODE.match(line):
            found.append(Block(page, number + 1, "", line.strip(), ""))
        number += 1
    return found


def words(line):
    """The words of a command, without what is a comment."""
    return shlex.split(line, comments=True)


ROOT_COMMAND = typer.main.get_command(app)


def unknown(line):
    """What of a `sfumato` command does not exist: a command, or an option of it; None if all does."""
    command = ROOT_COMMAND
    for word in words(line)[1:]:
        children = getattr(command, "commands", {})
        known = {name for parameter in command.params for name in parameter.opts + parameter.secondary_opts}
        if word in children:
            command = children[word]
        elif word.startswith("--"):
            if word.split("=")[0] not in known | {"--help"} and command.name != "bench":
                return word
        elif children and not word.startswith("…") and command.name != "curate":
            return word
    return None


def run_command(line, folder):
    """Run one command as a reader would: `sfumato` in this process, which is cheap; anything else by the shell."""
    plain = not re.search(r"[|<>;&$`]", line.split("#")[0])
    if plain and line.startswith("sfumato "):
        with contextlib.chdir(folder):
            done = CliRunner().invoke(app, words(line)[1:])
        return done.exit_code, done.output + (repr(done.exception) if done.exit_code == 1 else "")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def run_python(text, folder, names, where):
    """Run a block of Python in `folder`, with what earlier blocks of the page have defined."""
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        exec(compile(text, where, "exec"), names)  # noqa: S102
