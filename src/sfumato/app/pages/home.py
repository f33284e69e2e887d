"""The first page: releases, runs and drafts."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from sfumato.app import runs
from sfumato.app.rendering import explained, render, work_of


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
        folder=str(work.folder),
    )
