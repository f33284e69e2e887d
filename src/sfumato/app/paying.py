"""What stands between a draft and its run: the job, what the book makes of it, and the run that pays."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.app import runs
from sfumato.app.work import Draft, Work
from sfumato.book import Book, WhatIf
from sfumato.errors import DataError, SchemaError
from sfumato.exact import exact_number, printed_up
from sfumato.files import check_new
from sfumato.job import Job, foreseen, recipe_of, with_reason
from sfumato.privacy.budget import budget_of
from sfumato.privacy.neighbours import Neighbours
from sfumato.schema.acceptance import counted
from sfumato.schema.schema import Schema


@dataclass(frozen=True)
class Wanted:
    """A run that somebody wants.

    Args:
        epsilon: the budget, as it was typed.
        delta: the chance that the promise fails, as it was typed; empty for none.
        method: the method.
        reason: why, where a budget is unusual.
    """

    epsilon: str
    delta: str
    method: str
    reason: str = ""

    def job(self, draft: Draft) -> Job:
        """What would be run; refused where it cannot be."""
        schema = draft.schema
        if schema.unaccepted:
            raise SchemaError(
                f"{counted(schema.unaccepted)} observed in the data, and nobody has signed for that; declare it or "
                "sign for it on the page of the schema"
            )
        budget = budget_of(self.epsilon, self.delta or None)
        return Job(with_reason(schema, budget, self.reason or None), recipe_of(self.method), budget)

    def trial(self, schema: Schema) -> Job:
        """The job of a forecast, which nobody has to sign for."""
        return Job(foreseen(schema), recipe_of(self.method), budget_of(self.epsilon, self.delta or None))


@dataclass(frozen=True)
class Account:
    """A population of the book, and what a release would do to it.

    Args:
        place: its number in forms.
        name: of the population.
        found: what the book makes of the release.
    """

    place: int
    name: str
    found: WhatIf

    @property
    def now(self) -> str:
        """What is spent."""
        return figures(self.found.now)

    @property
    def after(self) -> str:
        """What would be spent after the release; empty if it is refused."""
        return "" if self.found.after is None else figures(self.found.after)


def accounts_of(work: Work, job: Job, title: str = "this release") -> list[Account]:
    """What each population of the book would make of a release."""
    if not work.book.exists():
        return []
    unit = Neighbours.of(job.schema)
    with closing(Book(work.book)) as book:
        return [
            Account(place, name, book.what_if(name, title, job.opened, unit, job.recipe.name))
            for place, name in enumerate(book.populations)
        ]


def figures(account: dict[str, Any]) -> str:
    """What an account has spent, in words."""
    unit = "rho" if "rho" in account["of"] else "epsilon"
    spent, total = (printed_up(exact_number(account[key][unit]), 4) for key in ("spent", "of"))
    delta = account["of"].get("delta")
    return f"{unit} {spent} of {total}" + (f" at delta {delta:g}" if delta else "")


def account_at(accounts: list[Account], place: str) -> Account | None:
    """The account of a number in a form; None if nobody pays."""
    if not place:
        return None
    if not place.isdecimal() or int(place[:9]) >= len(accounts):
        raise DataError("that population is not in the book; go back and reload the page")
    return accounts[int(place)]


def start(work: Work, draft: Draft, wanted: Wanted, name: str, population: str = "", proposal: str = "") -> runs.Run:
    """Begin the run. The book is asked again by the run itself, before a row is read."""
    wanted.job(draft)
    check_new(work.release(name), "a release")
    arguments = {
        "table": draft.table,
        "schema": str(draft.schema_file),
        "epsilon": wanted.epsilon,
        "delta": wanted.delta,
        "method": wanted.method,
        "reason": wanted.reason,
        "book": str(work.book),
        "population": population,
        "proposal": proposal,
        "out": str(work.release(name)),
    }
    return runs.start(work, "synthesize", name, arguments)


def command_words(
    table: str, schema: str, wanted: Wanted, out: Path, book: Path, population: str, proposal: str
) -> list[str]:
    """The words of the command that does the same as `start`."""
    words = ["synthesize", table, "--schema", schema, "--epsilon", wanted.epsilon]
    words += ["--delta", wanted.delta] if wanted.delta else []
    words += ["--method", wanted.method, "--out", str(out)]
    words += ["--yes", wanted.reason] if wanted.reason else []
    words += ["--book", str(book), "--population", population] if population else []
    return [*words, "--proposal", proposal] if proposal else words
