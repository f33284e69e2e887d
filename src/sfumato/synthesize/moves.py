"""Rows drawn from a junction tree and then moved, value by value and row by row, towards every table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.data.constraints import Constraints
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.data.records import Records, code_type
from sfumato.data.selection import Layers, Selection
from sfumato.models.graphical import fit
from sfumato.models.layers import MOST_CELLS, Layered, coarse_domain, coarse_zeros, coarsened, layers_of
from sfumato.models.moving import Target, improve
from sfumato.models.zeros import tree_with_zeros
from sfumato.synthesize.joining import Draw
from sfumato.synthesize.repair import obeying

TOLERANCE, SWEEPS = 2e-4, 10
"""The tree is where rows start from: it need not meet its tables better than moves will."""


@dataclass(frozen=True)
class Moves:
    """Rows of the tree that a selection names, moved towards all tables; without a tree, of independent columns.

    No row is moved into a cell that constraints forbid.

    Args:
        proposals: moves that are tried for each row; twice as many while copies of whole rows help.
    """

    proposals: int = 40

    def __call__(self, marginals: Marginals, selection: Selection, rows: int, rng: np.random.Generator) -> Records:
        """`rows` rows whose tables come close to the given ones."""
        return self.prepare(marginals, selection)(rows, rng)

    def prepare(self, marginals: Marginals, selection: Selection) -> Draw:
        """Fit the tree once; what is returned draws rows of it and moves them, as often as it is called."""
        domain = marginals.domain
        scales = marginals.scales or (0.0,) * len(marginals.tables)
        targets = [
            Target(table.clique, np.maximum(np.asarray(table.counts, dtype=np.float64), 0), scale**2)
            for table, scale in zip(marginals.tables, scales, strict=True)
            if len(table.clique) > 1
        ]
        constraints = marginals.constraints or Constraints(domain)
        start = _start(marginals, layers_of(selection, domain), constraints, targets)

        def draw(rows: int, rng: np.random.Generator) -> Records:
            found = start.draw(rows, rng)
            if constraints.items:
                repaired = obeying(Records(domain, list(found.T)), constraints, rng)
                found = np.ascontiguousarray(np.stack(repaired.columns, axis=1), dtype=np.uint16)
            improve(domain, found, targets, start.columns, self.proposals, rng, constraints.items)
            return Records(domain, [found[:, place].astype(code_type(size)) for place, size in enumerate(domain.shape)])

        return draw


def _start(marginals: Marginals, layers: Layers, constraints: Constraints, targets: Sequence[Target]) -> Layered:
    """The tree that rows begin in; finer codes begin as the tables of pairs have them."""
    domain = marginals.domain
    columns = tuple(np.maximum(np.asarray(marginals.project((name,)).counts, dtype=np.float64), 0) for name in domain)
    columns = tuple(counts if counts.any() else np.ones(len(counts)) for counts in columns)
    coarse, lookups = coarse_domain(domain, layers)
    tables = [
        Marginal(coarse.project(clique), coarsened(counts, [lookups[domain.index(name)] for name in clique]))
        for clique, counts in (
            *(((name,), counts) for name, counts in zip(domain, columns, strict=True)),
            *((clique, np.asarray(marginals.project(clique).counts, np.float64)) for clique in layers.inside),
        )
    ]
    cliques, zeros = [table.clique for table in tables], coarse_zeros(constraints, layers)
    tree, kept = tree_with_zeros(coarse, cliques, zeros, MOST_CELLS)
    model = fit(tree, tables, kept, TOLERANCE, SWEEPS)
    pairs = tuple((target.clique, target.counts) for target in targets if len(target.clique) == 2)
    return Layered(domain, columns, lookups, model, pairs)
