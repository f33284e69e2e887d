"""Audit: does the build that is installed here keep its promise? Made-up rows, in a run of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.app import runs
from sfumato.app.rendering import command, explained, read_form, render, text_of, work_of
from sfumato.app.work import Draft, read_json
from sfumato.errors import DataError
from sfumato.recipes import RECIPES

LEVELS = {"quick": "quick: less than a minute", "full": "full: some minutes, with a canary game"}


@explained
async def ask(request: Request) -> Response:
    """The form, and the audits that were made."""
    work = work_of(request)
    made = [run for run in runs.every(work) if run.kind == "audit"]
    return render(
        request,
        "audit.html",
        drafts=work.drafts(),
        methods=list(RECIPES),
        levels=LEVELS,
        made=[(run, run.state, _passed(run)) for run in made[:20]],
        command=command("audit", "--level", "quick"),
    )


@explained
async def begin(request: Request) -> Response:
    """Audit, in a run of its own."""
    work, form = work_of(request), await read_form(request)
    draft, method, level = (text_of(form, name) for name in ("draft", "method", "level"))
    if level not in LEVELS or (method and method not in RECIPES):
        raise DataError("choose a method and a level of the list, and send the form again")
    chosen = Draft.load(work, draft) if draft else None
    name = "the built-in survey" if chosen is None else chosen.name
    arguments = {"schema": str(chosen.schema_file) if chosen else "", "method": method, "level": level}
    return RedirectResponse(f"/run/{runs.start(work, 'audit', name, arguments).id}", 303)


@explained
async def show(request: Request) -> Response:
    """What an audit found."""
    run = runs.load(work_of(request), request.path_params["id"])
    found: dict[str, Any] = read_json(run.folder / "audit.json")
    return render(
        request, "audited.html", run=run, found=found, command=command("audit", *audit_options(run.arguments))
    )


def audit_options(given: Mapping[str, str]) -> list[str]:
    """The options of the command that does the same."""
    names = {"--schema": "schema", "--method": "method", "--level": "level"}
    return [word for option, name in names.items() if given[name] for word in (option, given[name])]


def _passed(run: runs.Run) -> str:
    lines = run.lines
    end = lines[-1] if lines else {}
    return "" if end.get("end") != "done" else ("passed" if end["passed"] else "FAILED")
