"""A coarser coding of the same columns: several codes become one, and can be split again at random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.records import Records
from sfumato.errors import SchemaError


@dataclass(frozen=True, eq=False)
class Merging:
    """One column: `to[fine]` is the coarse code, and `weight[fine]` its share when the coarse code is split again."""

    to: NDArray[np.int64]
    weight: NDArray[np.float64]

    def __post_init__(self) -> None:
        coarse = int(self.to.max()) + 1
        if set(np.unique(self.to)) != set(range(coarse)) or len(self.to) != len(self.weight):
            raise SchemaError("a merging must send its codes to 0, 1, 2, … without a gap, and weigh each of them")
        if self.weight.min() < 0 or (np.bincount(self.to, self.weight, coarse) <= 0).any():
            raise SchemaError("a merging must give every merged code some weight, and none a negative one")

    @classmethod
    def identity(cls, size: int) -> Merging:
        """Nothing is merged."""
        return cls(np.arange(size), np.ones(size))

    @property
    def size(self) -> int:
        """Number of coarse codes."""
        return int(self.to.max()) + 1


@dataclass(frozen=True, eq=False)
class Recoding:
    """A merging for every column of a domain."""

    fine: Domain
    mergings: tuple[Merging, ...]

    @property
    def domain(self) -> Domain:
        """The domain of the coarse codes."""
        return Domain([(name, merging.size) for name, merging in zip(self.fine.names, self.mergings, strict=True)])

    def encode(self, records: Records) -> Records:
        """Coarse codes of fine records."""
        return Records(self.domain, [m.to[codes] for m, codes in zip(self.mergings, records.columns, strict=True)])

    def decode(self, records: Records, rng: np.random.Generator) -> Records:
        """Fine codes of coarse records: a merged code becomes one of its parts, in proportion to their weights."""
        columns = []
        for merging, codes in zip(self.mergings, records.columns, strict=True):
            order = np.argsort(merging.to, kind="stable")
            mass = np.bincount(merging.to, merging.weight, merging.size)
            steps = np.cumsum((merging.weight / mass[merging.to])[order])
            base = np.arange(merging.size)
            # Every coarse code owns one unit of the line; round-off must not push a draw into its neighbour's unit.
            draws = np.minimum(base[codes] + rng.random(len(codes)), np.nextafter(base + 1, 0)[codes])
            columns.append(order[np.searchsorted(steps, draws, side="right").clip(max=len(order) - 1)])
        return Records(self.fine, columns)

    def merge(self, measurement: Measurement) -> Measurement:
        """The measurement of the same columns in coarse codes; cells that absorb others keep the stated variance."""
        counts = np.asarray(measurement.marginal.counts, dtype=np.float64)
        for axis, name in enumerate(measurement.clique):
            merging = self.mergings[self.fine.index(name)]
            merged = np.zeros((merging.size, *np.moveaxis(counts, axis, 0).shape[1:]))
            np.add.at(merged, merging.to, np.moveaxis(counts, axis, 0))
            counts = np.moveaxis(merged, 0, axis)
        return Measurement(Marginal(self.domain.project(measurement.clique), counts), measurement.variance)

    def coarsen(self, name: str, level: NDArray[np.int64]) -> NDArray[np.int64]:
        """A coarser version of a column, from its codes to its merged codes: that of the heaviest part of each."""
        merging = self.mergings[self.fine.index(name)]
        order = np.argsort(merging.weight, kind="stable")
        heaviest = np.empty(merging.size, dtype=np.int64)
        heaviest[merging.to[order]] = level[order]  # the last one written is the heaviest
        return np.unique(heaviest, return_inverse=True)[1].astype(np.int64)

    def to_dict(self) -> dict[str, Any]:
        """This recoding as JSON: only columns in which something is merged."""
        return {
            name: {"to": merging.to.tolist(), "weight": merging.weight.tolist()}
            for name, merging in zip(self.fine.names, self.mergings, strict=True)
            if merging.size < len(merging.to)
        }

    @classmethod
    def from_dict(cls, fine: Domain, record: Mapping[str, Any]) -> Recoding:
        """Read a recoding back from JSON."""
        mergings = []
        for name, size in fine.items():
            if name not in record:
                mergings.append(Merging.identity(size))
                continue
            merging = Merging(np.array(record[name]["to"]), np.array(record[name]["weight"], dtype=np.float64))
            if len(merging.to) != size:
                raise SchemaError(f"column {name!r} has {size} codes, but its merging speaks of {len(merging.to)}")
            mergings.append(merging)
        return cls(fine, tuple(mergings))
