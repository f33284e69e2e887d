"""How often the intervals of a release hold the real counts. It looks at real rows and is not private."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.data.records import Records
from sfumato.intake.attributes import Attributes
from sfumato.models.residuals import held
from sfumato.release import Release
from sfumato.release.intervals import CONFIDENCE, cell_intervals

CELLS = 200_000
"""Tables with more cells in the codes of the schema are left out."""


@dataclass(frozen=True)
class Coverage:
    """Of all cells of `tables` noisy tables that have an interval, the part whose real count lies inside."""

    tables: int
    cells: int
    inside: float
    confidence: float = CONFIDENCE


def coverage(real: Records, release: Release) -> Coverage | None:
    """Compare every noisy table of a release with real rows, which are in the codes of the schema's columns."""
    attributes = Attributes(release.schema)
    rows = attributes.encode(real)
    cliques = {held(one, rows.domain)[0] for one in release.noisy_tables}
    small = sorted(clique for clique in cliques if clique and rows.domain.cells(clique) <= CELLS)
    cells = inside = 0
    for clique in small:
        exact = rows.project(clique).counts.ravel()
        known = rows.domain.project(clique)
        found = cell_intervals(release.noisy_tables, known, clique, np.arange(exact.size), exact.size, CONFIDENCE)
        has = ~np.isnan(found.low)
        cells += int(has.sum())
        inside += int(((found.low <= exact) & (exact <= found.high))[has].sum())
    return Coverage(len(small), cells, inside / cells) if cells else None
