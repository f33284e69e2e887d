"""A coarser coding of the same columns: several codes become one, and can be split again at random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.coding import Coding, Merge
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.records import Codes, Records, code_type
from sfumato.errors import SchemaError


@dataclass(frozen=True, eq=False)
class Merging:
    """One column: `to[fine]` is the coarse code, and `weight[fine]` its share when the coarse code is split again."""

    to: NDArray[np.int64]
    weight: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.to.dtype.kind not in "iu" or not np.isfinite(self.weight).all():
            raise SchemaError("a merging must send codes to whole numbers, with finite weights")
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

    @classmethod
    def identity(cls, fine: Domain) -> Recoding:
        """Nothing is merged."""
        return cls(fine, tuple(map(Merging.identity, fine.shape)))

    @cached_property
    def domain(self) -> Domain:
        """The domain of the coarse codes."""
        return Domain([(name, merging.size) for name, merging in zip(self.fine.names, self.mergings, strict=True)])

    @property
    def step(self) -> Merge:
        """What a holder has to know of this: which codes become one, and nothing of how to split them again."""
        changed = zip(self.fine.names, self.mergings, strict=True)
        return Merge(tuple((name, tuple(one.to.tolist())) for name, one in changed if one.size < len(one.to)))

    def decode(self, records: Records, rng: np.random.Generator) -> Records:
        """Fine codes of coarse records: a merged code becomes one of its parts, in proportion to their weights."""
        pairs = zip(self.mergings, records.columns, strict=True)
        return Records(self.fine, (_split(merging, codes, rng) for merging, codes in pairs))

    def merge(self, measurement: Measurement) -> Measurement:
        """The measurement of the same columns in coarse codes; cells that absorb others keep the stated variance."""
        coding = Coding(self.fine).then(self.step)
        table = Measurement(coding.apply(measurement.marginal), measurement.variance, coding, measurement.event)
        if measurement.allowed is None:
            return table
        cells = coding.apply(Marginal(measurement.domain, measurement.allowed.astype(np.int64)))
        return table.knowing(cells.counts > 0)

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


def _split(merging: Merging, codes: Codes, rng: np.random.Generator) -> NDArray[np.integer]:
    """Fine codes of coarse ones. A coarse code that stands for one fine code needs no draw."""
    by_weight = np.argsort(merging.weight, kind="stable")
    heaviest = np.empty(merging.size, dtype=code_type(len(merging.to)))
    heaviest[merging.to[by_weight]] = by_weight  # the last one written is the heaviest
    fine: NDArray[np.integer] = heaviest[codes]
    several = np.bincount(merging.to, merging.weight > 0, merging.size) > 1
    rows = np.flatnonzero(several[codes])
    if len(rows):
        order = np.argsort(merging.to, kind="stable")
        mass = np.bincount(merging.to, merging.weight, merging.size)
        steps = np.cumsum((merging.weight / mass[merging.to])[order])
        base = codes[rows].astype(np.float64)
        # Every coarse code owns one unit of the line; round-off must not push a draw into its neighbour's unit.
        draws = np.minimum(base + rng.random(len(rows)), np.nextafter(base + 1, 0))
        fine[rows] = order[np.searchsorted(steps, draws, side="right").clip(max=len(order) - 1)]
    return fine
