"""The book: what each population has spent on all its releases, and what it has left."""

from __future__ import annotations

from contextlib import closing
from fractions import Fraction
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.app.paying import figures
from sfumato.app.rendering import command, explained, in_thread, read_form, render, text_of, work_of
from sfumato.app.work import Draft, Work
from sfumato.book import Book
from sfumato.book.policy import Policy
from sfumato.errors import DataError
from sfumato.exact import exact_number, printed_up
from sfumato.privacy.budget import budget_of
from sfumato.privacy.neighbours import Neighbours


@explained
async def show(request: Request) -> Response:
    """All populations."""
    work = work_of(request)
    return render(
        request,
        "book.html",
        accounts=await in_thread(spent_by, work),
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
    limits = budget_of(text_of(form, "epsilon"), text_of(form, "delta") or None)
    release, year, two = (_limit(text_of(form, name)) for name in ("per_release", "per_year", "two_names_above"))
    policy = Policy(limits, release, year, two)
    with closing(Book(work.book) if work.book.exists() else Book.create(work.book)) as book:
        book.open(population, Neighbours.of(schema), policy)
    return RedirectResponse("/book", 303)


def _limit(text: str) -> Fraction | None:
    if not text:
        return None
    try:
        return exact_number(text)
    except ValueError:
        raise DataError(f"{text[:40]!r} is not a number; give one, such as 0.5, or leave the field empty") from None


def spent_by(work: Work) -> list[dict[str, Any]]:
    """What each population has spent and may spend, and on what."""
    if not work.book.exists():
        return []
    found = []
    with closing(Book(work.book)) as book:
        for name in book.populations:
            standing = book.standing(name)
            payments = [
                {
                    "number": one.number,
                    "title": one.title,
                    "state": one.state,
                    "epsilon": _figure(one.budget.to_dict()),
                    "by": ", ".join(one.approved_by),
                    "has_page": (work.folder / "proposals" / f"{one.number}.json").is_file(),
                }
                for one in standing.payments
            ]
            now = standing.to_dict()
            unit = "rho" if "rho" in now["of"] else "epsilon"
            share = min(100, round(100 * now["spent"][unit] / now["of"][unit]))
            limits = standing.policy.to_dict()
            rules = {
                "for one release": limits.get("per_release"),
                "for a year": limits.get("per_year"),
                "two names above": limits.get("two_names_above"),
            }
            found.append(
                {
                    "name": name,
                    "figures": figures(now),
                    "share": share,
                    "protects": now["protects"],
                    "best_guess": now["best_guess"],
                    "rules": {words: value for words, value in rules.items() if value},
                    "payments": payments,
                }
            )
    return found


def _figure(budget: dict[str, Any]) -> str:
    """The epsilon or rho of a budget."""
    return printed_up(exact_number(budget.get("epsilon", budget.get("rho", "0"))), 4)
