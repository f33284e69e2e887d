"""`sfumato card`: the publishable description of a release, made from the release alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.console import JsonOption, explained, out, print_json
from sfumato.files import check_new
from sfumato.report.card import card_of
from sfumato.report.page import html_name


@explained
def card(
    folder: Annotated[Path, typer.Argument(help="A release folder.")],
    out_file: Annotated[
        Path | None, typer.Option("--out", help="A new .html file; by default FOLDER-card.html beside the folder.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a page about a release that may be published with it: guarantee, ledger, expected errors, schema."""
    out_file = html_name(folder.with_name(f"{folder.resolve().name}-card.html") if out_file is None else out_file)
    check_new(out_file)
    found = card_of(folder)
    found.save(out_file)
    if as_json:
        print_json({"card": str(out_file), **found.to_dict()})
        return
    out.print(f"{out_file} ({found.stamp.words}: {found.stamp.reason})")
