"""What the commands of a study share: options, configuration files, logs, and where a member keeps its book."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.errors import MethodError, ProtocolError, SfumatoError
from sfumato.parties.manifest import Manifest
from sfumato.parties.watch import Log, Watch
from sfumato.text import json_text, one_line


def _configured(context: typer.Context, file: Path | None) -> Path | None:
    """Take the options that a file has; what is given on the command line counts more."""
    if file is None:
        return None
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise typer.BadParameter(f"{file} cannot be read as TOML ({one_line(problem, 200)})") from None
    known = {spelled.lstrip("-"): param.name for param in context.command.params for spelled in param.opts}
    for key, value in found.items():
        if known.get(key) in (None, "config") or isinstance(value, dict):
            names = ", ".join(sorted(set(known) - {"config", "help"}))
            raise typer.BadParameter(f"{file} has {one_line(key, 40)!r}, which is no option; options are {names}")
    context.default_map = {**(context.default_map or {}), **{known[key]: value for key, value in found.items()}}
    return file


ConfigOption = Annotated[
    Path | None,
    typer.Option(help="A TOML file of these options, written without the dashes.", callback=_configured, is_eager=True),
]
ConsortiumOption = Annotated[Path, typer.Option(help="The folder of the consortium, signed by everybody.")]
KeyOption = Annotated[Path, typer.Option(help="The file of your private key.")]
TlsOption = Annotated[Path | None, typer.Option(help="The folder of your TLS certificate.")]
MailboxOption = Annotated[Path | None, typer.Option(help="A shared folder for the messages, instead of HTTPS.")]
WorkOption = Annotated[
    Path | None, typer.Option(help="The folder of your book and audit log; by default NAME-STUDY here. Keep it safe.")
]
WorkArgument = Annotated[Path, typer.Argument(help="The work folder of a member, which may be running.")]
PatienceOption = Annotated[float, typer.Option(help="Seconds of silence after which to give up.")]
PollOption = Annotated[float, typer.Option(help="Seconds between two looks for messages.")]
HealthOption = Annotated[
    str | None, typer.Option(help="Where a monitor may ask /healthz and /metrics, HOST:PORT, over plain HTTP.")
]
LogOption = Annotated[str, typer.Option(help="How to log what happens, onto standard error: text, json or none.")]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Rehearse with simulated rows over the real network; spends nothing.")
]


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


def log_of(kind: str) -> Log:
    """What writes a line of the log."""
    if kind not in ("text", "json", "none"):
        raise ProtocolError(f"--log is {one_line(kind, 40)!r}; give text, json or none")

    def write(line: dict[str, Any]) -> None:
        if kind == "json":
            print(json_text(line).replace("\n", ""), file=sys.stderr, flush=True)
        elif kind == "text":
            known = ("time", "level", "member", "study", "event")
            more = " ".join(f"{key}={one_line(value)}" for key, value in line.items() if key not in known)
            level = "" if line["level"] == "info" else f" {line['level'].upper()}:"
            print(
                f"{line['time']} {line['member']}:{level} {line['event']} {more}".rstrip(), file=sys.stderr, flush=True
            )

    return write


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Tell the watch how a run ended."""
    try:
        yield
    except SfumatoError as problem:
        watch.now("failed", reason=one_line(problem, 500), exit_code=problem.exit_code)
        raise
    except BaseException:
        watch.now("stopped")
        raise
    watch.now("finished")
