"""Reconcile as the structure of the selection asks for: a network, or a tree with layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.data.constraints import Constraints
from sfumato.data.domain import Domain
from sfumato.data.marginal import Measurement
from sfumato.data.marginals import Marginals
from sfumato.data.recoding import Recoding
from sfumato.data.selection import Selection
from sfumato.reconcile.layered import LayeredFit
from sfumato.reconcile.pooling import Reconcile, reconciled_pooled


@dataclass(frozen=True)
class FitByStructure:
    """One part for networks, which takes pooled tables, and one for all others, which pools them itself."""

    network: Reconcile
    layers: LayeredFit

    def __call__(self, domain: Domain, measurements: Sequence[Measurement], selection: Selection) -> Marginals:
        """Tables that agree with each other."""
        return (self.network if selection.is_network else self.layers)(domain, measurements, selection)

    def from_measured(
        self,
        recoding: Recoding,
        measurements: Sequence[Measurement],
        selection: Selection,
        constraints: Constraints | None = None,
    ) -> Marginals:
        """The same, of tables in the codes they were measured in."""
        if selection.is_network:
            return reconciled_pooled(self.network, recoding, measurements, selection)
        return self.layers.from_measured(recoding, measurements, selection, constraints)
