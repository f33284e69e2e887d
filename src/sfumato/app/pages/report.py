"""The internal report: real rows beside synthetic ones, for the steward alone."""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from sfumato.app import runs
from sfumato.app.guard import DOCUMENT_POLICY
from sfumato.app.pages.release import folder_of
from sfumato.app.rendering import command, explained, read_form, render, text_of, work_of


@explained
async def ask(request: Request) -> Response:
    """The form: which real table to compare with."""
    work, folder = work_of(request), folder_of(request)
    known = [run.arguments["table"] for run in runs.every(work) if run.name == folder.name and run.kind == "synthesize"]
    found = list(dict.fromkeys([*known, *map(str, work.tables())]))
    report = work.report(folder.name)
    words = evaluate_words(found[0] if found else "TABLE", folder, str(report))
    return render(
        request,
        "report.html",
        name=folder.name,
        tables=found,
        exists=report.exists(),
        command=command(*words),
    )


@explained
async def begin(request: Request) -> Response:
    """Compare, in a run of its own."""
    work, folder, form = work_of(request), folder_of(request), await read_form(request)
    table = work.table(text_of(form, "table"))
    report = work.report(folder.name)
    report.unlink(missing_ok=True)
    arguments = {"table": str(table), "release": str(folder), "out": str(report)}
    return RedirectResponse(f"/run/{runs.start(work, 'evaluate', folder.name, arguments).id}", 303)


@explained
async def show(request: Request) -> Response:
    """The report itself, which says on every screen that it is internal."""
    text = work_of(request).report(request.path_params["name"]).read_text(encoding="utf-8")
    return HTMLResponse(text, headers={"Content-Security-Policy": DOCUMENT_POLICY})


def evaluate_words(table: str, folder: Path, out: str) -> list[str]:
    """The words of the command that does the same."""
    words = ["evaluate", table, str(folder / "synthetic.csv"), "--schema", str(folder / "schema.json")]
    return [*words, "--release", str(folder), "--fast", "--out", out]
