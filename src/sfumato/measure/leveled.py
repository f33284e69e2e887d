"""Measure the tables of a network in which parents may be coarser versions of columns."""

from __future__ import annotations

from dataclasses import dataclass, field

from sfumato.data.levels import Leveled
from sfumato.data.marginal import Measurement
from sfumato.data.selection import Selection
from sfumato.measure.laplace import LaplaceTables
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder


@dataclass(frozen=True)
class LeveledTables:
    """Adds the levels of the selection to the rows, and measures as `tables` does.

    The sum of expected L1 errors of Laplace noise, sum of cells_i / epsilon_i, is least at power 1/2.
    """

    tables: LaplaceTables = field(default=LaplaceTables(power=1 / 2))

    def __call__(self, holder: Holder, selection: Selection, share: Share) -> tuple[Measurement, ...]:
        """One noisy table for each clique; the whole share is spent unless there is nothing to measure."""
        if selection.levels:
            holder = holder.through(Leveled(holder.domain, selection.levels))
        return self.tables(holder, selection, share)
