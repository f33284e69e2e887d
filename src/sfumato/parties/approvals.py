"""Approval by somebody who does not sit at the party's terminal: the question and the answer are files.

`asked.json` in the work folder has what the operator is to agree to. Whoever may write there puts `answer.json` beside
it, which names the question by its hash, so an answer to an earlier question counts for nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import ProtocolError
from sfumato.files import PRIVATE, write
from sfumato.parties.journal import Journal
from sfumato.parties.seat import Approve, AskedTable, Summary
from sfumato.parties.watch import Watch

ASKED, ANSWER = "asked.json", "answer.json"

LONGEST = 200
"""Characters of a name."""


@dataclass(frozen=True)
class Asked:
    """A question that waits for its operator.

    Args:
        digest: names this very question.
        summary: what the party is about to agree to.
    """

    digest: str
    summary: Summary


def waiting_for_answer(
    folder: Path, journal: Journal, watch: Watch, poll: float, sleep: Callable[[float], None]
) -> Approve:
    """An operator who answers with files of the work folder; the party waits for as long as it takes."""

    def approve(summary: Summary) -> bool:
        content = asdict(summary)
        digest = _digest(content)
        write(folder / ASKED, json.dumps({"digest": digest, "summary": content}, indent=1) + "\n", PRIVATE)
        watch.now("waiting for approval", round=summary.round, attempt=summary.attempt)
        while (answer := _answer(folder, digest)) is None:
            watch.alive()
            sleep(poll)
        agreed, by = answer
        journal.note(
            "approved by the operator" if agreed else "declined by the operator",
            round=summary.round,
            attempt=summary.attempt,
            by=by,
            question=digest,
        )
        for name in (ASKED, ANSWER):
            (folder / name).unlink(missing_ok=True)
        return agreed

    return approve


def read_asked(folder: Path) -> Asked | None:
    """The question that waits in a work folder, if one does."""
    found = _read(folder / ASKED)
    if found is None:
        return None
    try:
        content = found["summary"]
        tables = tuple(AskedTable(**table) for table in content["tables"])
        summary = Summary(**{**content, "tables": tables, "observed": tuple(content["observed"])})
        if found["digest"] != _digest(content):
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise ProtocolError(f"{str(folder / ASKED)!r} cannot be read; stop the party, and start it again") from None
    return Asked(found["digest"], summary)


def answer(folder: Path, digest: str, agreed: bool, by: str) -> None:
    """Answer the question that waits; refused if it is another one by now, or none."""
    name = " ".join(by.split())
    if not name or len(name) > LONGEST:
        raise ProtocolError("an answer needs the name of who gives it; give yours")
    asked = read_asked(folder)
    if asked is None or asked.digest != digest:
        raise ProtocolError("that question is not waiting any more; look at what is asked now")
    write(folder / ANSWER, json.dumps({"asked": digest, "agreed": agreed, "by": name}) + "\n", PRIVATE)


def _answer(folder: Path, digest: str) -> tuple[bool, str] | None:
    found = _read(folder / ANSWER)
    if found is None or found.get("asked") != digest or not isinstance(found.get("agreed"), bool):
        return None
    return found["agreed"], str(found.get("by", ""))[:LONGEST]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
