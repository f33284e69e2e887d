"""Binary columns for methods that want them: every column becomes the binary digits of its codes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.records import Records


@dataclass(frozen=True)
class Bitwise:
    """A codec from a domain to binary digits, most significant first; a column of two codes stays as it is.

    A column of s codes has ceil(log2 s) digits. They can spell codes that the column does not have; `decode` takes the
    first digit away from such a code, which leaves one that it has, since a code without its first digit is below s.

    >>> Bitwise(Domain({"sex": 2, "race": 5})).domain.names
    ('sex', 'race bit 2', 'race bit 1', 'race bit 0')
    """

    fine: Domain

    def digits(self, column: str) -> Clique:
        """The names of the binary columns of a column, most significant first; none for a column of one code."""
        count = (self.fine[column] - 1).bit_length()
        return (column,) if count == 1 else tuple(f"{column} bit {place}" for place in reversed(range(count)))

    @cached_property
    def domain(self) -> Domain:
        """The binary columns."""
        return Domain([(name, 2) for column in self.fine for name in self.digits(column)])

    def encode(self, records: Records) -> Records:
        """The binary digits of every code."""
        columns: list[NDArray[np.integer]] = []
        for column in self.fine:
            places = range(len(self.digits(column)) - 1, -1, -1)
            columns += [records[column] >> place & 1 for place in places]
        return Records(self.domain, columns)

    def decode(self, records: Records, rng: np.random.Generator | None = None) -> Records:
        """The codes that binary digits spell. No randomness is needed; `rng` is there for all codecs to be alike."""
        columns = []
        for column, size in self.fine.items():
            codes = np.zeros(len(records), dtype=np.int64)
            names = self.digits(column)
            for name in names:
                codes = codes << 1 | records[name]
            first = 1 << len(names) - 1 if names else 0
            columns.append(np.where(codes < size, codes, codes - first))
        return Records(self.fine, columns)
