"""`sfumato party serve`: take part in a study with a table that never leaves."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sfumato.cli.console import JsonOption, err, explained, out, print_json
from sfumato.cli.parties_options import (
    ConfigOption,
    ConsortiumOption,
    DryRunOption,
    HealthOption,
    KeyOption,
    LogOption,
    MailboxOption,
    PatienceOption,
    PollOption,
    TlsOption,
    WorkOption,
    check_way,
    log_of,
    watched,
    work_folder,
)
from sfumato.cli.party_show import show_observed, show_summary
from sfumato.errors import ProtocolError, StudyEnded
from sfumato.fitting import check_fits
from sfumato.identity import Signer
from sfumato.parties.approvals import waiting_for_answer
from sfumato.parties.certificates import TlsFiles
from sfumato.parties.consortium import signed_manifest
from sfumato.parties.folder import FolderMailbox
from sfumato.parties.health import reporting
from sfumato.parties.journal import Journal
from sfumato.parties.lifetime import Lifetime
from sfumato.parties.mailbox import Mailbox
from sfumato.parties.manifest import Manifest
from sfumato.parties.rehearsal import Rehearsal, rehearsing_seat
from sfumato.parties.seat import Approve, Summary
from sfumato.parties.study import Waiting, attend, budget_of_study, open_journal, seat_of
from sfumato.parties.watch import Watch
from sfumato.privacy.ledger import Statement
from sfumato.schema.schema import Schema


@explained
def serve(
    data: Annotated[Path, typer.Option(help="Your private table: CSV, CSV.gz or Parquet.")],
    schema: Annotated[Path, typer.Option(help="The public schema; it must be the one in the manifest.")],
    consortium: ConsortiumOption,
    name: Annotated[str, typer.Option(help="Your name in the consortium.")],
    epsilon: Annotated[str, typer.Option(help="The most that the study may cost your persons.")],
    key: KeyOption,
    url: Annotated[str | None, typer.Option(help="Where the curator listens, https://HOST:PORT.")] = None,
    tls: TlsOption = None,
    mailbox: MailboxOption = None,
    approve: Annotated[
        str, typer.Option(help="ask: show each round and wait for you; wait: for sfumato party approve; always: go on.")
    ] = "ask",
    book: Annotated[Path | None, typer.Option(help="The book of your population's budget over all studies.")] = None,
    population: Annotated[str | None, typer.Option(help="Your population's name in that book.")] = None,
    work: WorkOption = None,
    patience: PatienceOption = 86_400,
    poll: PollOption = 1,
    health: HealthOption = None,
    log: LogOption = "text",
    dry_run: DryRunOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer the curator until the study is over. Start it again after any interruption: it goes on where it was."""
    if approve not in ("ask", "wait", "always"):
        raise ProtocolError(f"--approve is {approve!r}; give ask, wait or always")
    waiting = Waiting(poll, patience)
    manifest = signed_manifest(consortium)
    signer, public = Signer.load(key), Schema.load(schema)
    with ExitStack() as stack:
        if dry_run:
            _check_table(data, public, manifest)
            manifest = Rehearsal.of(manifest)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sfumato-dry-run-")))
        else:
            folder = work_folder(work, name, manifest)
        own = open_journal(folder, manifest, name, signer, epsilon)
        stack.callback(own.close)
        watch = Watch(name, manifest.study, folder, log_of("none" if as_json and log == "text" else log))
        stack.enter_context(reporting(watch, health))
        stack.enter_context(watched(watch))
        if approve == "always" or dry_run:
            operator = _always(own, as_json)
        elif approve == "wait":
            operator = waiting_for_answer(folder, own, watch, poll, waiting.sleep)
        else:
            operator = _ask(own, manifest)
        if dry_run:
            seat, lifetime = rehearsing_seat(manifest, name, signer, own, operator), None
        else:
            seat = seat_of(manifest, name, signer, data, public, own, operator)
            lifetime = Lifetime.of(book, population, manifest, budget_of_study(manifest))
        if not as_json:
            out.print(f"{name} takes part in {manifest.name!r} and waits for the curator. Stop and start as you like.")
            show_observed(manifest.schema.observed)
        box = stack.enter_context(_mailbox(url, tls, mailbox, manifest, patience, watch.tell))
        with _paid(lifetime, own):
            statement = attend(seat, box, own, waiting, watch)
    if as_json:
        print_json({"party": name, "dry_run": dry_run, **statement.to_dict()})
    elif dry_run:
        out.print(f"The dry run is over, and cost nothing: all rows were simulated. The study would cost {name}:")
        out.print(_spending(statement))
    else:
        out.print(f"The study is over. Guarantee for the rows of {name}: {statement.sentence()}.")
        out.print(_spending(statement))


def _check_table(data: Path, schema: Schema, manifest: Manifest) -> None:
    """Refuse a table that would not fit in the study; nothing of it is used in a dry run."""
    if schema != manifest.schema:
        raise ProtocolError("the schema is not the one in the manifest; give that one, or agree on a new manifest")
    check_fits(data, schema)


@contextmanager
def _paid(lifetime: Lifetime | None, journal: Journal) -> Iterator[None]:
    """Settle the payment of a study that is over; one that only stopped keeps its reservation."""
    try:
        yield
    except StudyEnded:
        if lifetime is not None:
            lifetime.finish() if journal.spent() else lifetime.give_back()
        raise
    if lifetime is not None:
        lifetime.finish()


@contextmanager
def _mailbox(
    url: str | None,
    tls: Path | None,
    folder: Path | None,
    manifest: Manifest,
    patience: float,
    told: Callable[[str, str], None],
) -> Iterator[Mailbox]:
    check_way(url, tls, folder, "--url")
    if folder is not None:
        yield FolderMailbox(folder, manifest)
    elif url is not None and tls is not None:
        from sfumato.parties.https_mailbox import HttpsMailbox

        box = HttpsMailbox(url, manifest.study, TlsFiles(tls), patience, told=lambda text: told(text, "warning"))
        try:
            yield box
        finally:
            box.close()


def _always(journal: Journal, silent: bool) -> Approve:
    def approve(summary: Summary) -> bool:
        if not silent:
            show_summary(summary)
        journal.note("approved beforehand", round=summary.round, attempt=summary.attempt)
        return True

    return approve


def _ask(journal: Journal, manifest: Manifest) -> Approve:
    def approve(summary: Summary) -> bool:
        show_summary(summary)
        try:
            agreed = typer.confirm("Send this?")
        except typer.Abort:
            # No answer is not a no: the curator hears nothing, and the operator can start again.
            err.print("error: nobody is here to approve; run this in a terminal, or with --approve always")
            raise typer.Exit(2) from None
        journal.note(
            "approved by the operator" if agreed else "declined by the operator",
            round=summary.round,
            attempt=summary.attempt,
            manifest_sha256=manifest.digest,
        )
        return agreed

    return approve


def _spending(statement: Statement) -> Table:
    costs: dict[str, Fraction] = {}
    for stage, event in statement.entries:
        costs[stage] = costs.get(stage, Fraction(0)) + event.cost(statement.budget.notion)
    table = Table("stage", f"{statement.budget.total.currency.value} spent")
    for stage, cost in costs.items():
        table.add_row(stage, f"{float(cost):.4g}")
    return table
