"""The audit log: one line for everything a member did, each line chained to the one before by its hash.

A line that is changed, removed or put in breaks the chain; cutting off the end shows when the head is compared with
one that somebody else has kept. The log says what was asked and what it cost; it never contains a count.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.errors import NoRoom, ProtocolError

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
        text = json.dumps(line) + "\n"  # ASCII: safe to print, and any text can be written
        size = self._path.stat().st_size
        try:
            with self._path.open("a", encoding="ascii") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            os.truncate(self._path, size)  # half a line would break the chain for the next one
            raise NoRoom(
                f"{str(self._path)!r} cannot be written ({problem.strerror}); nothing was sent: make room, and start "
                "again"
            ) from None
        self.length, self.head = self.length + 1, line["hash"]

    def lines(self, after: int = 0) -> Iterator[dict[str, Any]]:
        """The lines after the first ones, in order."""
        for text in _whole_lines(self._path).splitlines()[after:]:
            yield json.loads(text)


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
