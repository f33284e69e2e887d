"""Plan: how much budget, or how exact a table must be; what it buys, and what the book allows. Spends nothing."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from sfumato.app import runs
from sfumato.app.guard import DOCUMENT_POLICY
from sfumato.app.pages.schema import draft_of
from sfumato.app.paying import Wanted, accounts_of
from sfumato.app.rendering import command, explained, in_thread, read_form, render, text_of, work_of
from sfumato.app.work import Draft, Work
from sfumato.errors import DataError, FileError, SfumatoError
from sfumato.fitting import open_ledger
from sfumato.job import unusual
from sfumato.outlook import outlook
from sfumato.recipes import RECIPES
from sfumato.schema.acceptance import counted

PRESETS = (
    ("0.2", "strong protection, coarse statistics"),
    ("1", "usual for sensitive tables"),
    ("5", "fine statistics, weaker protection"),
)
FIELDS = ("epsilon", "want", "delta", "rows_guess", "method")


@explained
async def show(request: Request) -> Response:
    """The form, and the forecast of what it holds."""
    draft = draft_of(request)
    chosen = draft.chosen()
    if found := request.query_params.get("epsilon"):  # what a rehearsal found
        chosen |= {"epsilon": found, "want": ""}
    words = ["plan", str(draft.schema_file), *plan_options(chosen)]
    return render(
        request,
        "plan.html",
        draft=draft,
        chosen=chosen,
        methods=[(name, str(recipe.guarantee), recipe.summary) for name, recipe in RECIPES.items()],
        presets=PRESETS,
        unsigned=counted(draft.schema.unaccepted) if draft.schema.unaccepted else "",
        facts=await in_thread(_facts, work_of(request), draft, chosen),
        command=command(*words),
    )


@explained
async def choose(request: Request) -> Response:
    """Keep what was typed, and go where the button leads."""
    work, draft, form = work_of(request), draft_of(request), await read_form(request)
    chosen = {name: text_of(form, name) for name in FIELDS}
    if preset := text_of(form, "preset"):
        chosen["epsilon"], chosen["want"] = preset, ""
    draft.choose(chosen)
    action = text_of(form, "action")
    if action == "rehearse":
        return RedirectResponse(f"/run/{_rehearse(work, draft, chosen).id}", 303)
    if action == "confirm":
        if not chosen["epsilon"]:
            raise DataError("give a budget (epsilon), or rehearse how exact a table must be to find one")
        _wanted(chosen).trial(draft.schema)
        return RedirectResponse(f"/draft/{draft.id}/confirm", 303)
    return RedirectResponse(f"/draft/{draft.id}/plan#forecast", 303)


@explained
async def forecast(request: Request) -> Response:
    """What the script of the page asks for while somebody types: the forecast as a piece of a page."""
    work, draft, asked = work_of(request), draft_of(request), request.query_params
    chosen = {name: asked.get(name, "").strip() for name in FIELDS}
    return render(request, "forecast.html", facts=await in_thread(_facts, work, draft, chosen))


@explained
async def rehearsed(request: Request) -> Response:
    """What a rehearsal found, as a page of its own."""
    run = runs.load(work_of(request), request.path_params["id"])
    try:
        text = (run.folder / "plan.html").read_text(encoding="utf-8")
    except OSError:
        raise FileError("there is no forecast yet; wait for its run") from None
    return HTMLResponse(text, headers={"Content-Security-Policy": DOCUMENT_POLICY})


def _rehearse(work: Work, draft: Draft, chosen: dict[str, str]) -> runs.Run:
    """Forecast from public facts alone, in a run of its own; reads no row and spends nothing."""
    if not chosen["rows_guess"].isdecimal():
        raise DataError("a forecast needs a public guess of the number of rows; give a whole number")
    if not chosen["epsilon"] and not chosen["want"]:
        raise DataError("give a budget, or how exact a table must be, such as ±50 in age × sex")
    return runs.start(work, "plan", draft.name, {"schema": str(draft.schema_file), "draft": draft.id, **chosen})


def plan_options(chosen: dict[str, str]) -> list[str]:
    """The options of the command that does the same."""
    names = {"epsilon": "--epsilon", "want": "--want", "delta": "--delta", "rows_guess": "--rows-guess"}
    given = {**chosen, "epsilon": chosen["epsilon"] or ("" if chosen["want"] else "1")}
    given["rows_guess"] = given["rows_guess"] or "30000"
    found = [word for name, option in names.items() if given[name] for word in (option, given[name])]
    return [*found, "--method", chosen["method"]]


def _wanted(chosen: dict[str, str]) -> Wanted:
    return Wanted(chosen["epsilon"], chosen["delta"], chosen["method"])


def _facts(work: Work, draft: Draft, chosen: dict[str, str]) -> dict[str, object]:
    """What follows from public facts at once: the guarantee, the noise to expect, and what the book makes of it."""
    if not chosen["epsilon"]:
        return {"problem": "", "sentence": ""}
    guess = chosen["rows_guess"]
    rows = int(guess) if guess.isdecimal() and 0 < int(guess[:11]) <= 10**10 else None
    try:
        job = _wanted(chosen).trial(draft.schema)
        expected = outlook(job, rows)
        return {
            "problem": "",
            "sentence": open_ledger(job).statement().sentence(),
            "unusual": unusual(job.schema, job.budget),
            "rows": expected.rows,
            "one_way": None if expected.rows is None else expected.one_way(expected.rows),
            "two_way": None if expected.rows is None else expected.two_way(expected.rows),
            "words": expected.words,
            "drowned": bool(expected.warnings),
            "accounts": accounts_of(work, job),
        }
    except SfumatoError as problem:
        return {"problem": str(problem), "sentence": ""}
