"""A run: progress that survives a reload and a closed tab, and a way to stop it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from sfumato.app import runs
from sfumato.app.pages.audit import audit_options
from sfumato.app.pages.plan import plan_options
from sfumato.app.pages.report import evaluate_words
from sfumato.app.paying import Wanted, command_words
from sfumato.app.rendering import command, explained, read_form, render, work_of
from sfumato.app.work import Work
from sfumato.text import one_line

STAGES = {
    "read": "reading the table",
    "encode": "merging rare values",
    "learn": "choosing and measuring tables",
    "reconcile": "making the tables agree",
    "synthesize": "making rows",
    "done": "done",
    "encoding": "reading made-up rows in every way",
    "replay": "running methods on neighbouring tables",
    "noise": "drawing noise and comparing it with its law",
    "release": "making and verifying a release of made-up rows",
    "canary": "playing the canary game",
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
        cost=cost_of(run),
        commands=_commands(work_of(request), run),
    )


def cost_of(run: runs.Run) -> str:
    """What stopping a run costs, or has cost."""
    if run.kind != "synthesize":
        return "nothing: it spends no budget"
    if not run.has_asked:
        return "nothing: no row has been asked about yet"
    delta = f", delta = {run.arguments['delta']}" if run.arguments["delta"] else ""
    return f"all of epsilon = {run.arguments['epsilon']}{delta}: noisy answers cannot be taken back"


def _commands(work: Work, run: runs.Run) -> list[str]:
    given = run.arguments
    if run.kind == "synthesize":
        wanted = Wanted(*(str(given.get(name, "")) for name in ("epsilon", "delta", "method", "reason")))
        words = command_words(
            given["table"],
            given["schema"],
            wanted,
            Path(given["out"]),
            work.book,
            given["population"],
            given["proposal"],
        )
        return [command(*words)]
    if run.kind == "plan":
        return [command("plan", given["schema"], *plan_options(given))]
    if run.kind == "audit":
        return [command("audit", *audit_options(given))]
    return [command(*evaluate_words(given["table"], Path(given["release"]), given["out"]))]


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
                told = {"words": one_line(words), "end": line.get("end", ""), "cost": cost_of(run)}
                yield f"id: {number}\ndata: {json.dumps(told)}\n\n"
            sent = max(sent, len(lines))
            if run.state != "running":
                yield 'data: {"words": "", "end": "over"}\n\n'
                return
            await asyncio.sleep(0.3)

    return StreamingResponse(tail(), media_type="text/event-stream")
