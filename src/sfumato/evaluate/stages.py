"""Which stage lost the accuracy: the error of pair tables after selection, noise, reconciling and synthesis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal, Measurement, Projectable
from sfumato.data.marginals import Marginals
from sfumato.evaluate.marginals import mean_total_variation

Estimate = Callable[[Marginals, Clique], Marginal]
"""The table over any columns, from tables over others; for example by maximum entropy."""


@dataclass(frozen=True)
class StageErrors:
    """The mean total variation distance from the real tables after each stage; each is what is lost so far.

    Args:
        selection: with the selected tables exact: what they cannot say.
        noise: with the noisy tables, negative counts set to 0.
        reconcile: with the reconciled tables.
        synthesis: of the synthetic rows themselves.
    """

    selection: float
    noise: float
    reconcile: float
    synthesis: float

    @property
    def added(self) -> dict[str, float]:
        """What each stage adds to the error; a stage that repairs adds less than 0. The sum is `synthesis`."""
        return {
            "selection": self.selection,
            "noise": self.noise - self.selection,
            "reconcile": self.reconcile - self.noise,
            "synthesis": self.synthesis - self.reconcile,
        }


@dataclass(frozen=True, eq=False)
class _Estimated:
    """Tables that can be asked for any columns."""

    tables: Marginals
    estimate: Estimate

    @property
    def domain(self) -> Domain:
        return self.tables.domain

    def project(self, names: Iterable[str]) -> Marginal:
        return self.estimate(self.tables, tuple(names))


def stage_errors(
    real: Projectable,
    measurements: Sequence[Measurement],
    reconciled: Marginals,
    synthetic: Projectable,
    asked: Sequence[Clique],
    estimate: Estimate,
) -> StageErrors:
    """The error over the cliques `asked` after each stage of one run.

    Args:
        real: the real rows, in the codes that were synthesised.
        measurements: the noisy tables in the same codes; one that was measured in finer ones is merged first
            (`Recoding.merge`). Their cliques are the selected ones.
        reconciled: what the reconcile stage made of them.
        synthetic: the synthetic rows, in the same codes.
        asked: the tables to compare, usually all pairs of columns that some measurement knows.
        estimate: answers a clique from tables over others; the same for the first three stages.
    """
    exact = Marginals(real.domain, tuple(real.project(one.clique) for one in measurements))
    noisy = Marginals(real.domain, tuple(_without_negatives(one.marginal) for one in measurements))

    def error(tables: Projectable) -> float:
        return mean_total_variation(real, tables, asked)

    return StageErrors(
        selection=error(_Estimated(exact, estimate)),
        noise=error(_Estimated(noisy, estimate)),
        reconcile=error(_Estimated(reconciled, estimate)),
        synthesis=error(synthetic),
    )


def _without_negatives(table: Marginal) -> Marginal:
    # Shares of a table with negative counts are no shares: their distance could be anything.
    return Marginal(table.domain, np.asarray(table.counts, dtype=np.float64).clip(min=0))
