"""A schema as a notebook shows it."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.schema.columns import Column
from sfumato.schema.labels import labels
from sfumato.text import html_line

SHOWN = 6
"""The most values of a column that are shown."""


def columns_html(name: str, columns: Sequence[Column], rules: Sequence[object]) -> str:
    """The columns of a table with their values, and its rules."""
    rows = "".join(
        f"<tr><td>{html_line(one.name)}</td><td>{one.type}</td><td>{html_line(_values(one))}</td>"
        f"<td>{html_line(one.domain_from)}</td></tr>"
        for one in columns
    )
    head = "<tr><th>column</th><th>type</th><th>values</th><th>where they come from</th></tr>"
    ruled = "".join(f"<li>{html_line(rule)}</li>" for rule in rules)
    return f"<h4>Schema of {html_line(name)}</h4><table>{head}{rows}</table>" + (
        f"<p>Rules:</p><ul>{ruled}</ul>" if ruled else ""
    )


def _values(column: Column) -> str:
    names = labels(column)
    if len(names) <= SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[: SHOWN - 2])} … {names[-1]} ({len(names)} in all)"
