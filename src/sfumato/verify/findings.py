"""What a verification finds: one line for each check, and what no check can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sfumato.text import html_line

LIMITS = (
    "that noise was drawn, and from its law: a release with other numbers of the same kind would look the same",
    "that nobody looked at the private rows in another way before or after the run",
    "that this is the only release of these persons: see the book that its steward keeps",
    "that the domains of the schema are public, as it declares",
    "that the persons, or rows, of the table are those that the schema calls the unit of privacy",
)
"""What cannot be shown from a release folder, whatever is in it."""


class Result(Enum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_CHECKED = "not checked"


STYLES = {Result.PASSED: "green", Result.FAILED: "bold red", Result.NOT_CHECKED: "yellow"}
"""How results look on a terminal."""


@dataclass(frozen=True)
class Finding:
    """One check and how it ended, in a sentence."""

    check: str
    result: Result
    detail: str

    def to_dict(self) -> dict[str, str]:
        """This finding as JSON."""
        return {"check": self.check, "result": self.result.value, "detail": self.detail}


@dataclass(frozen=True)
class Verdict:
    """All findings. A release is consistent if no check failed; what was not checked is said."""

    findings: tuple[Finding, ...]

    @property
    def is_consistent(self) -> bool:
        """Whether no check failed."""
        return all(one.result is not Result.FAILED for one in self.findings)

    def _repr_html_(self) -> str:
        """All findings, for notebooks."""
        rows = "".join(
            f"<tr><td>{html_line(one.check)}</td><td>{one.result.value}</td><td>{html_line(one.detail)}</td></tr>"
            for one in self.findings
        )
        words = "Consistent" if self.is_consistent else "NOT consistent: do not rely on this release"
        return f"<p><b>{words}.</b></p><table><tr><th>check</th><th>result</th><th>found</th></tr>{rows}</table>"

    def to_dict(self) -> dict[str, Any]:
        """This verdict as JSON."""
        return {
            "consistent": self.is_consistent,
            "checks": [one.to_dict() for one in self.findings],
            "cannot_be_shown": list(LIMITS),
        }


def found(check: str, problems: Sequence[str], right: str) -> Finding:
    """A finding: the first problems if there are some, else the sentence that says what is right."""
    if not problems:
        return Finding(check, Result.PASSED, right)
    more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
    return Finding(check, Result.FAILED, "; ".join(problems[:3]) + more)


def not_checked(check: str, why: str) -> Finding:
    """A finding: the check could not be made."""
    return Finding(check, Result.NOT_CHECKED, why)
