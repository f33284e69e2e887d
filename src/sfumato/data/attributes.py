"""Attributes: what is synthesised. Most are columns; the schema may recode several columns as one, or derive some.

`Attributes` turns codes of columns into codes of attributes and back. Both ways are public functions of one row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.data.bitwise import Bitwise
from sfumato.data.columns import Column, size_of
from sfumato.data.deriving import derived_codes, level_codes
from sfumato.data.domain import Clique, Domain
from sfumato.data.engineering import Compress, MissingPattern, Recode, Together
from sfumato.data.records import Records
from sfumato.data.schema import Schema
from sfumato.errors import DataError

Ints = NDArray[np.int64]


class Attribute(Protocol):
    """One column of what is synthesised.

    `ordered` is how many of its first codes have an order; `compress` and `joint_bins` are what the schema asks for.
    """

    @property
    def name(self) -> str:
        """Its name, which no other attribute or column has."""
        ...

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that it is made of."""
        ...

    @property
    def size(self) -> int:
        """Its number of codes."""
        ...

    @property
    def ordered(self) -> int:
        """How many of its first codes have an order."""
        ...

    @property
    def compress(self) -> Compress | None:
        """Whether rare codes are merged whatever the method does."""
        ...

    @property
    def joint_bins(self) -> int | None:
        """Into how many runs the ordered codes are cut in tables with other attributes."""
        ...

    def encode(self, records: Records) -> NDArray[np.integer]:
        """The codes of rows of columns."""
        ...


@dataclass(frozen=True)
class Plain:
    """A column by itself."""

    column: Column

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column.name

    @property
    def columns(self) -> tuple[Column, ...]:
        """The column."""
        return (self.column,)

    @property
    def size(self) -> int:
        """The codes of the column, and one for missing if it may be."""
        return size_of(self.column) + self.column.nullable

    @property
    def ordered(self) -> int:
        """All codes but that for missing, if the column has an order."""
        return size_of(self.column) if self.column.is_ordered else 0

    @property
    def compress(self) -> Compress | None:
        """What the column asks for."""
        return self.column.compress

    @property
    def joint_bins(self) -> int | None:
        """What the column asks for."""
        return self.column.joint_bins

    def encode(self, records: Records) -> NDArray[np.integer]:
        """The codes of the column."""
        return records[self.column.name]


@dataclass(frozen=True)
class Recoded:
    """Several columns as one: a code for each combination, the last column changing fastest."""

    declared: Recode
    columns: tuple[Column, ...]
    ordered: int = 0
    joint_bins: int | None = None

    @property
    def name(self) -> str:
        """The name that the schema gives."""
        return self.declared.name

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of codes of each column."""
        return tuple(size_of(column) + column.nullable for column in self.columns)

    @property
    def size(self) -> int:
        """The number of combinations."""
        return prod(self.shape)

    @property
    def compress(self) -> Compress | None:
        """Rare combinations are always merged."""
        return self.declared.compress

    def encode(self, records: Records) -> NDArray[np.integer]:
        """The number of each row's combination."""
        return np.ravel_multi_index([records[column.name] for column in self.columns], self.shape)


@dataclass(frozen=True)
class Moving:
    """Columns that move together: the first value of a row that is not missing stands for all of them."""

    declared: Together
    columns: tuple[Column, ...]

    @property
    def name(self) -> str:
        """The name that the schema gives."""
        return self.declared.name

    @property
    def size(self) -> int:
        """The codes of one column, and one for rows in which all are missing, if that may be."""
        return size_of(self.columns[0]) + all(column.nullable for column in self.columns)

    @property
    def ordered(self) -> int:
        """As the columns are."""
        return Plain(self.columns[0]).ordered

    @property
    def compress(self) -> Compress | None:
        """What the first column asks for."""
        return self.columns[0].compress

    @property
    def joint_bins(self) -> int | None:
        """What the first column asks for."""
        return self.columns[0].joint_bins

    def encode(self, records: Records) -> NDArray[np.integer]:
        """The first code of each row that is not missing."""
        missing = size_of(self.columns[0])
        codes = records[self.columns[0].name].astype(np.int64)
        for column in self.columns[1:]:
            codes = np.where(codes == missing, records[column.name], codes)
        return codes


@dataclass(frozen=True)
class Pattern:
    """Which columns are missing: bit i of the code is set if column i is."""

    declared: MissingPattern
    columns: tuple[Column, ...]
    ordered: int = 0
    joint_bins: int | None = None

    @property
    def name(self) -> str:
        """The name that the schema gives."""
        return self.declared.name

    @property
    def size(self) -> int:
        """The number of patterns."""
        return 1 << len(self.columns)

    @property
    def compress(self) -> Compress | None:
        """Rare patterns are always merged."""
        return self.declared.compress

    def encode(self, records: Records) -> NDArray[np.integer]:
        """The pattern of each row."""
        codes = np.zeros(len(records), dtype=np.int64)
        for place, column in enumerate(self.columns):
            codes |= (records[column.name] == size_of(column)).astype(np.int64) << place
        return codes

    def missing(self, name: str) -> NDArray[np.bool_]:
        """In which patterns a column is missing."""
        place = [column.name for column in self.columns].index(name)
        return np.asarray((np.arange(self.size) >> place) & 1, dtype=np.bool_)


@dataclass(frozen=True)
class Digit:
    """One binary digit of the codes of a column; digit 0 is the last one."""

    column: Column
    name: str
    place: int
    size: int = 2
    ordered: int = 0
    compress: Compress | None = None
    joint_bins: int | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """The column."""
        return (self.column,)

    def encode(self, records: Records) -> NDArray[np.integer]:
        """The digit of each row's code."""
        return records[self.column.name] >> self.place & 1


