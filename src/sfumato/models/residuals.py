"""Least squares over noisy tables, in closed form: unbiased counts and their exact covariance.

A table over some attributes is a sum of *residual components*, one for each subset τ of its attributes: the table
summed to τ and centred along every attribute of it. Components of isotropic noise are independent of each other, so
every component can be averaged over all noisy tables that hold it, by precision, and the averages put together again.
Nothing has to be inverted. docs/proofs/intervals.md has the formulas and why this is generalised least squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Measurement

Array = NDArray[np.float64]
Lookup = NDArray[np.int64]

MOST_COMPONENTS = 20_000_000
"""The most numbers that the components of one table may have."""


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A measurement and the shape of its noise: the fourth cumulant beside the squared variance, 0 if normal."""

    measurement: Measurement
    excess_kurtosis: float = 0.0


@dataclass(frozen=True, eq=False)
class Part:
    """What one noisy table says about the asked attributes.

    Args:
        counts: its counts over the asked attributes that it tells apart; the others have size 1.
        precision: of each component, an axis of 2 (1 for attributes that it does not tell apart) for each attribute.
        copies: noisy cells that are added up in each of `counts`.
        fourth: the fourth cumulant of the noise in one noisy cell.
    """

    counts: Array
    precision: Array
    copies: int
    fourth: float


