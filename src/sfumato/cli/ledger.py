"""`sfumato ledger`: what a release spent, recomputed from its events."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sfumato.cli.console import JsonOption, explained, out, print_json
from sfumato.exact import printed_up
from sfumato.privacy.events import Choice, Free, Noisy
from sfumato.privacy.ledger import Statement
from sfumato.release import storage


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
    unit = statement.budget.total.currency.value
    table = Table("stage", "question", "noise", unit, title=f"Ledger of {folder}")
    for stage, event in statement.entries:
        if isinstance(event, Free):
            table.add_row(stage, event.question, event.reason, "0")
            continue
        table.add_row(stage, event.question, _randomness(event), f"{float(event.cost(statement.budget.notion)):.4g}")
    out.print(table)
    out.print(f"Guarantee: {statement.sentence()}.")
    out.print(f"Spent: {printed_up(statement.spent)} of {printed_up(statement.budget.total.amount)} {unit}.")


def _randomness(event: Noisy | Choice) -> str:
    """What was drawn, in two words."""
    if isinstance(event, Choice):
        return f"choice {float(event.mechanism.rate):.4g}"
    return f"{event.noise.kind.capitalize()} {float(event.noise.width):.4g}"
