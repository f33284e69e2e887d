"""Rows as the structure of the selection asks for: of a network, or of a tree and then moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.data.marginals import Marginals
from sfumato.data.records import Records
from sfumato.data.selection import Selection
from sfumato.synthesize.joining import Draw, Synthesize, prepared


@dataclass(frozen=True)
class DrawByStructure:
    """One part for networks, and one for all others."""

    network: Synthesize
    layers: Synthesize

    def __call__(self, marginals: Marginals, selection: Selection, rows: int, rng: np.random.Generator) -> Records:
        """Rows whose tables come close to the given ones."""
        return self.prepare(marginals, selection)(rows, rng)

    def prepare(self, marginals: Marginals, selection: Selection) -> Draw:
        """What is the same for every draw, done once."""
        return prepared(self.network if selection.is_network else self.layers, marginals, selection)
