"""Proposals: a release that the policy of its population wants two names for, from proposing to paying.

The book keeps who proposed and who approved. What it is for (a draft, its schema as it was, the budget) is a file of
the work folder, and a proposal whose schema was changed since is refused.
"""

from __future__ import annotations

import hashlib
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.app.pages.schema import draft_of
from sfumato.app.paying import Wanted, account_at, accounts_of, command_words, figures, start
from sfumato.app.rendering import command, explained, person_of, read_form, render, text_of, work_of
from sfumato.app.work import Draft, Work, file_name, read_json
from sfumato.book import Book, Payment
from sfumato.errors import DataError, FileError
from sfumato.files import PRIVATE, check_new, write
from sfumato.fitting import open_ledger
from sfumato.text import json_text


@dataclass(frozen=True)
class Proposal:
    """A proposal of the book, and what it is for.

    Args:
        payment: what the book says of it.
        by: who proposed it.
        draft: the table and its schema.
        wanted: the run.
        schema: the SHA-256 of the schema file as it was proposed.
    """

    payment: Payment
    by: str
    draft: Draft
    wanted: Wanted
    schema: str

    @property
    def is_unchanged(self) -> bool:
        """Whether the schema is still the one that was proposed and approved."""
        return _digest(self.draft) == self.schema

    @property
    def may_be_paid(self) -> bool:
        """Whether two persons have approved what would be run."""
        return self.payment.state == "proposed" and len(self.payment.approved_by) >= 2 and self.is_unchanged


@explained
async def propose(request: Request) -> Response:
    """Write the proposal into the book, approved by who proposes it."""
    work, draft, form = work_of(request), draft_of(request), await read_form(request)
    wanted = Wanted(*(text_of(form, name) for name in ("epsilon", "delta", "method", "reason")))
    title, person = file_name(text_of(form, "release")), person_of(request, form)
    check_new(work.release(title), "a release")
    job = wanted.job(draft)
    account = account_at(accounts_of(work, job, title), text_of(form, "population"))
    if account is None:
        raise DataError("a proposal is about the budget of a population; choose one")
    with closing(Book(work.book)) as book:
        number = book.propose(account.name, title, job.opened, person, job.recipe.name)
        kept = {"draft": draft.id, "by": person, "schema": _digest(draft), **vars(wanted)}
        write(work.folder / "proposals" / f"{number}.json", json_text(kept) + "\n", PRIVATE)
        if not book.standing(account.name).policy.approvers:  # where keys approve, a name alone does not
            book.approve(number, person)
    return RedirectResponse(f"/proposal/{number}", 303)


@explained
async def show(request: Request) -> Response:
    """What is proposed, who has approved it, and what can be done now."""
    work = work_of(request)
    one = load(work, request.path_params["number"])
    payment = one.payment
    out, number = work.release(payment.title), str(payment.number)
    schema = str(one.draft.schema_file)
    words = command_words(one.draft.table, schema, one.wanted, out, work.book, payment.population, number)
    return render(
        request,
        "proposal.html",
        one=one,
        sentence=open_ledger(one.wanted.job(one.draft)).statement().sentence() if one.is_unchanged else "",
        standing=_standing(work, payment.population),
        commands=[command("book", "approve", str(work.book), number, "--as", "NAME"), command(*words)],
    )


@explained
async def approve(request: Request) -> Response:
    """Agree with a name of one's own: that of whoever proposed or approved before is refused by the book."""
    work, form = work_of(request), await read_form(request)
    one = load(work, request.path_params["number"])
    if not one.is_unchanged:
        raise DataError("the schema was changed since this was proposed; withdraw the proposal, and propose it anew")
    with closing(Book(work.book)) as book:
        book.approve(one.payment.number, person_of(request, form))
    return RedirectResponse(f"/proposal/{one.payment.number}", 303)


@explained
async def withdraw(request: Request) -> Response:
    """Give a proposal up."""
    work, form = work_of(request), await read_form(request)
    one = load(work, request.path_params["number"])
    with closing(Book(work.book)) as book:
        book.abort(one.payment.number, f"withdrawn by {person_of(request, form)}")
    return RedirectResponse(f"/proposal/{one.payment.number}", 303)


@explained
async def pay(request: Request) -> Response:
    """Begin the run that two persons have approved."""
    work, form = work_of(request), await read_form(request)
    one = load(work, request.path_params["number"])
    if not one.may_be_paid:
        raise DataError("this proposal cannot be paid: it needs the approval of two persons, and an unchanged schema")
    if text_of(form, "release_again") != one.payment.title:
        raise DataError(f"type the name of the release, {one.payment.title!r}, to confirm that you want to pay")
    payment = one.payment
    run = start(work, one.draft, one.wanted, payment.title, payment.population, str(payment.number))
    return RedirectResponse(f"/run/{run.id}", 303)


def load(work: Work, number: str) -> Proposal:
    """A proposal that was made on this page."""
    path = work.folder / "proposals" / f"{number[:12]}.json"
    if not number.isdecimal() or not path.is_file():
        raise FileError("there is no such proposal on this page; the book lists those that there are")
    keys = read_json(path)
    wanted = Wanted(*(str(keys[name]) for name in ("epsilon", "delta", "method", "reason")))
    with closing(Book(work.book)) as book:
        found = [one for name in book.populations for one in book.standing(name).payments if one.number == int(number)]
    if not found:
        raise FileError("the book does not know this proposal any more; was it restored from a copy?")
    return Proposal(found[0], str(keys["by"]), Draft.load(work, str(keys["draft"])), wanted, str(keys["schema"]))


def _standing(work: Work, population: str) -> str:
    with closing(Book(work.book)) as book:
        found: dict[str, Any] = book.standing(population).to_dict()
    return figures(found)


def _digest(draft: Draft) -> str:
    return hashlib.sha256(draft.schema_file.read_bytes()).hexdigest()