@dataclass(frozen=True, eq=False)
class Source:
    """How a column follows from attributes: its code is `codes[their codes]`."""

    attributes: Clique
    codes: Ints


@dataclass(frozen=True)
class Attributes:
    """The attributes of a schema, in the order of their first columns, and how columns follow from them."""

    schema: Schema

    @cached_property
    def columns(self) -> Domain:
        """The domain of the columns."""
        return Domain([(column.name, size_of(column) + column.nullable) for column in self.schema.columns])

    @cached_property
    def all(self) -> tuple[Attribute, ...]:
        """The attributes."""
        schema = self.schema
        found: list[Attribute] = [Recoded(one, _columns(schema, one.columns)) for one in schema.recode]
        found += [Moving(one, _columns(schema, one.columns)) for one in schema.together]
        inside = {column.name for attribute in found for column in attribute.columns}
        alone = [column for column in schema.columns if not (column.name in inside or column.derived)]
        found += [one for column in alone for one in (_digits(column) if schema.bitwise else [Plain(column)])]
        found += [Pattern(one, _columns(schema, one.columns)) for one in schema.missing_patterns]
        places = {name: place for place, name in enumerate(schema.names)}
        return tuple(sorted(found, key=lambda attribute: min(places[column.name] for column in attribute.columns)))

    @cached_property
    def domain(self) -> Domain:
        """The domain of the attributes."""
        return Domain([(attribute.name, attribute.size) for attribute in self.all])

    @cached_property
    def sources(self) -> dict[str, Source]:
        """Where each column comes from."""
        patterns = {column.name: one for one in self.all if isinstance(one, Pattern) for column in one.columns}
        sources: dict[str, Source] = {}
        for attribute in self.all:
            match attribute:
                case Plain(column):
                    sources[column.name] = Source((column.name,), np.arange(attribute.size))
                case Recoded():
                    parts = np.unravel_index(np.arange(attribute.size), attribute.shape)
                    for column, codes in zip(attribute.columns, parts, strict=True):
                        sources[column.name] = Source((attribute.name,), codes)
                case Moving():
                    for column in attribute.columns:
                        sources[column.name] = _moving(attribute, column, patterns.get(column.name))
                case Digit(column):
                    sources[column.name] = _spelled(column)
        for column in self.schema.columns:
            if column.derived:
                origin = self.schema[column.derived.of]
                source = sources[origin.name]
                sources[column.name] = Source(source.attributes, derived_codes(column, origin)[source.codes])
        return sources

    @property
    def parts(self) -> tuple[Clique, ...]:
        """The groups of attributes that are synthesised apart; all attributes in one group if the schema has none."""
        groups = [set(names) for names in self.schema.apart]
        taken = [[one.name for one in self.all if one.columns[0].name in group] for group in groups]
        rest = [name for name in self.domain if not any(name in group for group in taken)]
        return tuple(tuple(group) for group in (*taken, rest) if group)

    @property
    def levels(self) -> dict[str, list[Ints]]:
        """The coarser versions of attributes that are columns by themselves."""
        alone = [one.column for one in self.all if isinstance(one, Plain)]
        return {one.name: [level_codes(one, level) for level in one.levels] for one in alone if one.levels}

    def encode(self, records: Records) -> Records:
        """Codes of attributes of codes of columns."""
        return Records(self.domain, [attribute.encode(records) for attribute in self.all])

    def decode(self, records: Records) -> Records:
        """Codes of columns of codes of attributes."""
        if records.domain != self.domain:
            raise DataError(f"the codes are over {records.domain!r}; the schema has {self.domain!r}")
        sources = [self.sources[name] for name in self.columns]
        return Records(self.columns, [one.codes[tuple(records[name] for name in one.attributes)] for one in sources])

    def needed(self, columns: Iterable[str]) -> Clique:
        """The attributes from which these columns follow, in order."""
        return self.domain.canonical(name for column in columns for name in self.sources[column].attributes)


def _columns(schema: Schema, names: Iterable[str]) -> tuple[Column, ...]:
    return tuple(schema[name] for name in names)


def _digits(column: Column) -> list[Attribute]:
    """The digits of a column, most significant first; a column of one or two codes stays as it is."""
    names = _bits(column).domain.names
    if len(names) < 2:
        return [Plain(column)]
    return [Digit(column, name, place) for name, place in zip(names, reversed(range(len(names))), strict=True)]


def _spelled(column: Column) -> Source:
    """The code that digits spell, as `Bitwise` reads it."""
    bits = _bits(column)
    every = np.indices(bits.domain.shape).reshape(len(bits.domain), -1)
    codes = bits.decode(Records(bits.domain, list(every)))[column.name]
    return Source(bits.domain.names, codes.astype(np.int64).reshape(bits.domain.shape))


def _bits(column: Column) -> Bitwise:
    return Bitwise(Domain({column.name: size_of(column) + column.nullable}))


def _moving(attribute: Moving, column: Column, pattern: Pattern | None) -> Source:
    """A column that moves with others has their value, unless the pattern says that it is missing."""
    missing = size_of(column)
    values = np.arange(attribute.size)  # the code for "all are missing" is that for missing in each column
    if pattern is None or not column.nullable:
        return Source((attribute.name,), values.clip(max=missing - (not column.nullable)))
    return Source(
        (attribute.name, pattern.name), np.where(pattern.missing(column.name)[None, :], missing, values[:, None])
    )
