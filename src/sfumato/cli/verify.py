"""`sfumato verify`, `sfumato sign` and `sfumato key`: is a release what it says, and who says so."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from sfumato.cli.console import JsonOption, explained, out, print_json
from sfumato.identity import Signer
from sfumato.text import one_line
from sfumato.verify import verify
from sfumato.verify.findings import LIMITS, STYLES
from sfumato.verify.signing import sign as sign_release

INCONSISTENT = 4
"""The exit code for a release that is not what it says."""


@explained
def check(
    folder: Annotated[Path, typer.Argument(help="A release folder.")],
    key: Annotated[str | None, typer.Option(help="The public key of who must have signed it.")] = None,
    book: Annotated[Path | None, typer.Option(help="The book that must hold its payment.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check a release without the private rows: hashes, signature, ledger, tables, and all post-processing repeated."""
    verdict = verify(folder, key, book)
    if as_json:
        print_json({"folder": str(folder), **verdict.to_dict()})
    else:
        table = Table("check", "result", "what was found", title=f"Verification of {folder}")
        for one in verdict.findings:
            table.add_row(one.check, Text(one.result.value, style=STYLES[one.result]), one_line(one.detail))
        out.print(table)
        out.print("Consistent." if verdict.is_consistent else "NOT consistent: do not rely on this release.")
        out.print("No check can show from a folder:")
        for limit in LIMITS:
            out.print(f"- {limit}")
    if not verdict.is_consistent:
        raise typer.Exit(INCONSISTENT)


@explained
def sign(
    folder: Annotated[Path, typer.Argument(help="A release folder.")],
    key: Annotated[Path, typer.Option(help="The file of your private key; sfumato key makes one.")],
    as_json: JsonOption = False,
) -> None:
    """Sign a release: you say that every file in it is as it was when you signed."""
    public = sign_release(folder, Signer.load(key))
    if as_json:
        print_json({"folder": str(folder), "signed_by": public})
        return
    out.print(f"{folder} is signed by {public}")
