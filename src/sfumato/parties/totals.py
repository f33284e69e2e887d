"""A check of the sums of a study that costs nothing: all tables count the same rows, so their totals must agree.

A party that sends wrong counts, runs another version or has changed its table makes them disagree, unless it takes care
to be wrong by as much in every table. It then can be wrong by the public upper limit of rows at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError

DEVIATIONS = 40
"""Standard deviations beyond which a difference is not noise.

The noise of a cell has tails of an exponential law at worst, exp(-sqrt(2) x) for x standard deviations, and sums of
cells have lighter ones: below 1e-20 for both totals together.
"""


class Totals:
    """What is known of the number of rows, for each set of parties that has answered.

    Args:
        most_rows: the public upper limit.
    """

    def __init__(self, most_rows: int):
        self._most_rows = most_rows
        self._known: dict[tuple[str, ...], tuple[int, float]] = {}

    def check(self, names: tuple[str, ...], tables: Sequence[NDArray[np.int64]], variances: Sequence[float]) -> None:
        """Refuse tables of which one does not count the same rows as the others, or counts more than there can be.

        Args:
            names: who has answered.
            tables: the cells of each table of a round.
            variances: the variance of the noise in each cell of each.
        """
        for table, variance in zip(tables, variances, strict=True):
            total, spread = _exact_sum(table), variance * table.size
            best, least = self._known.setdefault(names, (total, spread))
            if abs(total - best) > DEVIATIONS * sqrt(spread + least) + 1:
                raise DataError(
                    "the tables of the study do not count the same rows, by far more than noise explains: a party has "
                    "sent wrong numbers, has changed its table, or runs another version; the study ends here, and what "
                    "was spent is spent"
                )
            most = int(table.max()) if table.size else 0
            if max(total - DEVIATIONS * sqrt(spread), most - DEVIATIONS * sqrt(variance)) > self._most_rows:
                raise DataError(
                    f"the tables of the study count more than the {self._most_rows:,} rows that the manifest allows: a "
                    "party has sent wrong numbers, or the limit is too low; the study ends here, and what was spent is "
                    "spent"
                )
            if total + DEVIATIONS * sqrt(spread) < 0:
                raise DataError(
                    "the tables of the study count fewer than no rows: a party has sent wrong numbers; the study ends "
                    "here, and what was spent is spent"
                )
            if spread < least:
                self._known[names] = total, spread


def _exact_sum(table: NDArray[np.int64]) -> int:
    """The sum of cells that may be of any size, without overflow."""
    return (int((table >> 32).sum()) << 32) + int((table & 0xFFFFFFFF).sum())
