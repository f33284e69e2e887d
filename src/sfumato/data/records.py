"""Records: a coded table, one array of small unsigned integers per column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato import kernels
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.errors import SchemaError

Codes = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.uint32]


def code_type(size: int) -> type[np.uint8] | type[np.uint16] | type[np.uint32]:
    """The smallest unsigned type that can hold `size` different codes."""
    if size <= 1 << 8:
        return np.uint8
    return np.uint16 if size <= 1 << 16 else np.uint32


@dataclass(frozen=True, eq=False)
class Records:
    """Rows of codes, stored column by column; code `c` of a column lies in 0 … size - 1."""

    domain: Domain
    columns: tuple[Codes, ...]

    def __init__(self, domain: Domain, columns: Sequence[NDArray[np.integer]]):
        if len(columns) != len(domain):
            raise SchemaError(f"{len(columns)} columns of codes were given; {domain!r} wants {len(domain)}")
        if len({len(column) for column in columns}) > 1:
            raise SchemaError("columns of codes have different lengths; all rows must be complete")
        stored = []
        for (name, size), column in zip(domain.items(), columns, strict=True):
            if column.dtype.kind not in "iu" or column.ndim != 1:
                raise SchemaError(f"codes of column {name!r} must be a vector of integers")
            if len(column) and (int(column.min()) < 0 or int(column.max()) >= size):
                raise SchemaError(f"codes of column {name!r} must lie in 0 … {size - 1}")
            codes = np.array(column, dtype=code_type(size), order="C")
            codes.flags.writeable = False
            stored.append(codes)
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "columns", tuple(stored))

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def __getitem__(self, name: str) -> Codes:
        return self.columns[self.domain.index(name)]

    def take(self, rows: NDArray[np.integer]) -> Records:
        """The rows at these positions, in this order."""
        return Records(self.domain, [column[rows] for column in self.columns])

    def project(self, names: Iterable[str]) -> Marginal:
        """Exact counts over `names`. On private records only a holder may call this."""
        target = self.domain.project(names)
        if not target.names:
            return Marginal(target, np.array(len(self)))
        counts = kernels.count([self[name] for name in target.names], target.shape)
        return Marginal(target, counts.reshape(target.shape))

    def __repr__(self) -> str:
        # The number of rows is private when the records are: never print it.
        return f"Records({self.domain!r})"
