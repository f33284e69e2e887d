"""`sfumato party`: take part in a study with a table that never leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sfumato.cli.console import JsonOption, err, explained, out, print_json
from sfumato.errors import MethodError, ProtocolError
from sfumato.exact import exact_number, printed_up
from sfumato.parties.audit import verify_log
from sfumato.parties.book import Book
from sfumato.parties.certificates import TlsFiles
from sfumato.parties.consortium import signed_manifest
from sfumato.parties.folder import FolderMailbox
from sfumato.parties.identity import Signer
from sfumato.parties.mailbox import Mailbox
from sfumato.parties.manifest import Manifest
from sfumato.parties.seat import Approve, Summary
from sfumato.parties.study import Waiting, attend, open_book, seat_of
from sfumato.privacy.ledger import Statement
from sfumato.schema.schema import Schema

SHOWN = 20
"""Most tables of a round that are shown."""

ConsortiumOption = Annotated[Path, typer.Option(help="The folder of the consortium, signed by everybody.")]
KeyOption = Annotated[Path, typer.Option(help="The file of your private key.")]
TlsOption = Annotated[Path | None, typer.Option(help="The folder of your TLS certificate.")]
MailboxOption = Annotated[Path | None, typer.Option(help="A shared folder for the messages, in the place of HTTPS.")]
WorkOption = Annotated[
    Path | None, typer.Option(help="The folder of your book and audit log; by default NAME-STUDY here. Keep it safe.")
]
PatienceOption = Annotated[float, typer.Option(help="Seconds of silence after which to give up.")]
PollOption = Annotated[float, typer.Option(help="Seconds between two looks for messages.")]


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
    approve: Annotated[str, typer.Option(help="ask: show each round and wait for you; always: go on.")] = "ask",
    work: WorkOption = None,
    patience: PatienceOption = 86_400,
    poll: PollOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Answer the curator until the study is over. Start it again after any interruption: it goes on where it was."""
    if approve not in ("ask", "always"):
        raise ProtocolError(f"--approve is {approve!r}; give ask or always")
    waiting = Waiting(poll, patience)
    manifest = signed_manifest(consortium)
    signer = Signer.load(key)
    book = open_book(work_folder(work, name, manifest), manifest, name, signer, epsilon)
    try:
        operator = _always(book, as_json) if approve == "always" else _ask(book, manifest)
        seat = seat_of(manifest, name, signer, data, Schema.load(schema), book, operator)
        if not as_json:
            out.print(f"{name} takes part in {manifest.name!r} and waits for the curator. Stop and start as you like.")
            _show_observed(manifest.schema.observed)
        with _mailbox(url, tls, mailbox, manifest, patience) as box:
            statement = attend(seat, box, book, waiting)
        if as_json:
            print_json({"party": name, **statement.to_dict()})
        else:
            out.print(f"The study is over. Guarantee for the rows of {name}: {statement.sentence()}.")
            out.print(_spending(statement))
    finally:
        book.close()


@explained
def audit(
    work: Annotated[Path, typer.Argument(help="The folder of a member's book and audit log.")],
    as_json: JsonOption = False,
) -> None:
    """Check that no line of an audit log was changed, removed or put in; print its length and its head."""
    lines, head = verify_log(work / "audit.jsonl")
    if as_json:
        print_json({"lines": lines, "head": head})
    else:
        out.print(f"{lines} lines, an unbroken chain. Head: {head}")


def work_folder(work: Path | None, name: str, manifest: Manifest) -> Path:
    """Where a member keeps what it must not forget."""
    return work or Path(f"{name}-{manifest.study[:8]}")


def check_way(first: object, tls: Path | None, mailbox: Path | None, option: str) -> None:
    """Refuse a way for messages that is half given, given twice, or not installed."""
    if (first is None) == (mailbox is None) or (first is not None and tls is None):
        raise ProtocolError(f"say how messages travel: give {option} and --tls for HTTPS, or --mailbox for a folder")
    if first is not None:
        check_installed()


def check_installed() -> None:
    """Refuse HTTPS where its packages are missing."""
    if not all(map(find_spec, ("starlette", "uvicorn", "httpx"))):
        raise MethodError(
            "HTTPS needs packages that are not installed; install sfumato[parties], or use a shared folder (--mailbox)"
        )


@contextmanager
def _mailbox(
    url: str | None, tls: Path | None, folder: Path | None, manifest: Manifest, patience: float
) -> Iterator[Mailbox]:
    check_way(url, tls, folder, "--url")
    if folder is not None:
        yield FolderMailbox(folder, manifest)
    elif url is not None and tls is not None:
        from sfumato.parties.https_mailbox import HttpsMailbox

        box = HttpsMailbox(url, manifest.study, TlsFiles(tls), patience)
        try:
            yield box
        finally:
            box.close()


def _always(book: Book, silent: bool) -> Approve:
    def approve(summary: Summary) -> bool:
        if not silent:
            _show(summary)
        book.note("approved beforehand", round=summary.round, attempt=summary.attempt)
        return True

    return approve


def _ask(book: Book, manifest: Manifest) -> Approve:
    def approve(summary: Summary) -> bool:
        _show(summary)
        try:
            agreed = typer.confirm("Send this?")
        except typer.Abort:
            # No answer is not a no: the curator hears nothing, and the operator can start again.
            err.print("error: nobody is here to approve; run this in a terminal, or with --approve always")
            raise typer.Exit(2) from None
        book.note(
            "approved by the operator" if agreed else "declined by the operator",
            round=summary.round,
            attempt=summary.attempt,
            manifest_sha256=manifest.digest,
        )
        return agreed

    return approve


def _show(summary: Summary) -> None:
    """What an operator agrees to."""
    unit = "rho" if "rho" in summary.after else "epsilon"
    before, after = (printed_up(exact_number(one[unit]), 4) for one in (summary.before, summary.after))
    out.print(
        f"Round {summary.round} ({summary.stage}), attempt {summary.attempt}: {len(summary.tables)} tables, "
        f"{summary.cells:,} cells, {summary.bytes:,} bytes, masked. {unit} spent: {before} before, {after} after."
    )
    tables = Table("table", "codes", "noise in each cell")
    for table in summary.tables[:SHOWN]:
        tables.add_row(table.columns, table.codes, table.noise)
    out.print(tables)
    if len(summary.tables) > SHOWN:
        out.print(f"and {len(summary.tables) - SHOWN} more tables, none with less noise")
    _show_observed(summary.observed)


def _show_observed(observed: Sequence[str]) -> None:
    if observed:
        out.print(f"No noise covers the values of {', '.join(observed)}: their domain was read from data.")


def _spending(statement: Statement) -> Table:
    costs: dict[str, Fraction] = {}
    for stage, event in statement.entries:
        costs[stage] = costs.get(stage, Fraction(0)) + event.cost(statement.budget.notion)
    table = Table("stage", f"{statement.budget.total.currency.value} spent")
    for stage, cost in costs.items():
        table.add_row(stage, f"{float(cost):.4g}")
    return table
