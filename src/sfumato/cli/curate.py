"""`sfumato curate`: run a method over the tables of many parties, and write a release of their union."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from sfumato.cli.console import JsonOption, explained, out, print_json, stages
from sfumato.cli.parties_options import (
    ConfigOption,
    DryRunOption,
    HealthOption,
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
from sfumato.cli.synthesizing import STAGES, check_drawing, summary
from sfumato.errors import ProtocolError
from sfumato.files import check_new
from sfumato.identity import Signer
from sfumato.parties.certificates import TlsFiles
from sfumato.parties.consortium import signed_manifest
from sfumato.parties.folder import FolderMailbox
from sfumato.parties.health import reporting
from sfumato.parties.journal import Journal
from sfumato.parties.letters import CURATOR
from sfumato.parties.manifest import Manifest
from sfumato.parties.rehearsal import Rehearsal
from sfumato.parties.study import Waiting, open_journal
from sfumato.parties.study import curate as run_study
from sfumato.parties.traffic import Traffic, traffic
from sfumato.parties.watch import Watch

if TYPE_CHECKING:
    from sfumato.parties.https import Reception

GOODBYE = 10.0
"""Seconds to wait, at the end, for parties that have not heard yet that the study is over."""


@explained
def curate(
    context: typer.Context,
    consortium: Annotated[Path | None, typer.Option(help="The folder of the consortium, signed by everybody.")] = None,
    key: Annotated[Path | None, typer.Option(help="The file of your private key.")] = None,
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="The release folder, which must not exist yet.")
    ] = None,
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
    health: HealthOption = None,
    log: LogOption = "text",
    dry_run: DryRunOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask the parties, add up what they send, and write a release. Start it again after any interruption."""
    if context.invoked_subcommand is not None:
        return
    started = time.perf_counter()
    if consortium is None or key is None or (out_folder is None and not dry_run):
        raise ProtocolError("give --consortium, --key and --out; sfumato curate --help lists all options")
    check_drawing(rows, seed, format)
    if out_folder is not None:
        check_new(out_folder, "a release")
    check_way(listen, tls, mailbox, "--listen")
    waiting = Waiting(poll, patience)
    manifest = signed_manifest(consortium)
    if method not in (None, manifest.method):
        raise ProtocolError(f"the parties have signed for method {manifest.method!r}, and {method!r} was given")
    signer = Signer.load(key)
    with ExitStack() as stack:
        if dry_run:
            manifest = Rehearsal.of(manifest)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sfumato-dry-run-")))
        else:
            folder = work_folder(work, CURATOR, manifest)
        journal = open_journal(folder, manifest, CURATOR, signer)
        stack.callback(journal.close)
        box = FolderMailbox(mailbox or folder / "mailbox", manifest)
        watch = Watch(CURATOR, manifest.study, folder, log_of("none" if as_json and log == "text" else log))
        stack.enter_context(reporting(watch, health))
        stack.enter_context(watched(watch))
        refusals = stack.enter_context(_reachable(listen, tls, box, manifest, journal, as_json))
        show = stack.enter_context(stages(STAGES))
        release = run_study(manifest, signer, box, journal, waiting, show, refusals, watch)
        if not dry_run and out_folder is not None:
            show("synthesize")
            release.save(out_folder, rows=rows, seed=seed, format=format)
        show("done")
        counted = _traffic(traffic(box, manifest))
    report = summary(release, out_folder or Path("(dry run)"), rows, time.perf_counter() - started)
    if as_json:
        print_json(report | {"traffic": counted, "dry_run": dry_run})
        return
    if dry_run:
        out.print(f"The dry run is over: {report['noisy_tables']} noisy tables by {release.method}.")
        out.print(traffic_table(counted))
        out.print("All rows were simulated; nothing was spent, and nothing was written.")
        return
    out.print(f"{out_folder}: {report['rows']:,} synthetic rows by {release.method}")
    out.print(f"Guarantee: {report['guarantee']}.")
    out.print(traffic_table(counted))
    out.print(f"{report['noisy_tables']} noisy tables in {report['seconds']} s; sfumato ledger {out_folder}")


@contextmanager
def _reachable(
    listen: str | None, tls: Path | None, box: FolderMailbox, manifest: Manifest, journal: Journal, silent: bool
) -> Iterator[Callable[[], Mapping[str, int]]]:
    """Listen while the block runs, if over HTTPS; gives what was refused since it was last asked for."""
    if listen is None or tls is None:
        yield dict
        return
    from sfumato.parties.https import Reception, listening

    host, _, port = listen.rpartition(":")
    if not host or not port.isdigit():
        raise ProtocolError(f"--listen is {listen!r}; give HOST:PORT, for example 0.0.0.0:8443")
    reception = Reception(box, manifest, journal.identity)
    with listening(reception, manifest, host.strip("[]"), int(port), TlsFiles(tls)) as bound:
        if not silent:
            out.print(f"Listening at {host}:{bound}; waiting for {', '.join(manifest.names)}.")
        try:
            yield reception.drain
        except KeyboardInterrupt:
            raise
        except BaseException:
            _say_goodbye(reception, tuple(reception.seen))
            raise
        _say_goodbye(reception, manifest.names)


def _say_goodbye(reception: Reception, names: Collection[str]) -> None:
    """Wait until all parties have their last message, which may be that the study has ended in an error."""
    until = time.monotonic() + GOODBYE
    while time.monotonic() < until and not all(map(reception.has_all, names)):
        time.sleep(0.05)


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
