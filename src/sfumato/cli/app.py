"""`sfumato app`: the local web page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.console import explained
from sfumato.errors import SfumatoError


@explained
def app(
    folder: Annotated[Path, typer.Option(help="The work folder; made if it does not exist.")] = Path("sfumato-work"),
    tables: Annotated[
        list[Path] | None, typer.Option(help="A folder whose tables the page may open; may be given several times.")
    ] = None,
    port: Annotated[int, typer.Option(help="The port; by default a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Open the local web page: from a table to a release, on this machine alone."""
    try:
        from sfumato.app.server import serve
    except ModuleNotFoundError as missing:
        raise SfumatoError(f"the page needs {missing.name}; install it with pip install 'sfumato[app]'") from None
    from sfumato.app.work import Work

    serve(Work.open(folder, tables or ()), port, browser)
