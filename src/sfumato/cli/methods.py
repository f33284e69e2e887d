"""`sfumato methods`: which methods there are."""

from __future__ import annotations

from rich.table import Table

from sfumato.cli.console import JsonOption, explained, out, print_json
from sfumato.recipes import RECIPES


@explained
def methods(as_json: JsonOption = False) -> None:
    """List the methods."""
    if as_json:
        print_json(
            {
                name: {"guarantee": recipe.guarantee.value, "summary": recipe.summary, **recipe.parameters()}
                for name, recipe in RECIPES.items()
            }
        )
        return
    table = Table("method", "guarantee", "how it works")
    for name, recipe in RECIPES.items():
        table.add_row(name, recipe.guarantee.value, recipe.summary)
    out.print(table)
