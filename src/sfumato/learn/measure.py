"""Measure chosen tables, larger ones with a larger part of the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.data.coding import Levels
from sfumato.data.domain import Clique
from sfumato.data.marginal import Measurement
from sfumato.data.selection import Selection
from sfumato.privacy.budget import Currency, Share
from sfumato.privacy.holder import Holder


@dataclass(frozen=True)
class Tables:
    """Parts of the budget in proportion to a power of the cells, unless the selection has weights of its own.

    Args:
        epsilon_power: for an amount of epsilon. 1/3 minimises the sum of the variances of all cells, sum of
            2 cells_i / epsilon_i²; 1/2 the sum of expected L1 errors; 0 shares equally.
        rho_power: for an amount of rho; 2/3 minimises the sum of expected L1 errors.
    """

    epsilon_power: float = 1 / 3
    rho_power: float = 2 / 3

    def __call__(self, holder: Holder, selection: Selection, share: Share) -> tuple[Measurement, ...]:
        """One noisy table for each clique; the whole share is spent unless there is nothing to measure."""
        if selection.levels:
            holder = holder.through(Levels(selection.levels))
        return measure(holder, selection.cliques, share, self.power(share), selection.weights)

    def power(self, share: Share) -> float:
        """The power of the cells by which tables get their parts of a share."""
        return self.epsilon_power if share.currency is Currency.EPSILON else self.rho_power


def measure(
    holder: Holder, cliques: Sequence[Clique], share: Share, power: float, weights: Sequence[float] = ()
) -> tuple[Measurement, ...]:
    """Spend a whole share on tables, by weights or in proportion to cells^power."""
    if not cliques:
        return ()
    return holder.measure(cliques, share.split(weights or [holder.domain.cells(clique) ** power for clique in cliques]))
