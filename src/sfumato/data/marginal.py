"""Marginals and measurements: tables of counts over a few columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from sfumato.data.coding import Coding


@dataclass(frozen=True, eq=False)
class Marginal:
    """Counts over every cell of a domain, one axis per column. Never changes; operations return new tables.

    >>> table = Marginal(Domain({"sex": 2, "smokes": 2}), np.array([[3, 1], [2, 4]]))
    >>> table.project(("smokes",)).counts
    array([5, 5])
    """

    domain: Domain
    counts: NDArray[np.int64] | NDArray[np.float64]

    def __post_init__(self) -> None:
        counts = self.counts if _is_frozen(self.counts) else np.array(self.counts)
        if counts.shape != self.domain.shape:
            raise SchemaError(f"counts have shape {counts.shape}; {self.domain!r} wants {self.domain.shape}")
        if counts.dtype.kind not in "iuf":
            raise SchemaError(f"counts have type {counts.dtype}; integers or floats are wanted")
        counts.flags.writeable = False
        object.__setattr__(self, "counts", counts)

    @property
    def clique(self) -> Clique:
        """The columns of this table, in axis order."""
        return self.domain.names

    @property
    def total(self) -> float:
        """Sum of all cells."""
        return float(self.counts.sum())

    def project(self, names: Iterable[str]) -> Marginal:
        """Sum out every column that is not in `names`; axes come in the order of `names`."""
        names = tuple(names)
        target = self.domain.project(names)
        axes = [self.domain.index(name) for name in names]
        others = tuple(axis for axis in range(len(self.domain)) if axis not in axes)
        summed = self.counts.sum(axis=others) if others else self.counts
        kept = sorted(axes)
        return Marginal(target, np.transpose(summed, [kept.index(axis) for axis in axes]))

    def __repr__(self) -> str:
        return f"Marginal({' × '.join(self.clique) or 'total'}, {self.counts.size} cells, total {self.total:g})"


def _is_frozen(array: object) -> bool:
    """Whether nobody can change an array: neither it nor the one that it looks into may be written to."""
    if not isinstance(array, np.ndarray) or array.flags.writeable:
        return False
    return array.base is None or _is_frozen(array.base)


@dataclass(frozen=True, eq=False)
class Measurement:
    """A noisy marginal.

    Args:
        marginal: the noisy counts.
        variance: of the noise in each cell.
        coding: the codes that it is in; None for tables that were computed from others.
        event: the number of the event in the ledger that paid for it; None likewise.
        allowed: the cells that may hold rows; None if all may. The others are known to be 0, and have no noise.
    """

    marginal: Marginal
    variance: float
    coding: Coding | None = None
    event: int | None = None
    allowed: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        if not self.variance > 0:
            raise SchemaError(f"a measurement has noise variance {self.variance}; it must be above 0")

    def knowing(self, allowed: NDArray[np.bool_] | None) -> Measurement:
        """The same table, where the counts of all cells that are not allowed are known to be 0."""
        if allowed is None:
            return self
        if allowed.shape != self.marginal.counts.shape:
            raise SchemaError("the cells that may hold rows are not those of the table; give one flag for each cell")
        counts = np.where(allowed, self.marginal.counts, np.zeros((), self.marginal.counts.dtype))
        return replace(self, marginal=Marginal(self.domain, counts), allowed=allowed)

    @property
    def noisy_cells(self) -> NDArray[np.bool_]:
        """Which cells have noise: those that may hold rows."""
        return np.ones(self.domain.shape, dtype=np.bool_) if self.allowed is None else self.allowed

    @property
    def domain(self) -> Domain:
        """The domain of the noisy table."""
        return self.marginal.domain

    @property
    def clique(self) -> Clique:
        """The columns of the noisy table."""
        return self.marginal.clique

    def project(self, names: Iterable[str]) -> Marginal:
        """The noisy table summed down to `names`."""
        return self.marginal.project(names)

    def ordered(self, domain: Domain) -> Measurement:
        """The same table with its axes in the order of a domain."""
        clique = domain.canonical(self.clique)
        if clique == self.clique:
            return self
        axes = [self.clique.index(name) for name in clique]
        allowed = None if self.allowed is None else self.allowed.transpose(axes)
        return replace(self, marginal=self.marginal.project(clique), allowed=allowed)


class Projectable(Protocol):
    """Anything that can be asked for a marginal: records, one table, a measurement, a set of tables."""

    @property
    def domain(self) -> Domain:
        """The columns that may be asked for."""
        ...

    def project(self, names: Iterable[str]) -> Marginal:
        """The marginal over `names`, axes in that order."""
        ...
