"""Distances between marginals: pure functions of two things that can be projected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Projectable
from sfumato.data.records import Records
from sfumato.errors import MethodError
from sfumato.evaluate.keys import DENSE_CELLS, joint_keys, same_columns


def total_variation(real: Projectable, synthetic: Projectable, clique: Clique) -> float:
    """Half the L1 distance between two normalised marginals: 0 is perfect, 1 is disjoint.

    Only cells with rows matter: between two sets of rows the distance is exact however many cells the table has. Other
    tables than rows are refused if they are too large.
    """
    same_columns((real, synthetic), clique)
    if real.domain.cells(clique) > DENSE_CELLS:
        if isinstance(real, Records) and isinstance(synthetic, Records):
            return _sparse_distance(real, synthetic, clique)
        real.domain.require_cells(clique, DENSE_CELLS)
    one, two = real.project(clique), synthetic.project(clique)
    return float(np.abs(one.counts / max(one.total, 1e-300) - two.counts / max(two.total, 1e-300)).sum() / 2)


def _sparse_distance(real: Records, synthetic: Records, clique: Clique) -> float:
    keys = joint_keys((real, synthetic), clique)
    _, cell = np.unique(np.concatenate(keys), return_inverse=True)
    shares = np.repeat([1 / max(len(real), 1), -1 / max(len(synthetic), 1)], [len(real), len(synthetic)])
    return float(np.abs(np.bincount(cell, shares)).sum() / 2)


def mean_total_variation(real: Projectable, synthetic: Projectable, cliques: Iterable[Clique]) -> float:
    """The mean distance over some cliques."""
    return float(np.mean([total_variation(real, synthetic, clique) for clique in cliques]))


def cliques_of(domain: Domain, columns: int, most: int | None = None, seed: int = 0) -> Sequence[Clique]:
    """All cliques of this many columns, or a random choice of `most` of them."""
    found = list(combinations(domain.names, columns))
    if most is None or len(found) <= most:
        return found
    return [found[index] for index in np.random.default_rng(seed).choice(len(found), most, replace=False)]


@dataclass(frozen=True)
class MarginalError:
    """How far the tables over this many columns are from the real ones.

    Args:
        columns: how many columns each table has.
        tables: how many tables were compared.
        mean: their mean total variation distance.
        worst: the largest of these distances.
        worst_clique: the columns of that table.
    """

    columns: int
    tables: int
    mean: float
    worst: float
    worst_clique: Clique

    @property
    def mean_l1(self) -> float:
        """The mean L1 distance between shares, from 0 to 2: twice the total variation."""
        return 2 * self.mean


def marginal_error(
    real: Projectable, synthetic: Projectable, columns: int, most: int | None = None, seed: int = 0
) -> MarginalError:
    """Compare all tables over this many columns, or a random choice of `most` of them."""
    if not 1 <= columns <= len(real.domain):
        raise MethodError(f"tables over {columns} columns were asked for; give 1 to {len(real.domain)}")
    cliques = cliques_of(real.domain, columns, most, seed)
    distances = [total_variation(real, synthetic, clique) for clique in cliques]
    worst = int(np.argmax(distances))
    return MarginalError(columns, len(cliques), float(np.mean(distances)), distances[worst], cliques[worst])


def pair_errors(real: Projectable, synthetic: Projectable, names: Sequence[str]) -> NDArray[np.float64]:
    """The total variation distance of each pair of columns, a symmetric matrix; of each column on the diagonal."""
    errors = np.zeros((len(names), len(names)))
    for i, one in enumerate(names):
        errors[i, i] = total_variation(real, synthetic, (one,))
        for j in range(i):
            errors[i, j] = errors[j, i] = total_variation(real, synthetic, (names[j], one))
    return errors


def worst_pairs(errors: NDArray[np.float64], names: Sequence[str], count: int) -> list[tuple[Clique, float]]:
    """The pairs with the largest of the `pair_errors`, worst first."""
    rows, columns = np.triu_indices(len(names), 1)
    order = np.argsort(-errors[rows, columns], kind="stable")[:count]
    return [((names[i], names[j]), float(errors[i, j])) for i, j in zip(rows[order], columns[order], strict=True)]
