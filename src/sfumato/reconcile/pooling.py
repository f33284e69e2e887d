"""One table for each clique: what was measured twice is averaged, cell by cell, by precision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.data.coding import Coding
from sfumato.data.domain import Clique
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.recoding import Recoding

Array = NDArray[np.float64]


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
