"""The kinds of attribute: what is synthesised as one column, and how its codes follow from those of columns."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.intake.bitwise import Bitwise
from sfumato.schema.columns import Column, ordered_size, size_of
from sfumato.schema.features import Compress, MissingPattern, Recode, Together

Codes = NDArray[np.integer]


@dataclass(frozen=True)
class Attribute:
    """One column of what is synthesised.

    Args:
        name: which no other attribute has, and no column but itself.
        columns: the columns that it is made of.
        size: its number of codes.
        ordered: how many of its first codes have an order.
        compress: whether rare codes are merged whatever the method does.
        joint_bins: into how many runs the ordered codes are cut in tables with other attributes.
    """

    name: str
    columns: tuple[Column, ...]
    size: int
    ordered: int = 0
    compress: Compress | None = None
    joint_bins: int | None = None

    def encode(self, records: Records) -> Codes:
        """The codes of rows of columns."""
        raise NotImplementedError


class Plain(Attribute):
    """A column by itself: its codes, and one for missing if it may be."""

    @classmethod
    def of(cls, column: Column) -> Plain:
        """The attribute of a column."""
        return cls(column.name, (column,), codes_of(column), ordered_size(column), column.compress, column.joint_bins)

    def encode(self, records: Records) -> Codes:
        """The codes of the column."""
        return records[self.name]


class Recoded(Attribute):
    """Several columns as one: a code for each combination, the last column changing fastest; rare ones are merged."""

    @classmethod
    def of(cls, declared: Recode, columns: tuple[Column, ...]) -> Recoded:
        """The attribute of a group of columns."""
        return cls(declared.name, columns, prod(map(codes_of, columns)), compress=declared.compress)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of codes of each column."""
        return tuple(map(codes_of, self.columns))

    def encode(self, records: Records) -> Codes:
        """The number of each row's combination."""
        return np.ravel_multi_index([records[column.name] for column in self.columns], self.shape)


class Moving(Attribute):
    """Columns that move together: the first value of a row that is not missing stands for all of them.

    There is one code more, for rows in which all are missing, if that may be.
    """

    @classmethod
    def of(cls, declared: Together, columns: tuple[Column, ...]) -> Moving:
        """The attribute of columns whose codes are alike; what the first one asks for counts."""
        first = Plain.of(columns[0])
        size = size_of(columns[0]) + all(column.nullable for column in columns)
        return cls(declared.name, columns, size, first.ordered, first.compress, first.joint_bins)

    def encode(self, records: Records) -> Codes:
        """The first code of each row that is not missing."""
        missing = size_of(self.columns[0])
        codes = records[self.columns[0].name].astype(np.int64)
        for column in self.columns[1:]:
            codes = np.where(codes == missing, records[column.name], codes)
        return codes


class Pattern(Attribute):
    """Which columns are missing: bit i of the code is set if column i is; rare patterns are merged."""

    @classmethod
    def of(cls, declared: MissingPattern, columns: tuple[Column, ...]) -> Pattern:
        """The attribute of columns that may be missing."""
        return cls(declared.name, columns, 1 << len(columns), compress=declared.compress)

    def encode(self, records: Records) -> Codes:
        """The pattern of each row."""
        codes = np.zeros(len(records), dtype=np.int64)
        for place, column in enumerate(self.columns):
            codes |= (records[column.name] == size_of(column)).astype(np.int64) << place
        return codes

    def missing(self, name: str) -> NDArray[np.bool_]:
        """In which patterns a column is missing."""
        place = [column.name for column in self.columns].index(name)
        return np.asarray((np.arange(self.size) >> place) & 1, dtype=np.bool_)


class Digit(Attribute):
    """One binary digit of the codes of a column, as `Bitwise` names and orders them."""

    @classmethod
    def all_of(cls, column: Column) -> list[Attribute]:
        """The digits of a column, most significant first; a column of one or two codes stays as it is."""
        names = bits(column).domain.names
        return [cls(name, (column,), 2) for name in names] if len(names) > 1 else [Plain.of(column)]

    def encode(self, records: Records) -> Codes:
        """The digit of each row's code."""
        names = bits(self.columns[0]).domain.names
        return records[self.columns[0].name] >> (len(names) - 1 - names.index(self.name)) & 1


def codes_of(column: Column) -> int:
    """The number of codes of a column, with that for missing if it has one."""
    return size_of(column) + column.nullable


def bits(column: Column) -> Bitwise:
    """The binary digits of a column."""
    return Bitwise(Domain({column.name: codes_of(column)}))
