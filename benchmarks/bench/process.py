"""One run in a process of its own: how it ended, and what it took."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from sfumato.errors import MethodError

LAUNCHER = Path(__file__).with_name("launcher.py")
"""A program and no module to import: it needs POSIX, which not every system has."""

Status = Literal["done", "failed", "time limit", "not installed"]


@dataclass(frozen=True)
class Outcome:
    """How a process ended.

    Args:
        status: whether it did what it was asked.
        message: its last words if it did not.
        cpu_seconds: processor time of the process and of those it waited for, start-up included.
        peak_gigabytes: the most memory that it had.
    """

    status: Status
    message: str
    cpu_seconds: float
    peak_gigabytes: float


def check_system() -> None:
    """Refuse to run processes with limits where the system knows none."""
    if find_spec("resource") is None:
        raise MethodError("a bench limits the time of its runs and needs a system with POSIX, such as Linux or macOS")


def run_limited(command: list[str], limit: float, log: Path) -> Outcome:
    """Run a command with a limit of this many CPU seconds; all that it printed is in the file `log`."""
    arguments = [sys.executable, "-I", str(LAUNCHER), str(limit), str(log), *command]
    started = subprocess.run(arguments, capture_output=True, text=True)
    if started.returncode:
        return Outcome("failed", last_line(started.stderr), 0.0, 0.0)
    found = json.loads(started.stdout)
    if found["late"]:
        return Outcome("time limit", f"not done after {limit:g} CPU seconds", found["cpu"], found["peak"])
    if found["code"]:
        words = last_line(log.read_text(encoding="utf-8", errors="replace"))
        return Outcome("failed", f"exit code {found['code']}: {words}", found["cpu"], found["peak"])
    return Outcome("done", "", found["cpu"], found["peak"])


def last_line(printed: str) -> str:
    """The last line that says something, cut to what fits into a table."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no message"
