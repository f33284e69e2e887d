"""`sfumato book`: one budget for a population over all its releases."""

from __future__ import annotations

import getpass
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from sfumato.book import Book, Policy, Standing
from sfumato.book.book import Running
from sfumato.book.payments import COUNTED
from sfumato.book.policy import FREE
from sfumato.cli.console import JsonOption, explained, out, print_json
from sfumato.errors import BookError, BudgetError
from sfumato.exact import exact_number, printed_up
from sfumato.identity import Signer
from sfumato.job import Job
from sfumato.privacy.budget import Budget, budget_of
from sfumato.privacy.neighbours import Neighbours
from sfumato.recipes import DEFAULT
from sfumato.schema.schema import Schema

BookArgument = Annotated[Path, typer.Argument(help="The file of the book.")]
PopulationOption = Annotated[str, typer.Option(help="The population: whose budget pays.")]
EpsilonOption = Annotated[str, typer.Option(help="The epsilon of the release.")]
DeltaOption = Annotated[str | None, typer.Option(help="The delta of the release.")]
NameOption = Annotated[str | None, typer.Option("--as", help="Your name; by default that of your account here.")]


@explained
def open_account(
    file: BookArgument,
    population: PopulationOption,
    schema: Annotated[Path, typer.Option(help="A public schema with the unit and neighbours of the population.")],
    policy: Annotated[Path, typer.Option(help="A JSON file: what may be spent for ever, per year, per release.")],
    as_json: JsonOption = False,
) -> None:
    """Begin the account of a population, in a new book or in one that exists. Its policy is fixed from then on."""
    try:
        limits = Policy.from_dict(json.loads(policy.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError):
        raise BudgetError(f"the policy {str(policy)!r} cannot be read as JSON; docs/book.md shows one") from None
    neighbours = Neighbours.of(Schema.load(schema))
    with closing(Book(file) if file.exists() else Book.create(file)) as book:
        book.open(population, neighbours, limits)
        _tell(book, population, as_json)


@explained
def show(file: BookArgument, as_json: JsonOption = False) -> None:
    """Show what every population has spent and has left, and every release that cost it something."""
    with closing(Book(file)) as book:
        if as_json:
            accounts = {name: _summary(book.standing(name)) for name in book.populations}
            print_json({"populations": accounts, "head": book.head})
            return
        for name in book.populations:
            standing = book.standing(name)
            out.print(f"{name}: {_sentence(standing)}")
            out.print(_table(standing))
        out.print(f"Head: {book.head}")


@explained
def what_if(
    file: BookArgument,
    population: PopulationOption,
    epsilon: EpsilonOption,
    delta: DeltaOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say where a population would stand after one more release. Nothing is written."""
    with closing(Book(file)) as book:
        standing = book.standing(population)
    after = standing.to_dict(standing.policy.price(budget_of(epsilon, delta)))
    if as_json:
        print_json({"population": population, "now": standing.to_dict(), "after": after})
        return
    out.print(f"now: {_figures(standing.to_dict())}; after this release: {_figures(after)}")


@explained
def propose(
    file: BookArgument,
    population: PopulationOption,
    title: Annotated[str, typer.Option(help="What people call the release.")],
    epsilon: EpsilonOption,
    delta: DeltaOption = None,
    method: Annotated[str, typer.Option(help="The method.")] = DEFAULT,
    schema: Annotated[Path | None, typer.Option(help="The schema, where the method chooses its noise by it.")] = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Propose a release that the policy wants two names for; prints its number."""
    budget = _budget(epsilon, delta, method, schema)
    with closing(Book(file)) as book:
        number = book.propose(population, title, budget, _name(name), method)
        head = book.head
    if as_json:
        print_json({"proposal": number, "head": head})
        return
    out.print(f"proposal {number}: to be approved with sfumato book approve {file} {number}")


@explained
def approve(
    file: BookArgument,
    proposal: Annotated[int, typer.Argument(help="The number of the proposal.")],
    name: NameOption = None,
    key: Annotated[
        Path | None, typer.Option(help="The file of your private key, where the policy names approvers' keys.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Agree to a proposal with your name, or with your signature where the policy asks for one."""
    signer = None if key is None else Signer.load(key)
    with closing(Book(file)) as book:
        by = _name(name) if signer is None or name is not None else book.approver(proposal, signer.public)
        names = book.approve(proposal, by, signer)
    if as_json:
        print_json({"proposal": proposal, "approved_by": list(names)})
        return
    out.print(f"proposal {proposal} is approved by {', '.join(names)}")


@explained
def withdraw(
    file: BookArgument,
    proposal: Annotated[int, typer.Argument(help="The number of the proposal.")],
    reason: Annotated[str, typer.Option(help="Why.")] = "withdrawn",
    as_json: JsonOption = False,
) -> None:
    """Give up a proposal. A reservation cannot be given up: its run may have answered."""
    with closing(Book(file)) as book:
        book.abort(proposal, reason)
    if as_json:
        print_json({"proposal": proposal, "state": "aborted"})
        return
    out.print(f"proposal {proposal} is given up")


@explained
def record(
    file: BookArgument,
    population: PopulationOption,
    title: Annotated[str, typer.Option(help="What was released.")],
    epsilon: EpsilonOption,
    remark: Annotated[str, typer.Option(help="Which tool made it, and where its statement is.")],
    delta: DeltaOption = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write down a release of another tool. It has happened, so it counts, even beyond the budget."""
    with closing(Book(file)) as book:
        book.record_outside(population, title, budget_of(epsilon, delta), _name(name), remark)
        _tell(book, population, as_json)


@explained
def check(
    file: BookArgument,
    head: Annotated[
        list[str] | None, typer.Option(help="A head that somebody kept, as on a card; repeatable. All must be inside.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check that no entry was changed, removed or put in, and that the book is no older than the heads given."""
    with closing(Book(file)) as book:
        lacking = [one for one in head or [] if not book.holds(one.lower())]
        if lacking:
            raise BookError(
                f"the book {str(file)!r} does not hold the head {lacking[0]}: it is another book, or was restored from "
                "an older copy and has forgotten what was spent since; restore the newest copy"
            )
        for name in book.populations:
            book.standing(name)  # refuses approvals whose signature is not the policy's
        entries, last = book.entries(), book.head
    signed = sum("signature" in one for one in entries)
    if as_json:
        print_json({"entries": len(entries), "signed_approvals": signed, "head": last})
        return
    right = f", {signed} signed approvals, all by keys of their policies" if signed else ""
    out.print(f"{len(entries)} entries, an unbroken chain{right}. Head: {last}")


@contextmanager
def payment_for(
    job: Job, file: Path | None, population: str | None, proposal: int | None, title: str
) -> Iterator[Running | None]:
    """Pay for a run from a book, if one was given: reserved before a row is read."""
    if file is None or population is None:
        if file is not None or population is not None or proposal is not None:
            raise BookError("--book, --population and --proposal belong together; give the first two, or none")
        yield None
        return
    with closing(Book(file)) as book:
        neighbours = Neighbours.of(job.schema)
        with book.paid(population, title, job.opened, neighbours, job.recipe.name, proposal) as running:
            yield running


def _budget(epsilon: str, delta: str | None, method: str, schema: Path | None) -> Budget:
    if schema is None:
        return budget_of(epsilon, delta)
    from sfumato.job import foreseen, recipe_of

    public = Schema.load(schema)
    return Job(foreseen(public), recipe_of(method), budget_of(epsilon, delta)).opened


def _name(given: str | None) -> str:
    return getpass.getuser() if given is None else given


def _tell(book: Book, population: str, as_json: bool) -> None:
    standing = book.standing(population)
    if as_json:
        print_json({"population": population, **_summary(standing), "head": book.head})
        return
    out.print(f"{population}: {_sentence(standing)}")


def _summary(standing: Standing) -> dict[str, Any]:
    releases = [
        {
            "number": one.number,
            "title": one.title,
            "state": one.state,
            "budget": one.budget.to_dict(),
            "approved_by": list(one.approved_by),
            "release": one.release,
        }
        for one in standing.payments
    ]
    return {**standing.to_dict(FREE), "policy": standing.policy.to_dict(), "releases": releases}


def _sentence(standing: Standing) -> str:
    return f"{_figures(standing.to_dict())}, protecting {standing.protects}"


def _figures(figures: dict[str, Any]) -> str:
    unit = "rho" if "rho" in figures["of"] else "epsilon"
    spent, total = (printed_up(exact_number(figures[key][unit]), 4) for key in ("spent", "of"))
    delta = figures["of"].get("delta")
    text = f"{unit} {spent} of {total}" + (f" at delta {delta:g}" if delta else "")
    if figures["best_guess"] is None:
        return text
    return f"{text} (who is in it can be guessed at most {figures['best_guess']:.1%} of the time)"


def _table(standing: Standing) -> Table:
    table = Table("number", "release", "state", "epsilon or rho", "delta", "year", "approved by")
    for one in standing.payments:
        stated = one.budget.to_dict()
        amount = printed_up(exact_number(stated.get("epsilon", stated.get("rho", "0"))))
        delta = printed_up(exact_number(stated.get("delta", "0")))
        year = str(one.year) if one.state in COUNTED else ""
        table.add_row(str(one.number), one.title, one.state, amount, delta, year, ", ".join(one.approved_by))
    return table
