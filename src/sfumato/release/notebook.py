"""A release as a notebook shows it: the guarantee, warnings, the first columns as pictures, the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.text import html_line

if TYPE_CHECKING:
    from sfumato.release.release import Release

COLUMNS, VALUES = 4, 12
"""The most columns and the most values of each that are drawn."""


def release_html(release: Release) -> str:
    """Markup without scripts; everything in it is published with the release."""
    schema = release.schema
    pictures = "".join(_picture(release, name) for name in schema.names[:COLUMNS])
    return (
        f"<h4>{html_line(schema.name)}, released by {html_line(release.method)}</h4>"
        f"<p>{html_line(release.ledger.sentence())}.</p>"
        + "".join(f"<p><b>Warning:</b> {html_line(warning)}.</p>" for warning in release.warnings)
        + f"<p>{len(release.model.measurements)} noisy tables over {len(schema.columns)} columns, "
        f"about {release.rows:,} rows. <code>release.sample(rows, seed=…)</code> is free.</p>"
        f'<div style="display:flex;flex-wrap:wrap;gap:2em">{pictures}</div>'
        f"<details><summary>Ledger</summary>{release.ledger._repr_html_()}</details>"
    )


def _picture(release: Release, name: str) -> str:
    """The counts of one column as bars; of many values, the fullest."""
    table = release.marginal_arrow(name)
    counts = np.maximum(np.asarray(table.column(1), dtype=np.float64), 0.0)
    names = table.column(0).to_pylist()
    shown = sorted(np.argsort(-counts, kind="stable")[:VALUES].tolist())
    rest = f"<tr><td>… {len(names) - VALUES} more</td></tr>" if len(names) > VALUES else ""
    most = max(float(counts.max(initial=0.0)), 1.0)
    bars = "".join(
        f"<tr><td>{html_line(names[place])}</td>"
        f'<td style="width:8em"><div style="background:#4c78a8;height:0.8em;width:{counts[place] / most:.1%}"></div>'
        f'</td><td style="text-align:right">{counts[place]:,.0f}</td></tr>'
        for place in shown
    )
    return f"<table><caption>{html_line(name)}, rows</caption>{bars}{rest}</table>"
