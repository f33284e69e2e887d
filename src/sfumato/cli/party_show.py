"""What an operator is shown before it agrees to a round."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from sfumato.cli.console import out
from sfumato.exact import exact_number, printed_up
from sfumato.parties.seat import Summary

SHOWN = 20
"""Most tables of a round that are shown."""


def show_summary(summary: Summary) -> None:
    """What an operator agrees to."""
    unit = "rho" if "rho" in summary.after else "epsilon"
    before, after = (printed_up(exact_number(one[unit]), 4) for one in (summary.before, summary.after))
    out.print(
        f"{summary.title} ({summary.stage}), attempt {summary.attempt}: {summary.sends}. {summary.shows} "
        f"{unit} spent: {before} before, {after} after."
    )
    tables = Table("asked for", "codes", "noise")
    for table in summary.tables[:SHOWN]:
        tables.add_row(table.columns, table.codes, table.noise)
    out.print(tables)
    if len(summary.tables) > SHOWN:
        out.print(f"and {len(summary.tables) - SHOWN} more tables, none with less noise")
    show_observed(summary.observed)


def show_observed(observed: Sequence[str]) -> None:
    """Name the columns that no noise covers."""
    if observed:
        out.print(f"No noise covers the values of {', '.join(observed)}: their domain was read from data.")