@dataclass(frozen=True, eq=False)
class Estimate:
    """Unbiased counts over some attributes, each in a coarsening of its codes, with their exact covariance.

    The covariance of two cells is the sum of `factors` over all sets of attributes in which they agree.

    Args:
        clique: the attributes.
        lookups: for each attribute, from its codes to those that are told apart here.
        counts: the counts; some may be negative.
        factors: an axis of 2 for each attribute: 1 where it is in the set.
        parts: what each noisy table contributed.
    """

    clique: Clique
    lookups: tuple[Lookup, ...]
    counts: Array
    factors: Array
    parts: tuple[Part, ...]

    @property
    def variance(self) -> float:
        """Of each count; it is the same in all cells."""
        return float(self.factors.sum())

    @property
    def excess_kurtosis(self) -> float:
        """Of the error of each count; it is the same in all cells."""
        fourth = 0.0
        for part in self.parts:
            if part.fourth:
                # A noisy cell weighs by the attributes in which it agrees with the cell that is estimated.
                weight, times = self._weights(part), np.ones([1] * self.counts.ndim)
                for axis, size in enumerate(self.counts.shape):
                    if weight.shape[axis] == 1:
                        weight = weight / size
                        continue
                    out, into = (weight.take([side], axis) for side in (0, 1))
                    weight = np.concatenate([(out - into) / size, into + (out - into) / size], axis)
                    times = times * np.array([size - 1, 1]).reshape(
                        [2 if one == axis else 1 for one in range(times.ndim)]
                    )
                fourth += part.fourth * part.copies * float((times * weight**4).sum())
        return fourth / self.variance**2

    def total(self, weights: Array) -> float:
        """The sum of all counts, each times its weight."""
        return float((self.counts * weights).sum())

    def covariance(self, one: Array, other: Array) -> float:
        """The covariance of two weighted sums."""
        found = 0.0
        for place in np.ndindex(self.factors.shape):
            others = tuple(axis for axis, inside in enumerate(place) if not inside)
            found += float(self.factors[place]) * float((one.sum(axis=others) * other.sum(axis=others)).sum())
        return found

    def excess_kurtosis_of(self, weights: Array) -> float:
        """Of the error of a weighted sum: how far it is from normal."""
        fourth = second = 0.0
        scaled = _components(weights)
        for part in self.parts:
            if part.fourth:
                effect = part.copies * (self._coefficients(scaled, part) ** 4).sum()
                fourth += part.fourth * float(effect)
        if fourth:
            second = self.covariance(weights, weights)
        return fourth / second**2 if second else 0.0

    def _coefficients(self, components: Array, part: Part) -> Array:
        """How much each noisy count of a table weighs in a weighted sum, whose weights have these components."""
        for axis, sides in enumerate(part.precision.shape):
            if sides == 1:  # summed over: all codes of the attribute have one coefficient
                components = components.take([0], axis) / self.counts.shape[axis]
        coefficients = components * _repeated(self._weights(part), part.counts.shape)
        for axis, size in enumerate(part.counts.shape):
            if part.precision.shape[axis] == 2:
                coefficients = _joined(coefficients, axis, size)
        return coefficients

    def _weights(self, part: Part) -> Array:
        """How much a table weighs in the average of each component that it holds."""
        whole = _summed_precision([one.precision for one in self.parts], self.counts.ndim)
        return part.precision / whole[tuple(slice(size) for size in part.precision.shape)]

    def summed(self, cell: Lookup, size: int) -> tuple[Array, Array]:
        """Sums of cells and their variances: cell c, in reading order, belongs to sum `cell[c]`, or to none if -1."""
        kept = cell >= 0
        sums = np.asarray(np.bincount(cell[kept], self.counts.ravel()[kept], size), dtype=np.float64)
        members = np.bincount(cell[kept], minlength=size)
        if members.max(initial=0) <= 1:
            return sums, self.variance * members.astype(np.float64)
        variances = np.zeros(size)
        codes = np.unravel_index(np.flatnonzero(kept), self.counts.shape)
        for place in np.ndindex(self.factors.shape):
            inside = [axis for axis, one in enumerate(place) if one]
            shape = [self.counts.shape[axis] for axis in inside]
            among = np.ravel_multi_index([codes[axis] for axis in inside], shape) if inside else 0
            pairs, times = np.unique(cell[kept] * prod(shape) + among, return_counts=True)
            squares = np.bincount(pairs // prod(shape), times.astype(np.float64) ** 2, size)
            variances += self.factors[place] * squares
        return sums, variances

    @classmethod
    def of(cls, tables: Sequence[NoisyTable], clique: Clique, lookups: tuple[Lookup, ...]) -> Self:
        """Least squares over all tables. One of them must tell apart all codes of `lookups` together."""
        sizes = [int(lookup.max()) + 1 for lookup in lookups]
        parts = tuple(_part(table, clique, lookups) for table in tables)
        precision = _summed_precision([part.precision for part in parts], len(sizes))
        total = np.zeros([size + 1 for size in sizes])
        for part in parts:
            block = _components(part.counts, [axis for axis, two in enumerate(part.precision.shape) if two == 2])
            total[tuple(slice(size) for size in block.shape)] += block * _repeated(part.precision, part.counts.shape)
        counts = total / _repeated(precision, tuple(sizes))
        factors = 1 / precision
        for axis, size in enumerate(sizes):
            counts = _joined(counts, axis, size)
            out, into = (factors.take([side], axis) for side in (0, 1))
            factors = np.concatenate([out / size**2 - into / size, into], axis)
        return cls(clique, lookups, counts, factors, parts)


def estimates(tables: Sequence[NoisyTable], base: Domain, clique: Clique) -> tuple[Estimate, ...]:
    """What noisy tables say about a clique, once for each coarsening in which one of them holds all of it.

    Empty if no table holds all of it. Estimates share tables, so they are not independent of each other.
    """
    found: dict[bytes, tuple[Lookup, ...]] = {}
    for table in tables:
        axes = _axes(table.measurement)
        if all(name in axes for name in clique):
            lookups = tuple(_full(axes[name][1], base[name]) for name in clique)
            found.setdefault(b"|".join(lookup.tobytes() for lookup in lookups), lookups)
    small = [lookups for lookups in found.values() if prod(int(one.max()) + 2 for one in lookups) <= MOST_COMPONENTS]
    return tuple(Estimate.of(tables, clique, lookups) for lookups in small)


def held(table: NoisyTable, base: Domain) -> tuple[Clique, tuple[Lookup, ...]]:
    """The attributes of `base` that a table is over, and for each the lookup from its codes to the table's."""
    axes = _axes(table.measurement)
    clique = base.canonical(axes)
    return clique, tuple(_full(axes[name][1], base[name]) for name in clique)


def _axes(measurement: Measurement) -> dict[str, tuple[int, Lookup | None]]:
    """The axis of each attribute in a table, and the lookup of its codes; of two versions the finer one."""
    found: dict[str, tuple[int, Lookup | None]] = {}
    for axis, name in enumerate(measurement.clique):
        source, lookup = (name, None) if measurement.coding is None else measurement.coding.lookup(name)
        if source not in found or measurement.domain.shape[found[source][0]] < measurement.domain.shape[axis]:
            found[source] = axis, lookup
    return found


def _full(lookup: Lookup | None, size: int) -> Lookup:
    return np.arange(size) if lookup is None else np.asarray(lookup, dtype=np.int64)


def _part(table: NoisyTable, clique: Clique, lookups: tuple[Lookup, ...]) -> Part:
    """What a table says about the clique. Codes that would have unequal noise are summed over, and not told apart."""
    measurement = table.measurement
    axes = _axes(measurement)
    counts = np.asarray(measurement.marginal.counts, dtype=np.float64)
    held: list[int] = []
    precision = np.ones([1] * len(clique))
    coarse: list[Lookup | None] = []
    copies = 1
    for place, (name, lookup) in enumerate(zip(clique, lookups, strict=True)):
        axis, own = axes.get(name, (-1, None))
        to = None if axis < 0 else _coarsening(_full(own, len(lookup)), lookup)
        coarse.append(to)
        if to is None:
            continue
        held.append(axis)
        each = len(to) // (int(lookup.max()) + 1)
        copies *= each
        # A component without this attribute sums over all its codes, one with it over those that become one.
        sides = np.array([1 / len(to), 1 / each]).reshape([2 if one == place else 1 for one in range(len(clique))])
        precision = precision * sides
    rest = tuple(axis for axis in range(counts.ndim) if axis not in held)
    outside = prod(counts.shape[axis] for axis in rest)
    precision = precision / (measurement.variance * outside)
    counts = counts.sum(axis=rest)
    order = sorted(held)
    counts = np.transpose(counts, [order.index(axis) for axis in held])
    counts = counts.reshape([1 if to is None else len(to) for to in coarse])
    for axis, (to, lookup) in enumerate(zip(coarse, lookups, strict=True)):
        if to is not None and len(to) > lookup.max() + 1:
            summed = np.zeros((int(lookup.max()) + 1, *np.moveaxis(counts, axis, 0).shape[1:]))
            np.add.at(summed, to, np.moveaxis(counts, axis, 0))
            counts = np.moveaxis(summed, 0, axis)
    return Part(counts, precision, copies * outside, table.excess_kurtosis * measurement.variance**2)


def _coarsening(fine: Lookup, coarse: Lookup) -> Lookup | None:
    """From fine codes to coarse ones; None unless every coarse code stands for equally many fine ones."""
    to = np.zeros(int(fine.max()) + 1, dtype=np.int64)
    to[fine] = coarse
    if not np.array_equal(to[fine], coarse) or len(set(np.bincount(to).tolist())) > 1:
        return None
    return to


def _summed_precision(parts: Sequence[Array], attributes: int) -> Array:
    precision = np.zeros([2] * attributes)
    for one in parts:
        precision[tuple(slice(size) for size in one.shape)] += one
    return precision


def _components(counts: Array, axes: Sequence[int] | None = None) -> Array:
    """All components of a table in one array: along each axis first the sum, then the centred counts."""
    for axis in range(counts.ndim) if axes is None else axes:
        total = counts.sum(axis=axis, keepdims=True)
        counts = np.concatenate([total, counts - total / counts.shape[axis]], axis)
    return counts


def _joined(components: Array, axis: int, size: int) -> Array:
    """Counts of components, along one axis."""
    total, centred = np.split(components, [1], axis)
    return np.asarray(centred + total / size, dtype=np.float64)


def _repeated(sides: Array, sizes: Sequence[int]) -> Array:
    """One number for each set of attributes, as often as its component has numbers."""
    for axis, size in enumerate(sizes):
        if sides.shape[axis] == 2:
            sides = np.repeat(sides, [1, size], axis)
    return sides
