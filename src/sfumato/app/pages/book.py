"""The book: what each population has spent on all its releases, and what it has left."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.app.rendering import command, explained, in_thread, read_form, render, text_of, work_of
from sfumato.app.work import Draft, Work
from sfumato.book import Book
from sfumato.book.policy import Policy
from sfumato.errors import DataError
from sfumato.exact import exact_number
from sfumato.privacy.budget import budget_of
from sfumato.privacy.neighbours import Neighbours


@explained
async def show(request: Request) -> Response:
    """All populations."""
    work = work_of(request)
    return render(
        request,
        "book.html",
        accounts=await in_thread(_accounts, work),
        drafts=work.drafts(),
        command=command("book", "show", str(work.book)),
    )


@explained
async def open_account(request: Request) -> Response:
    """Begin the account of a population; its limits are fixed from then on."""
    work, form = work_of(request), await read_form(request)
    population = text_of(form, "population")
    if not population:
        raise DataError("give the population a name, such as patients 2026")
    schema = Draft.load(work, text_of(form, "draft")).schema
    two = text_of(form, "two_names_above")
    limits = budget_of(text_of(form, "epsilon"), text_of(form, "delta") or None)
    policy = Policy(limits, two_names_above=exact_number(two) if two else None)
    with closing(Book(work.book) if work.book.exists() else Book.create(work.book)) as book:
        book.open(population, Neighbours.of(schema), policy)
    return RedirectResponse("/book", 303)


@explained
async def propose(request: Request) -> Response:
    """Propose a release that the policy wants two names for."""
    work, form = work_of(request), await read_form(request)
    budget = budget_of(text_of(form, "epsilon"), text_of(form, "delta") or None)
    with closing(Book(work.book)) as book:
        place = text_of(form, "population")
        if not place.isdecimal() or int(place[:9]) >= len(book.populations):
            raise DataError("that population is not in the book; go back and reload the page")
        population = book.populations[int(place)]
        book.propose(population, text_of(form, "title"), budget, _person(text_of(form, "person")))
    return RedirectResponse("/book", 303)


@explained
async def approve(request: Request) -> Response:
    """Agree to a proposal with a name."""
    work, form = work_of(request), await read_form(request)
    number = text_of(form, "number")
    if not number.isdecimal():
        raise DataError("give the number of a proposal")
    with closing(Book(work.book)) as book:
        book.approve(int(number), _person(text_of(form, "person")))
    return RedirectResponse("/book", 303)


def _person(name: str) -> str:
    if not name:
        raise DataError("give your name; it stands in the book")
    return name


def _accounts(work: Work) -> list[dict[str, Any]]:
    if not work.book.exists():
        return []
    found = []
    with closing(Book(work.book)) as book:
        for name in book.populations:
            standing = book.standing(name)
            payments = [
                {"number": one.number, "title": one.title, "state": one.state, "by": ", ".join(one.approved_by)}
                for one in standing.payments
            ]
            found.append({"name": name, **standing.to_dict(), "payments": payments})
    return found
