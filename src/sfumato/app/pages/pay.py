"""Budget, then confirm and pay: the last page before rows are read."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.app import runs
from sfumato.app.pages.schema import draft_of
from sfumato.app.rendering import command, explained, read_form, render, text_of, work_of
from sfumato.app.work import Draft
from sfumato.errors import DataError, SchemaError
from sfumato.files import check_new
from sfumato.fitting import open_ledger
from sfumato.job import Job, recipe_of
from sfumato.privacy.budget import budget_of
from sfumato.privacy.ledger import Statement
from sfumato.recipes import RECIPES

PRESETS = (
    ("0.2", "strong protection, coarse statistics"),
    ("1", "usual for sensitive tables"),
    ("5", "fine statistics"),
)


@explained
async def budget(request: Request) -> Response:
    """The form: how much budget, and by which method."""
    draft = draft_of(request)
    methods = [(name, str(recipe.guarantee), recipe.summary) for name, recipe in RECIPES.items()]
    return render(request, "budget.html", draft=draft, methods=methods, presets=PRESETS, unsigned=draft.unsigned)


@explained
async def confirm(request: Request) -> Response:
    """The sentence of the guarantee, what it costs, and a field for the name of the release."""
    draft, asked = draft_of(request), request.query_params
    epsilon, delta = asked.get("epsilon", "").strip(), asked.get("delta", "").strip()
    method = asked.get("method", "privsyn")
    job = job_of(draft, epsilon, delta, method)
    return render(
        request,
        "confirm.html",
        draft=draft,
        epsilon=epsilon,
        delta=delta,
        method=method,
        sentence=statement_of(job).sentence(),
        observed=[(name, *draft.accepted[name]) for name in job.schema.observed],
        command=command(*arguments_of(draft, epsilon, delta, method, bool(job.schema.observed)), "--out", "NAME"),
    )


@explained
async def pay(request: Request) -> Response:
    """Begin the run."""
    work, draft, form = work_of(request), draft_of(request), await read_form(request)
    epsilon, delta, method = (text_of(form, name) for name in ("epsilon", "delta", "method"))
    name = text_of(form, "release")
    job = job_of(draft, epsilon, delta, method)
    if name != text_of(form, "release_again"):
        raise DataError("the two names of the release differ; type the same name twice to confirm that you want to pay")
    check_new(work.release(name), "a release")
    run = runs.start(
        work,
        "synthesize",
        name,
        {
            "table": draft.table,
            "schema": str(draft.schema_file),
            "epsilon": epsilon,
            "delta": delta,
            "method": method,
            "accept_observed_domain": bool(job.schema.observed),
            "out": str(work.release(name)),
        },
    )
    return RedirectResponse(f"/run/{run.id}", 303)


def job_of(draft: Draft, epsilon: str, delta: str, method: str) -> Job:
    """What would be run; refused where it cannot be."""
    if draft.unsigned:
        raise SchemaError(
            f"{len(draft.unsigned)} columns have domains that were observed in the data, and nobody has signed for "
            "them; declare them or sign for them on the page of the schema"
        )
    schema = draft.schema
    return Job(schema, recipe_of(method), budget_of(epsilon, delta or None), bool(schema.observed))


def statement_of(job: Job) -> Statement:
    """The guarantee of a run that has not begun."""
    return open_ledger(job).statement()


def arguments_of(draft: Draft, epsilon: str, delta: str, method: str, observed: bool) -> list[str]:
    """The same as words of the command line."""
    words = ["synthesize", draft.table, "--schema", str(draft.schema_file), "--epsilon", epsilon]
    words += ["--delta", delta] if delta else []
    words += ["--method", method]
    return [*words, "--accept-observed-domain"] if observed else words
