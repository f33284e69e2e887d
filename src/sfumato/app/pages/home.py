"""The first page: releases, runs, drafts, the budgets of the book, and studies."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from sfumato.app import runs, studies
from sfumato.app.pages.book import spent_by
from sfumato.app.rendering import command, explained, in_thread, render, work_of


@explained
async def home(request: Request) -> Response:
    """Everything that is in the work folder."""
    work = work_of(request)
    return render(
        request,
        "home.html",
        releases=work.releases(),
        runs=[(run, run.state) for run in runs.every(work)[:20]],
        drafts=work.drafts(),
        studies=await in_thread(studies.every, work),
        accounts=await in_thread(spent_by, work),
        folder=str(work.folder),
        command=command("app", "--folder", str(work.folder)),
    )
