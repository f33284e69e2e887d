"""What noisy tables say together: the number of rows, every single column, and each larger table once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.coding import Coding
from sfumato.data.constraints import Constraints
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.models.nonnegative import norm_sub

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

SURE = 1e-6
"""Cells with noise that a code is counted as having where it has none, because rules leave it empty."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """A table in rows, and the variance of the noise in each of its cells.

    `allowed` are the cells that may hold rows, and have noise; None if all may.
    """

    counts: Array
    variance: float
    allowed: Mask | None = None


@dataclass(frozen=True, eq=False)
class Estimates:
    """What noisy tables say about a domain.

    Args:
        domain: the attributes, in the codes that all is said in.
        rows: the number of rows; at least 1.
        columns: for each attribute, rows with each code: none negative, and `rows` in all.
        tables: the larger tables, raw: negative cells and all.
        zeros: which cells may hold rows, in these codes.
        variances: for each attribute, of the noise in the rows with each code.
    """

    domain: Domain
    rows: float
    columns: tuple[Array, ...]
    tables: dict[Clique, Estimate]
    zeros: Constraints
    variances: tuple[Array, ...]

    @classmethod
    def of(
        cls, coding: Coding, measurements: Sequence[Measurement], constraints: Constraints | None = None
    ) -> Estimates:
        """Pool tables by precision: single columns from all tables that have them, larger ones if measured twice.

        Args:
            coding: the codes to speak in.
            measurements: tables in these codes, or in codes before some of its steps. Each attribute is in one of them.
            constraints: which cells of the coding's base may hold rows.
        """
        constraints = constraints or Constraints(coding.base)
        domain = coding.domain
        values = [np.zeros(size) for size in domain.shape]
        precisions = [np.zeros(size) for size in domain.shape]
        total, weight = 0.0, 0.0
        tables: dict[Clique, Estimate] = {}
        for one in measurements:
            counts, parts = _coded(coding, one.knowing(constraints.allowed(one.clique, one.coding)))
            if len(one.clique) <= 1:
                total += float(counts.sum()) / (one.variance * float(parts.sum()))
                weight += 1 / (one.variance * float(parts.sum()))
            for axis, name in enumerate(one.clique):
                others = tuple(other for other in range(counts.ndim) if other != axis)
                place, noise = domain.index(name), one.variance * np.maximum(parts.sum(axis=others), SURE)
                values[place] += counts.sum(axis=others) / noise
                precisions[place] += 1 / noise
            if len(one.clique) > 1:
                allowed = None if (parts > 0).all() else parts > 0
                new = Estimate(counts, one.variance * float(parts.max()), allowed)
                tables[one.clique] = _mean(tables[one.clique], new) if one.clique in tables else new
        rows = max(1.0, total / weight) if weight else 1.0
        columns = (_column(value / precision, rows) for value, precision in zip(values, precisions, strict=True))
        variances = tuple(1 / precision for precision in precisions)
        return cls(domain, rows, tuple(columns), tables, constraints.through(coding), variances)

    def margins(self, clique: Clique) -> list[Array]:
        """The single columns of a clique."""
        return [self.columns[self.domain.index(name)] for name in clique]


def _coded(coding: Coding, one: Measurement) -> tuple[Array, Array]:
    """The counts of a table in the codes of `coding`, and of how many cells with noise each is the sum."""
    counts, noisy = np.asarray(one.marginal.counts, dtype=np.float64), one.noisy_cells.astype(np.float64)
    if one.coding is None or one.coding == coding:
        return counts, noisy
    rest = coding.after(one.coding)
    parts = rest.apply(Marginal(one.domain, noisy))
    return np.asarray(rest.apply(Marginal(one.domain, counts)).counts), np.asarray(parts.counts, dtype=np.float64)


def _column(counts: Array, rows: float) -> Array:
    """No negative counts, and none of exactly 0, which no later table could mend."""
    return np.maximum(norm_sub(counts, rows), 1e-3 * min(1.0, rows / len(counts)))


def _mean(one: Estimate, other: Estimate) -> Estimate:
    precision = 1 / one.variance + 1 / other.variance
    counts = (one.counts / one.variance + other.counts / other.variance) / precision
    return Estimate(counts, 1 / precision, one.allowed)
