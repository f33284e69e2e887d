"""What noisy distances of a model to the private table say about where the model is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.data.domain import Clique
from sfumato.learn.allocation import Array, K
from sfumato.models.estimates import Estimate, Estimates
from sfumato.privacy.questions import Distances

CHANCE = 0.3
"""Of the distance that chance alone makes between a model and its own rows, this much is taken off a score."""

REACH = 2.0
"""A distance is asked for if it could be this many standard deviations of its noise."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Of the tables on offer: profiles of what the model expects, and how wrong it is in each, in rows.

    `mean` is how wrong it is on average over all pairs; those that were not asked about count as right.
    """

    profiles: Array
    wrong: Array
    mean: float


def believed(found: Distances, chance: Array, most: Array) -> tuple[Array, Array]:
    """How wrong a model is in each table, less chance: as far as noise lets us believe, and with its noise.

    The largest of many noisy scores are large by noise. So a score that does not stand out of its noise counts nothing
    (the garrote), and none counts more than it can be. All scores together have little noise: where what is left of
    them says more than their plain sum, it is lowered to that.

    Args:
        found: the noisy distances.
        chance: what chance alone makes of each.
        most: the most that each can be.
    """
    plain = found.values - CHANCE * chance
    wrong = np.clip(plain, 0, most)
    wrong = wrong * np.maximum(1 - found.variance / np.maximum(wrong, 1e-9) ** 2, 0)
    return wrong * float(np.clip(plain.sum() / max(float(wrong.sum()), 1e-9), 0, 1)), plain


def largest_distances(estimates: Estimates, cliques: Sequence[Clique]) -> Array:
    """The most by which tables with the same single columns can differ (L1), in rows.

    Let a column have l rows outside its heaviest code. Of the rows of a clique all but the sum of l over all of its
    columns but one have the heaviest codes of these, and so a count that follows from the one left. Such rows differ
    only by what the others take away: in all by four times that sum, which is least without the largest l.
    """
    light = {
        name: estimates.rows - float(counts.max())
        for name, counts in zip(estimates.domain, estimates.columns, strict=True)
    }
    rest = [[light[name] for name in clique] for clique in cliques]
    return np.array([4 * (sum(one) - max(one)) for one in rest])


def column_errors(estimates: Estimates) -> dict[str, float]:
    """How far off each single column is by its noise (L1), in rows.

    Where a code has next to no rows, noise below 0 is cut off.
    """
    found = {}
    for name, counts, variances in zip(estimates.domain, estimates.columns, estimates.variances, strict=True):
        noise = np.sqrt(variances)
        found[name] = K * float(np.minimum(noise, np.maximum(counts, noise / 2)).sum())
    return found


def distances_of(tables: Mapping[Clique, Estimate], offers: Sequence[Clique], expected: Iterable[Array]) -> Distances:
    """How far noisy tables are from a model's: post-processing, so it asks nothing.

    A difference is shrunk by the part of its square that noise explains (James and Stein). The variance is about
    what is then left of noise alone.
    """
    values, variances = np.empty(len(offers)), np.empty(len(offers))
    for place, (clique, table) in enumerate(zip(offers, expected, strict=True)):
        noisy = tables[clique]
        beyond, noise = noisy.counts - table, noisy.variance * table.size
        values[place] = np.abs(beyond).sum() * max(0.0, 1 - noise / max(float((beyond**2).sum()), 1e-9))
        variances[place] = noise / 2
    return Distances(values, variances)
