"""Plan, then confirm and pay: the last pages before rows are read."""

from __future__ import annotations

from contextlib import closing

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from sfumato.app import runs
from sfumato.app.guard import DOCUMENT_POLICY
from sfumato.app.pages.schema import draft_of
from sfumato.app.rendering import command, explained, read_form, render, text_of, work_of
from sfumato.app.work import Draft, Work
from sfumato.book import Book
from sfumato.errors import DataError, FileError, SchemaError
from sfumato.files import check_new
from sfumato.fitting import open_ledger
from sfumato.job import Job, recipe_of
from sfumato.outlook import outlook
from sfumato.privacy.budget import budget_of
from sfumato.recipes import DEFAULT, RECIPES

PRESETS = (
    ("0.2", "strong protection, coarse statistics"),
    ("1", "usual for sensitive tables"),
    ("5", "fine statistics"),
)


@explained
async def budget(request: Request) -> Response:
    """The form: how much budget, or how exact a table must be."""
    draft = draft_of(request)
    return render(
        request,
        "budget.html",
        draft=draft,
        methods=[(name, str(recipe.guarantee), recipe.summary) for name, recipe in RECIPES.items()],
        default=DEFAULT,
        presets=PRESETS,
        unsigned=draft.schema.unaccepted,
        guess=draft.schema.rows_guess or "",
        command=command("plan", str(draft.schema_file), "--epsilon", "1", "--delta", "1e-9", "--rows-guess", "N"),
    )


@explained
async def rehearse(request: Request) -> Response:
    """Forecast from public facts alone, in a run of its own; reads no row and spends nothing."""
    work, draft, form = work_of(request), draft_of(request), await read_form(request)
    given = {name: text_of(form, name) for name in ("epsilon", "delta", "method", "want", "rows_guess")}
    if not given["rows_guess"].isdecimal():
        raise DataError("a forecast needs a public guess of the number of rows; give a whole number")
    if not given["epsilon"] and not given["want"]:
        raise DataError("give a budget, or how exact a table must be, such as ±50 in age × sex")
    run = runs.start(work, "plan", draft.name, {"schema": str(draft.schema_file), "draft": draft.id, **given})
    return RedirectResponse(f"/run/{run.id}", 303)


@explained
async def plan(request: Request) -> Response:
    """What a rehearsal found, as a page of its own."""
    run = runs.load(work_of(request), request.path_params["id"])
    try:
        text = (run.folder / "plan.html").read_text(encoding="utf-8")
    except OSError:
        raise FileError("there is no forecast yet; wait for its run") from None
    return HTMLResponse(text, headers={"Content-Security-Policy": DOCUMENT_POLICY})


@explained
async def confirm(request: Request) -> Response:
    """The sentence of the guarantee, what it costs, and a field for the name of the release."""
    work, draft, asked = work_of(request), draft_of(request), request.query_params
    epsilon, delta = asked.get("epsilon", "").strip(), asked.get("delta", "").strip()
    method = asked.get("method", DEFAULT)
    job = job_of(draft, epsilon, delta, method)
    words = ["synthesize", draft.table, "--schema", str(draft.schema_file), "--epsilon", epsilon]
    words += ["--delta", delta] if delta else []
    return render(
        request,
        "confirm.html",
        draft=draft,
        epsilon=epsilon,
        delta=delta,
        method=method,
        sentence=open_ledger(job).statement().sentence(),
        observed=[(", ".join(one.columns), one.by, one.reason) for one in job.schema.accept_observed],
        noise=(expected := outlook(job)).words,
        drowned=bool(expected.warnings),
        populations=populations_of(work),
        command=command(*words, "--method", method, "--out", "NAME"),
    )


@explained
async def pay(request: Request) -> Response:
    """Begin the run."""
    work, draft, form = work_of(request), draft_of(request), await read_form(request)
    epsilon, delta, method = (text_of(form, name) for name in ("epsilon", "delta", "method"))
    name, proposal = text_of(form, "release"), text_of(form, "proposal")
    population = _population(work, text_of(form, "population"))
    job_of(draft, epsilon, delta, method)
    if name != text_of(form, "release_again"):
        raise DataError("the two names of the release differ; type the same name twice to confirm that you want to pay")
    if proposal and not proposal.isdecimal():
        raise DataError("the number of a proposal is a whole number; the page of the book shows it")
    check_new(work.release(name), "a release")
    arguments = {
        "table": draft.table,
        "schema": str(draft.schema_file),
        "epsilon": epsilon,
        "delta": delta,
        "method": method,
        "book": str(work.book),
        "population": population,
        "proposal": proposal,
        "out": str(work.release(name)),
    }
    return RedirectResponse(f"/run/{runs.start(work, 'synthesize', name, arguments).id}", 303)


def job_of(draft: Draft, epsilon: str, delta: str, method: str) -> Job:
    """What would be run; refused where it cannot be."""
    schema = draft.schema
    if schema.unaccepted:
        raise SchemaError(
            f"{len(schema.unaccepted)} columns have domains that were observed in the data, and nobody has signed for "
            "them; declare them or sign for them on the page of the schema"
        )
    return Job(schema, recipe_of(method), budget_of(epsilon, delta or None))


def populations_of(work: Work) -> list[str]:
    """The populations of the book, if there is one."""
    if not work.book.exists():
        return []
    with closing(Book(work.book)) as book:
        return list(book.populations)


def _population(work: Work, number: str) -> str:
    """The population of a number in the form; none if it was left empty."""
    if not number:
        return ""
    known = populations_of(work)
    if not number.isdecimal() or int(number[:9]) >= len(known):
        raise DataError("that population is not in the book; go back and reload the page")
    return known[int(number)]
