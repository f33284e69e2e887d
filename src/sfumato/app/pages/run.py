"""A run: progress that survives a reload and a closed tab, and a way to stop it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from sfumato.app import runs
from sfumato.app.rendering import explained, read_form, render, work_of
from sfumato.text import one_line

STAGES = {
    "read": "reading the table",
    "encode": "merging rare values",
    "learn": "choosing and measuring tables",
    "reconcile": "making the tables agree",
    "synthesize": "making rows",
    "done": "done",
}


@explained
async def show(request: Request) -> Response:
    """How far a run is, as far as is known now."""
    run = runs.load(work_of(request), request.path_params["id"])
    lines = run.lines
    passed = [line["stage"] for line in lines if "stage" in line]
    return render(
        request,
        "run.html",
        run=run,
        state=run.state,
        stages=[(STAGES.get(stage, stage), stage == passed[-1]) for stage in passed],
        end=lines[-1] if lines and "end" in lines[-1] else {},
        kind=run.kind,
    )


@explained
async def cancel(request: Request) -> Response:
    """Ask a run to stop."""
    run = runs.load(work_of(request), request.path_params["id"])
    await read_form(request)
    run.cancel()
    return RedirectResponse(f"/run/{run.id}", 303)


@explained
async def events(request: Request) -> Response:
    """The lines of a run as they come; a browser that was away asks from the last one it has."""
    run = runs.load(work_of(request), request.path_params["id"])
    seen = request.headers.get("last-event-id", request.query_params.get("after", "0"))

    async def tail() -> AsyncIterator[str]:
        sent = int(seen) if seen.isdecimal() else 0
        while not await request.is_disconnected():
            lines = run.lines
            for number, line in enumerate(lines[sent:], sent + 1):
                words = STAGES.get(line.get("stage", ""), line.get("stage", ""))
                told = {"words": one_line(words), "end": line.get("end", "")}
                yield f"id: {number}\ndata: {json.dumps(told)}\n\n"
            sent = max(sent, len(lines))
            if run.state != "running":
                yield 'data: {"words": "", "end": "over"}\n\n'
                return
            await asyncio.sleep(0.3)

    return StreamingResponse(tail(), media_type="text/event-stream")
