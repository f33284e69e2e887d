"""Fit the tree once more to all tables, and shrink each table towards it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from sfumato.data.coding import Coding
from sfumato.data.constraints import Constraints
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.marginals import Marginals
from sfumato.data.recoding import Recoding
from sfumato.data.selection import Apart, Selection
from sfumato.models.estimates import Estimates
from sfumato.models.layers import fit_layers, is_dense, larger_targets, layers_of, shrunken_targets, tree_targets
from sfumato.models.moving import Counted, Target

FEW_ROWS, MOST_ROWS = 10_000, 200_000
"""Rows that are drawn from the tree to see its tables: four times those of the private table, within these bounds."""

SEED = 0
"""Of these rows: the same tables give the same model."""


@dataclass(frozen=True)
class LayeredFit:
    """Single columns from all tables that have them, and every table nearer to a tree that was fitted to all.

    A table is shrunk only as far as its noise asks for, and one of three and more columns that says no more than the
    pairs is left out. Where the tree holds every table, it is the model, and its own
    tables of all pairs are given.
    """

    def __call__(self, domain: Domain, measurements: Sequence[Measurement], selection: Selection) -> Marginals:
        """Tables that nearly agree: all have the same single columns."""
        pooled = [replace(one, coding=None) for one in measurements]
        return _reconciled(Estimates.of(Coding(domain), pooled), selection)

    def from_measured(
        self,
        recoding: Recoding,
        measurements: Sequence[Measurement],
        selection: Selection,
        constraints: Constraints | None = None,
    ) -> Marginals:
        """The same, over merged codes, of tables in the codes they were measured in: a bin has its own noise."""
        coding = Coding(recoding.fine).then(recoding.step)
        return _reconciled(Estimates.of(coding, measurements, constraints), selection)


def _reconciled(whole: Estimates, selection: Selection) -> Marginals:
    """Each group of columns by itself, if groups are kept apart."""
    groups = [(whole.domain.names, selection)]
    if isinstance(selection.structure, Apart):
        groups = list(zip(selection.structure.groups, selection.structure.selections, strict=True))
    singles = [Target((name,), counts) for name, counts in zip(whole.domain, whole.columns, strict=True)]
    targets = [target for names, part in groups for target in _targets(_within(whole, names), part)]
    tables = (Marginal(whole.domain.project(one.clique), one.counts) for one in (*singles, *targets))
    return Marginals(whole.domain, tuple(tables), tuple(sqrt(one.variance) for one in (*singles, *targets)))


def _within(estimates: Estimates, names: Clique) -> Estimates:
    """What is said about some of the columns."""
    domain = estimates.domain.project(estimates.domain.canonical(names))
    places = [estimates.domain.index(name) for name in domain]
    columns, variances = (tuple(of[place] for place in places) for of in (estimates.columns, estimates.variances))
    tables = {clique: table for clique, table in estimates.tables.items() if set(clique) <= set(names)}
    return Estimates(domain, estimates.rows, columns, tables, estimates.zeros.within(domain.names), variances)


def _targets(estimates: Estimates, selection: Selection) -> list[Target]:
    if not estimates.tables:
        return []
    layers = layers_of(selection, estimates.domain)
    model = fit_layers(estimates, layers)
    rows = int(np.clip(4 * estimates.rows, FEW_ROWS, MOST_ROWS))
    rng = np.random.default_rng(SEED)
    drawn = Counted(estimates.domain, model.draw(rows, rng), estimates.rows)
    if is_dense(estimates, layers):
        pairs = shrunken_targets(estimates, drawn)
        return [*pairs, *larger_targets(estimates, model, pairs, rows, rng)]
    return tree_targets(estimates, model, drawn)
