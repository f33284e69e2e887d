"""The results file: one JSON line for each run, appended as it ends, so a crash costs one run at most."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bench.process import Status
from sfumato.errors import DataError


class Key(NamedTuple):
    """What tells runs apart."""

    set: str
    method: str
    epsilon: str
    delta: str
    repeat: int


@dataclass(frozen=True)
class Result:
    """A run that has ended, well or not.

    Args:
        key: which run.
        status: how it ended.
        message: why it did not end well.
        figures: scores and costs; empty if there are none.
    """

    key: Key
    status: Status
    message: str
    figures: Mapping[str, float]

    def to_line(self) -> str:
        """One line of JSON."""
        words = self.key._asdict() | {"status": self.status, "message": self.message} | dict(self.figures)
        return json.dumps(words, ensure_ascii=False) + "\n"

    @classmethod
    def from_dict(cls, words: dict[str, Any]) -> Result:
        """The inverse of `to_line`, after parsing."""
        key = Key(**{name: words.pop(name) for name in Key._fields})
        return cls(key, words.pop("status"), words.pop("message"), words)


def load(file: Path) -> dict[Key, Result]:
    """All results of a file, the last of each run; what a crash left half-written is cut off the file."""
    if not file.exists():
        return {}
    whole, _, half = file.read_bytes().rpartition(b"\n")
    if half:
        os.truncate(file, len(whole) + 1 if whole else 0)
    found = {}
    for line in filter(None, whole.split(b"\n")):
        try:
            result = Result.from_dict(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DataError(f"{str(file)!r} has a line that is no result; move the file away, or mend it") from None
        found[result.key] = result
    return found


def append(file: Path, result: Result) -> None:
    """Add a line, and see it on the disk."""
    with file.open("a", encoding="utf-8", newline="\n") as open_file:
        open_file.write(result.to_line())
        open_file.flush()
        os.fsync(open_file.fileno())
