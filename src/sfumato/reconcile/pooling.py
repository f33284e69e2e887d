"""One table for each clique: what was measured twice is averaged, cell by cell, by precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.data.coding import Coding, Levels
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.marginals import Marginals
from sfumato.data.recoding import Recoding
from sfumato.data.selection import Selection
from sfumato.reconcile.totals import common_total

Array = NDArray[np.float64]
Reconcile = Callable[[Domain, Sequence[Measurement], Selection], Marginals]


def reconciled_pooled(
    reconcile: Reconcile, recoding: Recoding, measurements: Sequence[Measurement], selection: Selection
) -> Marginals:
    """What a part makes of the tables of a run, pooled.

    The fit uses the tables of the selection and those of single attributes. Others were measured in order to choose,
    and made the fit worse where we tried (docs/decisions/0008-learn.md); they are published all the same.
    """
    chosen = set(map(frozenset, selection.cliques))
    fine: list[Measurement] = []
    coded: list[Measurement] = []
    for one in measurements:
        if len(one.clique) == 1 or frozenset(one.clique) in chosen:
            (fine if one.coding is not None and not one.coding.steps else coded).append(one)
    agreed = list(common_total([*fine, *coded])) if fine else coded
    return reconcile(
        model_domain(recoding, selection), pooled(recoding, agreed[: len(fine)], agreed[len(fine) :]), selection
    )


def model_domain(recoding: Recoding, selection: Selection) -> Domain:
    """The attributes that a model's tables are over: merged codes, and levels if the selection has some."""
    return Coding(recoding.domain, (Levels(selection.levels),)).domain


def pooled(recoding: Recoding, fine: Sequence[Measurement], measured: Sequence[Measurement]) -> tuple[Measurement, ...]:
    """All tables over merged codes, each clique once.

    A cell of a table that was measured before codes were merged has the noise of all cells that went into it. So the
    mean is weighted in each cell by itself; the variance of a pooled table is that of its noisiest cell.

    Args:
        recoding: how codes were merged.
        fine: tables over the codes before merging.
        measured: tables over merged codes.
    """
    variances = [one.variance * _noisy_cells(recoding, one) for one in fine]
    variances += [np.full(one.domain.shape, one.variance) for one in measured]
    groups: dict[Clique, list[tuple[Measurement, Array]]] = {}
    for one, variance in zip([*map(recoding.merge, fine), *measured], variances, strict=True):
        groups.setdefault(one.clique, []).append((one, variance))
    return tuple(group[0][0] if len(group) == 1 else _mean(group) for group in groups.values())


def _noisy_cells(recoding: Recoding, measurement: Measurement) -> Array:
    """How many noisy cells of a table become each cell of it over merged codes; at least one."""
    cells = Marginal(measurement.domain, measurement.noisy_cells.astype(np.float64))
    merged = Coding(recoding.fine, (recoding.step,)).apply(cells)
    return np.maximum(np.asarray(merged.counts, dtype=np.float64), 1.0)


def _mean(group: Sequence[tuple[Measurement, Array]]) -> Measurement:
    precision = sum((1 / variance for _, variance in group), np.zeros(()))
    total = sum((one.marginal.counts / variance for one, variance in group), np.zeros(()))
    first = group[0][0]
    return Measurement(Marginal(first.domain, total / precision), float((1 / precision).max()), allowed=first.allowed)
