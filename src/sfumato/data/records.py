"""Records: a coded table, one array of small unsigned integers per column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import cast

import numpy as np
from numpy.typing import NDArray

from sfumato import kernels
from sfumato.data.coding import Coding
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

    def __init__(self, domain: Domain, columns: Iterable[NDArray[np.integer]]):
        # Columns may come one by one: the wide codes of all of them at once would need eight times the memory.
        stored = [_narrow(name, size, column) for (name, size), column in _paired(domain, columns)]
        if len({len(column) for column in stored}) > 1:
            raise SchemaError("columns of codes have different lengths; all rows must be complete")
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "columns", tuple(stored))

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def __getitem__(self, name: str) -> Codes:
        return self.columns[self.domain.index(name)]

    def take(self, rows: NDArray[np.integer]) -> Records:
        """The rows at these positions, in this order."""
        return Records(self.domain, (column[rows] for column in self.columns))

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


def _paired(
    domain: Domain, columns: Iterable[NDArray[np.integer]]
) -> Iterator[tuple[tuple[str, int], NDArray[np.integer]]]:
    for item, column in zip_longest(domain.items(), columns):
        if item is None or column is None:
            raise SchemaError(f"too many or too few columns of codes were given; {domain!r} wants {len(domain)}")
        yield item, column


def _narrow(name: str, size: int, column: NDArray[np.integer]) -> Codes:
    """Codes of one column in the smallest type, checked and not to be changed any more."""
    if column.dtype.kind not in "iu" or column.ndim != 1:
        raise SchemaError(f"codes of column {name!r} must be a vector of integers")
    if len(column) and (int(column.min()) < 0 or int(column.max()) >= size):
        raise SchemaError(f"codes of column {name!r} must lie in 0 … {size - 1}")
    codes = np.array(column, dtype=code_type(size), order="C")
    codes.flags.writeable = False
    return cast(Codes, codes)


def coded(records: Records, coding: Coding) -> Records:
    """Rows in the codes of a coding whose base they are in."""
    sources = map(coding.lookup, coding.domain)
    return Records(
        coding.domain, (records[name] if lookup is None else lookup[records[name]] for name, lookup in sources)
    )
