"""Reconcile the tables of a network in which parents may be coarser versions of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sfumato.data.domain import Domain
from sfumato.data.levels import Leveled
from sfumato.data.marginal import Measurement
from sfumato.data.marginals import Marginals
from sfumato.data.selection import Selection
from sfumato.reconcile.consistency import ConsistentNormSub


@dataclass(frozen=True)
class LeveledNormSub:
    """Consistency and norm-sub, over the columns and the levels of the selection; a level counts as a column."""

    agree: ConsistentNormSub = field(default=ConsistentNormSub())

    def __call__(self, domain: Domain, measurements: Sequence[Measurement], selection: Selection) -> Marginals:
        """Tables with one common total, no negative cell, and (nearly) equal shared marginals."""
        return self.agree(Leveled(domain, selection.levels).domain, measurements, selection)
