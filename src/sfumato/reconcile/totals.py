"""One number of rows for all noisy tables, before codes are merged.

In a table of many codes that become few, most of the noise ends in one merged cell, and the table would then seem to
know the number of rows far better than it does. So totals are made equal where the noise of all cells is still alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.data.marginal import Marginal, Measurement


def common_total(measurements: Sequence[Measurement]) -> tuple[Measurement, ...]:
    """The same tables with one total, their mean weighed by precision; changes are spread evenly over noisy cells."""
    if not measurements:
        return ()
    precisions = np.array([1 / (one.variance * np.count_nonzero(one.noisy_cells)) for one in measurements])
    totals = np.array([one.marginal.total for one in measurements], dtype=np.float64)
    total = float(precisions @ totals / precisions.sum())
    return tuple(replace(one, marginal=_with_total(one, total)) for one in measurements)


def _with_total(measurement: Measurement, total: float) -> Marginal:
    counts = np.asarray(measurement.marginal.counts, dtype=np.float64)
    noisy = measurement.noisy_cells
    return Marginal(measurement.domain, counts + noisy * ((total - counts.sum()) / np.count_nonzero(noisy)))
