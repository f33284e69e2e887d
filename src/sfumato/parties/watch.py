"""What a member is doing, for those who run it: a log, a status file, and numbers for a monitor. Never a count."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato import files
from sfumato.errors import FileError
from sfumato.text import one_line

STATUS = "status.json"
"""The file in a work folder that says what its member does."""

STALE = 60.0
"""Seconds after which a member that shows no sign of life is not well."""

Log = Callable[[dict[str, Any]], None]


class Watch:
    """Keeps what a member does now, and tells of each change once.

    Args:
        member: whose it is.
        study: the study, as messages name it.
        folder: where the status file is; None for none.
        log: called with each line of the log.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        member: str,
        study: str,
        folder: Path | None = None,
        log: Log = lambda line: None,
        clock: Callable[[], float] = time.time,
    ):
        self._labels = {"member": member, "study": study}
        self._folder = folder
        self._log = log
        self._clock = clock
        self._lock = threading.Lock()
        self._alive = clock()
        self._now: dict[str, Any] = {"state": "starting"}
        self._since = clock()
        self._counters: Counter[str] = Counter()
        self._gauges: dict[str, float] = {}

    def tell(self, happened: str, level: str = "info", **facts: Any) -> None:
        """Write a line into the log."""
        self._log({"time": _text(self._clock()), "level": level, **self._labels, "event": one_line(happened), **facts})
        if level != "info":
            self.count("trouble")

    def now(self, state: str, **facts: Any) -> None:
        """What the member does from now on; said again, it only shows that it is alive."""
        said = {"state": state, **facts}
        with self._lock:
            self._alive = self._clock()
            if said == self._now:
                return
            self._now, self._since = said, self._clock()
        self.tell(state, **facts)
        self._write()

    def alive(self) -> None:
        """A sign of life."""
        self._alive = self._clock()

    def count(self, what: str, by: int = 1) -> None:
        """Add to a number that only grows."""
        with self._lock:
            self._counters[what] += by

    def gauge(self, what: str, value: float) -> None:
        """Keep a number that may go up and down."""
        with self._lock:
            self._gauges[what] = value

    @property
    def is_well(self) -> bool:
        """Whether the member has shown a sign of life lately, and has not failed."""
        return self._now["state"] != "failed" and self._clock() - self._alive < STALE

    def status(self) -> dict[str, Any]:
        """What the member does, and since when."""
        with self._lock:
            return {**self._labels, **self._now, "since": _text(self._since), **self._gauges}

    def metrics(self) -> str:
        """All numbers in the text format of OpenMetrics."""
        labels = ",".join(f"{name}={json.dumps(value)}" for name, value in self._labels.items())
        with self._lock:
            gauges = {"well": float(self.is_well), "last_sign_of_life_seconds": self._alive, **self._gauges}
            for name in ("round", "attempt"):
                if isinstance(self._now.get(name), int):
                    gauges[name] = float(self._now[name])
            lines = [
                line for name, value in sorted(gauges.items()) for line in _lines(name, "gauge", "", labels, value)
            ]
            for name, value in sorted(self._counters.items()):
                lines += _lines(name, "counter", "_total", labels, value)
        return "\n".join([*lines, "# EOF", ""])

    def _write(self) -> None:
        if self._folder is not None:
            try:
                files.write(self._folder / STATUS, json.dumps(self.status(), indent=1) + "\n", files.PRIVATE)
            except FileError as problem:
                self._log({"time": _text(self._clock()), "level": "error", **self._labels, "event": str(problem)})


def read_status(folder: Path) -> Mapping[str, Any] | None:
    """The status file of a work folder, if there is one that can be read."""
    try:
        found = json.loads((folder / STATUS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _lines(name: str, kind: str, ending: str, labels: str, value: float) -> tuple[str, str]:
    return f"# TYPE sfumato_{name} {kind}", f"sfumato_{name}{ending}{{{labels}}} {value:.17g}"


def _text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
