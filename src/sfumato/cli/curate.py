"""`sfumato curate`: run a method over the tables of many parties, and write a release of their union."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from sfumato.cli.console import JsonOption, explained, out, print_json, stages
from sfumato.cli.party import (
    ConsortiumOption,
    KeyOption,
    MailboxOption,
    PatienceOption,
    PollOption,
    TlsOption,
    WorkOption,
    check_way,
    work_folder,
)
from sfumato.cli.synthesize import STAGES, check_drawing, summary
from sfumato.errors import ProtocolError
from sfumato.files import check_new
from sfumato.parties.book import Book
from sfumato.parties.certificates import TlsFiles
from sfumato.parties.consortium import signed_manifest
from sfumato.parties.folder import FolderMailbox
from sfumato.parties.identity import Signer
from sfumato.parties.letters import CURATOR
from sfumato.parties.manifest import Manifest
from sfumato.parties.study import Traffic, Waiting, open_book, traffic
from sfumato.parties.study import curate as run_study

GOODBYE = 10.0
"""Seconds to wait, at the end, for parties that have not heard yet that the study is over."""


@explained
def curate(
    consortium: ConsortiumOption,
    key: KeyOption,
    out_folder: Annotated[Path, typer.Option("--out", help="The release folder, which must not exist yet.")],
    method: Annotated[str | None, typer.Option(help="The method, which must be the one in the manifest.")] = None,
    listen: Annotated[str | None, typer.Option(help="Where to listen, HOST:PORT.")] = None,
    tls: TlsOption = None,
    mailbox: MailboxOption = None,
    work: WorkOption = None,
    patience: PatienceOption = 86_400,
    poll: PollOption = 0.2,
    rows: Annotated[int | None, typer.Option(help="Rows to draw; by default the noisy estimate.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the drawing. Noise can never be seeded.")] = None,
    format: Annotated[str, typer.Option(help="csv or parquet.")] = "csv",
    as_json: JsonOption = False,
) -> None:
    """Ask the parties, add up what they send, and write a release. Start it again after any interruption."""
    started = time.perf_counter()
    check_drawing(rows, seed, format)
    check_new(out_folder, "a release")
    check_way(listen, tls, mailbox, "--listen")
    waiting = Waiting(poll, patience)
    manifest = signed_manifest(consortium)
    if method not in (None, manifest.method):
        raise ProtocolError(f"the parties have signed for method {manifest.method!r}, and {method!r} was given")
    signer = Signer.load(key)
    folder = work_folder(work, CURATOR, manifest)
    book = open_book(folder, manifest, CURATOR, signer)
    box = FolderMailbox(mailbox or folder / "mailbox", manifest)
    try:
        with _reachable(listen, tls, box, manifest, book, as_json) as goodbye, stages(STAGES) as show:
            release = run_study(manifest, signer, box, book, waiting, show)
            goodbye()
            show("synthesize")
            release.save(out_folder, rows=rows, seed=seed, format=format)
            show("done")
    finally:
        book.close()
    counted = _traffic(traffic(box, manifest))
    report = summary(release, out_folder, rows, time.perf_counter() - started) | {"traffic": counted}
    if as_json:
        print_json(report)
        return
    out.print(f"{out_folder}: {report['rows']:,} synthetic rows by {release.method}")
    out.print(f"Guarantee: {report['guarantee']}.")
    out.print(traffic_table(counted))
    out.print(f"{report['noisy_tables']} noisy tables in {report['seconds']} s; sfumato ledger {out_folder}")


@contextmanager
def _reachable(
    listen: str | None, tls: Path | None, box: FolderMailbox, manifest: Manifest, book: Book, silent: bool
) -> Iterator[Callable[[], None]]:
    """Listen while the block runs, if over HTTPS; gives what waits until all parties have their last message."""
    if listen is None or tls is None:
        yield lambda: None
        return
    from sfumato.parties.https import Reception, listening

    host, _, port = listen.rpartition(":")
    if not host or not port.isdigit():
        raise ProtocolError(f"--listen is {listen!r}; give HOST:PORT, for example 0.0.0.0:8443")
    reception = Reception(box, manifest)
    with listening(reception, manifest, host.strip("[]"), int(port), TlsFiles(tls)) as bound:
        if not silent:
            out.print(f"Listening at {host}:{bound}; waiting for {', '.join(manifest.names)}.")

        def goodbye() -> None:
            until = time.monotonic() + GOODBYE
            while time.monotonic() < until and not all(map(reception.has_all, manifest.names)):
                time.sleep(0.05)

        try:
            yield goodbye
        finally:
            for reason in reception.refused:
                book.note("refused a message", reason=reason)


def _traffic(counted: Traffic) -> list[dict[str, Any]]:
    return [
        {"stage": stage, "party": party, "bytes_to_party": to, "bytes_from_party": back}
        for stage, party, to, back in counted.rows()
    ]


def traffic_table(rows: list[dict[str, Any]]) -> Table:
    """Bytes of messages in each stage, for readers."""
    table = Table("stage", "party", "bytes to it", "bytes from it", title="messages, without TLS and HTTP")
    for row in rows:
        table.add_row(row["stage"], row["party"], f"{row['bytes_to_party']:,}", f"{row['bytes_from_party']:,}")
    table.add_section()
    total_to, total_from = (sum(row[key] for row in rows) for key in ("bytes_to_party", "bytes_from_party"))
    table.add_row("all", "", f"{total_to:,}", f"{total_from:,}")
    return table
