"""Distances between marginals: pure functions of two things that can be projected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Projectable


def total_variation(real: Projectable, synthetic: Projectable, clique: Clique) -> float:
    """Half the L1 distance between two normalised marginals: 0 is perfect, 1 is disjoint."""
    one, two = real.project(clique), synthetic.project(clique)
    return float(np.abs(one.counts / max(one.total, 1e-300) - two.counts / max(two.total, 1e-300)).sum() / 2)


def mean_total_variation(real: Projectable, synthetic: Projectable, cliques: Iterable[Clique]) -> float:
    """The mean distance over some cliques."""
    return float(np.mean([total_variation(real, synthetic, clique) for clique in cliques]))


def cliques_of(domain: Domain, columns: int, most: int | None = None, seed: int = 0) -> Sequence[Clique]:
    """All cliques of so many columns, or a random choice of `most` of them."""
    found = list(combinations(domain.names, columns))
    if most is None or len(found) <= most:
        return found
    return [found[index] for index in np.random.default_rng(seed).choice(len(found), most, replace=False)]
