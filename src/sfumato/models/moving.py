"""Rows that are moved towards tables, and the tables of such rows. Nothing here has seen a real row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato import kernels
from sfumato.data.constraints import Constraint
from sfumato.data.domain import Clique, Domain
from sfumato.errors import ModelTooLarge

Array = NDArray[np.float64]
Rows = NDArray[np.uint16]
"""Rows of codes, row-major: `rows[row, column]`."""

MOST_CODES = 1 << 16
"""Codes of a column that is moved; cells of all tables together stay far below the 2^30 that the kernel can number."""

MOST_CELLS = 1 << 29

LOOKS = (2, 5)
"""After this many proposals for each row it is seen whether rows are near enough."""

FULL = 1e6
"""Rows too many that a cell counts as having if it may hold none."""


@dataclass(frozen=True, eq=False)
class Target:
    """A table that rows should have: its cells in rows, and the variance of what is uncertain about each."""

    clique: Clique
    counts: Array
    variance: float = 0.0


class Counted:
    """Tables of rows, scaled to a number of rows; columns are laid out one after the other once."""

    def __init__(self, domain: Domain, rows: Rows, total: float):
        self.domain = domain
        self.size = len(rows)
        self._columns = np.ascontiguousarray(rows.T)
        self._scale = total / max(len(rows), 1)

    def __call__(self, clique: Clique) -> Array:
        """The table over a clique."""
        shape = self.domain.project(clique).shape
        counts = kernels.count([self._columns[self.domain.index(name)] for name in clique], shape)
        return np.asarray(counts.reshape(shape) * self._scale, dtype=np.float64)


def improve(
    domain: Domain,
    rows: Rows,
    targets: Sequence[Target],
    columns: Sequence[Array],
    proposals: int,
    rng: np.random.Generator,
    zeros: Sequence[Constraint] = (),
) -> None:
    """Move rows towards targets and single columns, in place, until they are as near as noise lets us tell.

    A cell counts by 1 / sqrt(its rows + what is uncertain about them), a single column twice. A cell that may hold no
    row counts as far too full: no move brings a row into one, and rows that are in one leave it where they can.

    Args:
        domain: the columns of the rows.
        rows: what is moved.
        targets: the tables to move towards.
        columns: single columns, in rows; their sums say how many rows the targets speak of.
        proposals: moves that are tried for each row; twice as many while copies of whole rows help.
        rng: randomness of the synthesis.
        zeros: which cells may hold rows.
    """
    if len(rows) < 2 or not targets:
        return
    singles = [Target((name,), counts) for name, counts in zip(domain, columns, strict=True)]
    every = [*targets, *singles]
    size = sum(target.counts.size for target in every)
    forbidden = sum(zero.allowed.size for zero in zeros)
    if max(domain.shape) > MOST_CODES or size + forbidden > MOST_CELLS:
        raise ModelTooLarge(f"rows are moved in at most {MOST_CODES:,} codes of a column; declare fewer categories")
    scale = len(rows) / float(columns[0].sum())
    counted = Counted(domain, rows, len(rows))
    cells = np.empty((size + forbidden, 2), dtype=np.float32)
    first, pairs = 0, []
    for target in every:
        part = cells[first : first + target.counts.size]
        part[:, 0] = (counted(target.clique) - target.counts * scale).ravel()
        part[:, 1] = ((len(target.clique) == 1) + 1) / np.sqrt(target.counts + target.variance + 1).ravel()
        first += target.counts.size
        if len(target.clique) == 2:
            pairs.append((target, part[:, 0]))
    for zero in zeros:
        part = cells[first : first + zero.allowed.size]
        part[:, 0] = np.where(zero.allowed, 0.0, FULL).ravel()
        part[:, 1] = ~zero.allowed.ravel()
        first += zero.allowed.size
    cliques = [*(target.clique for target in every), *(zero.clique for zero in zeros)]
    places = [[domain.index(name) for name in clique] for clique in cliques]
    shapes = [domain.project(clique).shape for clique in cliques]
    enough, done = _enough([target for target, _ in pairs], scale), 0
    for end in (*(look for look in LOOKS if look < proposals), proposals):
        kernels.improve(rows, places, shapes, cells, (end - done) * len(rows), 2 * (end - done) * len(rows), rng)
        if pairs and sum(float(np.abs(off).sum(dtype=np.float64)) for _, off in pairs) <= enough:
            return
        done = end


def _enough(targets: Sequence[Target], scale: float) -> float:
    """How far rows may be from tables of pairs: as far as these are uncertain, less what chance makes of rows.

    Rows that come nearer follow the noise. Where chance makes more than noise, nothing is near enough. Larger tables
    are no measure: most of their cells have less than a row.
    """
    noise = sum(float(np.minimum(target.counts, sqrt(target.variance)).sum()) for target in targets)
    luck = sum(float(np.sqrt(target.counts).sum()) for target in targets)
    return sqrt(2 / pi) * (scale * noise - sqrt(scale) * luck)
