"""Range queries: what share of the rows lies in a box of a few columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Projectable


@dataclass(frozen=True, eq=False)
class RangeQuery:
    """A row matches if in each column of `clique` its code is one of those allowed there."""

    clique: Clique
    allowed: tuple[NDArray[np.bool_], ...]

    def share(self, table: Projectable) -> float:
        """The share of the rows of `table` that match."""
        marginal = table.project(self.clique)
        inside = marginal.counts[np.ix_(*self.allowed)].sum()
        return float(inside / max(marginal.total, 1e-300))


def random_ranges(
    domain: Domain, ordered: frozenset[str], count: int, columns: int = 3, seed: int = 0
) -> list[RangeQuery]:
    """Random queries over this many random columns each.

    In an ordered column the allowed codes are a random interval, in any other a random subset; both are never empty.
    """
    rng = np.random.default_rng(seed)
    queries = []
    for _ in range(count):
        chosen = sorted(rng.choice(len(domain), size=min(columns, len(domain)), replace=False))
        clique = tuple(domain.names[index] for index in chosen)
        queries.append(RangeQuery(clique, tuple(_allowed(domain[name], name in ordered, rng) for name in clique)))
    return queries


def _allowed(size: int, ordered: bool, rng: np.random.Generator) -> NDArray[np.bool_]:
    if ordered:
        low, high = sorted(rng.integers(0, size, 2))
        return np.asarray((np.arange(size) >= low) & (np.arange(size) <= high))
    allowed = rng.random(size) < 0.5
    allowed[rng.integers(size)] = True
    return allowed


def mean_range_error(real: Projectable, synthetic: Projectable, queries: Sequence[RangeQuery]) -> float:
    """The mean absolute difference of the shares, over all queries."""
    return float(np.mean([abs(query.share(real) - query.share(synthetic)) for query in queries]))
