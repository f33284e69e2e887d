"""`sfumato app`: the local web page; `sfumato account`: who may sign in where other machines can reach it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.console import JsonOption, explained, out, print_json
from sfumato.errors import FileError, SfumatoError

FolderOption = Annotated[Path, typer.Option(help="The work folder; made if it does not exist.")]
NameArgument = Annotated[str, typer.Argument(help="The name of the account.")]
WORK = Path("sfumato-work")


@explained
def app(
    folder: FolderOption = WORK,
    tables: Annotated[
        list[Path] | None, typer.Option(help="A folder whose tables the page may open; may be given several times.")
    ] = None,
    studies: Annotated[
        list[Path] | None, typer.Option(help="A folder with studies of many parties; may be given several times.")
    ] = None,
    port: Annotated[int, typer.Option(help="The port; by default a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    listen: Annotated[
        str | None,
        typer.Option(help="Let other machines in, at this address, such as 0.0.0.0; needs TLS and accounts."),
    ] = None,
    tls_certificate: Annotated[
        Path | None, typer.Option(help="With --listen: a certificate in PEM that names the hosts of the page.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="With --listen: its private key, in PEM.")] = None,
) -> None:
    """Open the local web page: from a table to a release, on this machine alone unless --listen is given."""
    try:
        from sfumato.app.server import Reachable, serve
    except ModuleNotFoundError as missing:
        raise SfumatoError(f"the page needs {missing.name}; install it with pip install 'sfumato[app]'") from None
    from sfumato.app.work import Work

    reachable = None
    if listen is not None and tls_certificate is not None and tls_key is not None:
        reachable = Reachable(listen, tls_certificate, tls_key)
    elif (listen, tls_certificate, tls_key) != (None, None, None):
        raise FileError(
            "other machines are let in over TLS alone: give --listen, --tls-certificate and --tls-key together, or "
            "none of them for a page that only this machine can reach"
        )
    serve(Work.open(folder, tables or (), studies or ()), port, browser, reachable)


@explained
def add_account(name: NameArgument, folder: FolderOption = WORK) -> None:
    """Give somebody an account, or a new password: typed twice, or the first line of standard input."""
    from sfumato.app.accounts import Accounts
    from sfumato.app.work import Work

    if sys.stdin.isatty():
        password = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    else:
        password = sys.stdin.readline().rstrip("\n")
    Accounts(Work.open(folder).folder).add(name, password)
    out.print(f"{name} can sign in from the next start of the page on")


@explained
def remove_account(name: NameArgument, folder: FolderOption = WORK, as_json: JsonOption = False) -> None:
    """Take an account away."""
    from sfumato.app.accounts import Accounts

    Accounts(folder).remove(name)
    if as_json:
        print_json({"removed": name})
        return
    out.print(f"{name} cannot sign in any more")


@explained
def list_accounts(folder: FolderOption = WORK, as_json: JsonOption = False) -> None:
    """List who has an account."""
    from sfumato.app.accounts import Accounts

    names = list(Accounts(folder).names)
    if as_json:
        print_json({"accounts": names})
        return
    for name in names:
        out.print(name)
