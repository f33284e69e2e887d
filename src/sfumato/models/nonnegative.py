"""Make a table non-negative without changing its total."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def norm_sub(
    values: NDArray[np.float64], total: float | None = None, allowed: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """The nearest table (in squared error) with no negative cell and the given total (its own, if not given).

    It has the form max(value - shift, 0): the projection on the simplex. The shift is found by Newton steps on the
    piecewise linear equation, which end after finitely many (Michelot); a total below 0 is taken as 0. Cells that are
    not `allowed` get 0, and the others the whole total.
    """
    if allowed is not None:
        table = np.zeros_like(values)
        table[allowed] = norm_sub(values[allowed], total)
        return table
    total = float(values.sum()) if total is None else total
    if total <= 0:
        return np.zeros_like(values)
    shift = (values.sum() - total) / values.size
    while True:
        kept = values > shift
        better = (values[kept].sum() - total) / np.count_nonzero(kept)
        if better <= shift:
            return np.where(kept, values - better, 0.0)
        shift = better
