"""Runs: child processes that outlive the server, and tell their progress in files.

runs/ID/run.json      what to do
runs/ID/run.jsonl     one JSON object a line: {"stage": …}, and at the end {"end": "done" | "failed" | "cancelled", …}
runs/ID/alive         touched every second or two while the child lives
runs/ID/cancel        put there by whoever wants the child to stop
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any

from sfumato.app.work import ID, Work, new_id, read_json
from sfumato.errors import FileError
from sfumato.files import PRIVATE, write
from sfumato.text import json_text

SILENCE = 60.0
"""Seconds without a sign of life after which a run counts as lost: its machine went down, or it was killed."""


_children: list[subprocess.Popen[bytes]] = []
"""Those that this server began and has not seen end; asking for them is what lets the system forget the ended ones."""


@dataclass(frozen=True)
class Run:
    """One run of a command, begun at some time and maybe ended.

    Args:
        folder: where it is told.
        kind: "synthesize", "evaluate", "plan" or "audit".
        name: the release it makes or looks at, or the schema it is about.
        arguments: what the command needs.
    """

    folder: Path
    kind: str
    name: str
    arguments: dict[str, Any]

    @property
    def id(self) -> str:
        """Its name in addresses."""
        return self.folder.name

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What it has told so far; a line that is not whole yet is not read."""
        try:
            text = (self.folder / "run.jsonl").read_text(encoding="utf-8")
        except OSError:
            return []
        return [json.loads(line) for line in text.split("\n")[:-1]]

    @property
    def state(self) -> str:
        """running, done, failed, cancelled or lost."""
        lines = self.lines
        if lines and "end" in lines[-1]:
            return str(lines[-1]["end"])
        try:
            silent = time() - (self.folder / "alive").stat().st_mtime
        except OSError:
            silent = time() - (self.folder / "run.json").stat().st_mtime
        return "lost" if silent > SILENCE else "running"

    @property
    def has_asked(self) -> bool:
        """Whether it may have asked about rows, so its budget is spent whatever happens from now on."""
        return self.kind == "synthesize" and any(line.get("stage", "read") != "read" for line in self.lines)

    def cancel(self) -> None:
        """Ask it to stop."""
        write(self.folder / "cancel", "", PRIVATE)


def start(work: Work, kind: str, name: str, arguments: dict[str, Any]) -> Run:
    """Begin a run in a process of its own, which goes on if the server ends."""
    folder = work.folder / "runs" / new_id()
    folder.mkdir(mode=0o700)
    write(folder / "run.json", json_text({"kind": kind, "name": name, "arguments": arguments}) + "\n", PRIVATE)
    _children[:] = [child for child in _children if child.poll() is None]
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "sfumato.app.child", str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    _children.append(child)
    return Run(folder, kind, name, arguments)


def load(work: Work, id: str) -> Run:
    """A run of the past or present."""
    if not ID.fullmatch(id):
        raise FileError("there is no such run; go back to the first page")
    keys = read_json(work.folder / "runs" / id / "run.json")
    return Run(work.folder / "runs" / id, str(keys["kind"]), str(keys["name"]), dict(keys["arguments"]))


def every(work: Work) -> list[Run]:
    """All runs, newest first."""
    folders = [path for path in (work.folder / "runs").iterdir() if (path / "run.json").is_file()]
    newest = sorted(folders, key=lambda path: -(path / "run.json").stat().st_mtime)
    return [load(work, path.name) for path in newest if ID.fullmatch(path.name)]
