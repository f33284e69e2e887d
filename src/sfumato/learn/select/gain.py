"""What a Bayesian network gains by a set of parents, as far as noisy tables can tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique
from sfumato.errors import MethodError
from sfumato.models.noisy_tables import NoisyTables

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Gain:
    """What a network gains if a column is drawn given some parents, in rows.

    Noise alone makes tables look dependent, large ones most. So what a table has beyond the product of its margins is
    shrunk by the part of it that noise would make up (after James and Stein), and to nothing if that is all of it.

    Args:
        score: R, the variation distance to independence times the rows, or I, the mutual information in nats times the
            rows.
        price: by how much each cell of the table lowers the gain; its noise does harm, whatever the column depends on.
        shrink: whether the noise is allowed for at all; the papers do not.
    """

    score: str
    price: float = 0.0
    shrink: bool = True

    def __post_init__(self) -> None:
        if self.score not in ("R", "I"):
            raise MethodError(f"score {self.score!r} is unknown for noisy tables; known scores are R and I")

    def __call__(self, tables: NoisyTables, column: str, parents: Clique) -> float:
        """The gain; 0 without parents."""
        if not parents:
            return 0.0
        counts, variance = tables.table((column, *parents))
        joint = counts.reshape(counts.shape[0], -1) / tables.rows
        margins = tables.table((column,))[0], tables.table(parents)[0].reshape(-1)
        product = np.outer(*map(_proportions, margins))
        beyond = joint - product
        beyond = beyond - beyond.mean(axis=0)
        beyond = beyond - beyond.mean(axis=1, keepdims=True)
        noise = (joint.shape[0] - 1) * (joint.shape[1] - 1) * variance / tables.rows**2
        square = float((beyond**2).sum())
        part = noise / square if self.shrink and square > 0 else 0.0
        kept = beyond * max(0.0, 1 - part)
        dependence = mutual_information(product + kept) if self.score == "I" else float(np.abs(kept).sum()) / 2
        return tables.rows * dependence - self.price * counts.size

    def pairs(self, tables: NoisyTables) -> Array:
        """The gains of all pairs of columns, in the order of the domain, or 0; 0 also for pairs in no table."""
        names = tables.domain.names
        matrix = np.zeros((len(names), len(names)))
        for x, first in enumerate(names):
            for y in range(x):
                if tables.holds((first, names[y])):
                    matrix[x, y] = matrix[y, x] = max(0.0, self(tables, first, (names[y],)))
        return matrix


def mutual_information(table: Array) -> float:
    """Of the rows and columns of a table, in nats; negative cells count as 0."""
    joint = np.clip(table, 0.0, None)
    if not joint.any():
        return 0.0
    joint = joint / joint.sum()
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    cells = joint > 0
    return max(0.0, float((joint[cells] * np.log(joint[cells] / product[cells])).sum()))


def _proportions(counts: Array) -> Array:
    """Counts as proportions; negative ones count as 0."""
    kept = np.clip(counts, 0.0, None)
    return kept / kept.sum() if kept.any() else np.full(kept.shape, 1 / kept.size)
