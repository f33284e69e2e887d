"""An audit as a page, for whoever has to sign that a build may be used."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.audit.audit import LIMITS, Report
from sfumato.audit.mutants import MUTANTS, Mutant
from sfumato.report.page import Stamp, bullets, page, paragraph, section, table, tiles
from sfumato.verify.findings import Result

PASSED = Stamp("publishable", "AUDIT PASSED", "with made-up rows: no private row was read, nothing was spent")
FAILED = Stamp("internal", "AUDIT FAILED", "do not use this build on private rows")


def audit_page(report: Report, bug: Mutant | None = None) -> str:
    """The whole HTML file; `bug` is the one that was switched on while the audit ran."""
    return page(PASSED if report.passed else FAILED, f"Audit of this build: {report.schema}", _body(report, bug))


def _body(report: Report, bug: Mutant | None) -> Iterator[str]:
    verdict = "None of these checks found a fault." if report.passed else "This build does not keep its promise."
    yield paragraph(
        f"Sfumato as it is installed here, tried with the schema {report.schema!r} and the method {report.method}, "
        f"level {report.level}. {verdict}",
        "lead",
    )
    if bug is not None:
        yield paragraph(f"A known bug was switched on to see the audit fail: {bug.summary}.", "warning")
    failed = sum(one.result is Result.FAILED for one in report.findings)
    figures = [(f"{len(report.findings)}", "checks"), (f"{failed}", "of them failed")]
    if report.game is not None:
        game = report.game
        claim = f"{game.epsilon:g}" + (f" with delta {game.delta:g}" if game.delta else "")
        figures += [
            (
                f"{game.bound:.2f}",
                f"epsilon shown at least by {game.runs:,} runs, at 95 % confidence; claimed: {claim}",
            ),
            (
                f"{1 - game.wrong / game.runs:.0%}",
                "of the runs guessed right by who knows all other rows (a coin: 50 %)",
            ),
        ]
    yield tiles(figures)
    rows = [(one.check, one.result.value, one.detail) for one in report.findings]
    yield section("Checks", "What was tried and what came of it.", table(("check", "result", "what was found"), rows))
    yield section("For a person to confirm", "What no program can know.", bullets(report.to_confirm))
    yield section("What this cannot show", "The proofs are in the documentation; this is a test.", bullets(LIMITS))
    known = [(name, one.summary, one.noticed_by) for name, one in MUTANTS.items()]
    words = "Each can be switched on, with --mutant NAME, to see the audit fail."
    yield section("Bugs that it notices", words, table(("mutant", "bug", "noticed by"), known))
    made = ", ".join(f"{name} {number}" for name, number in report.versions.items())
    yield f"<footer>{paragraph(f'Written by sfumato audit with {made}.')}</footer>"
