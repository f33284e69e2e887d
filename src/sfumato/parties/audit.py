"""The audit log: one line for everything a member did, each line chained to the one before by its hash.

A line that is changed, removed or put in breaks the chain; cutting off the end shows when the head is compared with
one that somebody else has kept. The log says what was asked and what it cost; it never contains a count.
"""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.errors import ProtocolError

START = "0" * 64
"""What the first line names as the line before it."""


class AuditLog:
    """An append-only file of chained lines; opening it checks the whole chain."""

    def __init__(self, path: Path):
        self._path = path
        path.touch(mode=0o600)
        # A last line without its end was being written when the machine stopped: what it was to say never happened.
        os.truncate(path, len(_whole_lines(path)))
        self.length, self.head = verify_log(path)

    def record(self, happened: str, **facts: str | int | bool | None) -> None:
        """Append one line, on disk before this returns."""
        line: dict[str, Any] = {
            "number": self.length + 1,
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "happened": happened,
            **facts,
            "previous": self.head,
        }
        line["hash"] = _hash(line)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")  # ASCII: safe to print, and any text can be written
            file.flush()
            os.fsync(file.fileno())
        self.length, self.head = self.length + 1, line["hash"]


def verify_log(path: Path) -> tuple[int, str]:
    """The number of lines of a log and the hash of its last one; refuses a log whose chain is broken."""
    head, number = START, 0
    for number, text in enumerate(_whole_lines(path).splitlines(), start=1):
        try:
            line = json.loads(text)
            right = line["number"] == number and line["previous"] == head and line.pop("hash") == _hash(line)
            head = _hash(line)
        except (ValueError, KeyError, TypeError):
            right = False
        if not right:
            raise ProtocolError(
                f"the audit log {str(path)!r} is broken at line {number}: it was changed, or a line is missing; "
                "keep the file as evidence and ask who had access to it"
            )
    return number, head


def _whole_lines(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise ProtocolError(f"the audit log {str(path)!r} cannot be read ({problem.strerror})") from None
    return content[: content.rfind(b"\n") + 1]


def _hash(line: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(line, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
