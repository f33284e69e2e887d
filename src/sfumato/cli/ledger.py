"""`sfumato ledger`: what a release spent, recomputed from its events."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sfumato import storage
from sfumato.cli.console import JsonOption, explained, out, print_json
from sfumato.exact import printed_up
from sfumato.privacy.events import Choice, Free, Gaussian, Laplace, Noisy, Skellam
from sfumato.privacy.ledger import Statement


@explained
def ledger(
    folder: Annotated[Path, typer.Argument(help="A release folder.")],
    as_json: JsonOption = False,
) -> None:
    """Show the ledger of a release; the total is recomputed from the events, and refused if it exceeds the budget."""
    statement = Statement.from_dict(storage.read_json(folder / "ledger.json"))
    if as_json:
        print_json(statement.to_dict())
        return
    unit = statement.budget.total.unit
    table = Table("stage", "question", "noise", unit, title=f"Ledger of {folder}")
    for stage, event in statement.entries:
        if isinstance(event, Free):
            table.add_row(stage, event.question, event.reason, "0")
            continue
        table.add_row(stage, event.question, _randomness(event), f"{float(statement.budget.cost(event)):.4g}")
    out.print(table)
    out.print(f"Guarantee: {statement.sentence()}.")
    out.print(f"Spent: {printed_up(statement.spent)} of {printed_up(statement.budget.total.amount)} {unit}.")


def _randomness(event: Noisy | Choice) -> str:
    """What was drawn, in two words."""
    if isinstance(event, Choice):
        return f"choice {float(event.rate):.4g}"
    match event.noise:
        case Laplace(scale):
            return f"Laplace {float(scale):.4g}"
        case Gaussian(sigma):
            return f"Gaussian {float(sigma):.4g}"
        case Skellam(mu):
            return f"Skellam {float(mu):.4g}"
