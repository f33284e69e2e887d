"""Confirm and pay: the last page before rows are read."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.app import runs
from sfumato.app.pages.schema import draft_of
from sfumato.app.paying import Wanted, account_at, accounts_of, command_words, start
from sfumato.app.rendering import command, explained, read_form, render, text_of, work_of
from sfumato.app.work import Draft, Work
from sfumato.errors import DataError
from sfumato.fitting import open_ledger
from sfumato.job import unusual
from sfumato.outlook import outlook
from sfumato.privacy.budget import budget_of


@explained
async def confirm(request: Request) -> Response:
    """The sentence of the guarantee, what it costs, who pays, and a field for the name of the release."""
    work, draft, asked = work_of(request), draft_of(request), request.query_params
    wanted = wanted_of(draft, asked.get("reason", "").strip())
    odd = unusual(draft.schema, budget_of(wanted.epsilon, wanted.delta or None))
    # A budget that is unusual is refused without a reason; the page asks for one instead.
    job = Wanted(wanted.epsilon, wanted.delta, wanted.method, wanted.reason or "to be given").job(draft)
    accounts = accounts_of(work, job)
    account = account_at(accounts, asked.get("population", "0" if accounts else ""))
    expected = outlook(job, int(guess) if (guess := draft.chosen()["rows_guess"]).isdecimal() else None)
    name = suggested(work, draft)
    out, population = work.folder / "releases" / name, account.name if account else ""
    words = command_words(draft.table, str(draft.schema_file), wanted, out, work.book, population, "")
    return render(
        request,
        "confirm.html",
        draft=draft,
        wanted=wanted,
        sentence=open_ledger(job).statement().sentence(),
        observed=[(", ".join(one.columns), one.by, one.reason) for one in job.schema.accept_observed],
        unusual=odd,
        noise=expected.words,
        drowned=bool(expected.warnings),
        accounts=accounts,
        account=account,
        suggested=name,
        command=command(*words),
    )


@explained
async def pay(request: Request) -> Response:
    """Begin the run, unless the policy of the population wants two names: then only a proposal can pay."""
    work, draft, form = work_of(request), draft_of(request), await read_form(request)
    wanted = Wanted(*(text_of(form, name) for name in ("epsilon", "delta", "method", "reason")))
    name = text_of(form, "release")
    if name != text_of(form, "release_again"):
        raise DataError("the two names of the release differ; type the same name twice to confirm that you want to pay")
    account = account_at(accounts_of(work, wanted.job(draft), name), text_of(form, "population"))
    if account is not None and account.found.refusal:
        raise DataError(account.found.refusal)
    if account is not None and account.found.two_names:
        raise DataError("the policy of this population wants two names for this release; propose it first")
    run = start(work, draft, wanted, name, account.name if account else "")
    return RedirectResponse(f"/run/{run.id}", 303)


def wanted_of(draft: Draft, reason: str) -> Wanted:
    """What was chosen on the page of the plan."""
    chosen = draft.chosen()
    return Wanted(chosen["epsilon"], chosen["delta"], chosen["method"], reason)


def suggested(work: Work, draft: Draft) -> str:
    """A name for the release that no other has, and no run is about to have."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", draft.name).strip("-").lower()[:60] or "release"
    taken = {*work.releases(), *(run.name for run in runs.every(work) if run.kind == "synthesize")}
    return next(name for number in range(1, len(taken) + 2) if (name := f"{plain}-{number}") not in taken)
