"""Attributes: what is synthesised. Most are columns; the schema may recode several columns as one, or derive some.

`Attributes` turns codes of columns into codes of attributes and back. Both ways are public functions of one row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.records import Records
from sfumato.errors import DataError
from sfumato.intake.attribute_kinds import Attribute, Digit, Moving, Pattern, Plain, Recoded, bits, codes_of
from sfumato.schema.columns import Column, size_of
from sfumato.schema.derived import derived_codes, level_codes
from sfumato.schema.schema import Schema

Ints = NDArray[np.int64]


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
        return Domain([(column.name, codes_of(column)) for column in self.schema.columns])

    @cached_property
    def all(self) -> tuple[Attribute, ...]:
        """The attributes."""
        schema = self.schema
        found: list[Attribute] = [Recoded.of(one, _columns(schema, one.columns)) for one in schema.recode]
        found += [Moving.of(one, _columns(schema, one.columns)) for one in schema.together]
        inside = {column.name for attribute in found for column in attribute.columns}
        alone = [column for column in schema.columns if not (column.name in inside or column.derived)]
        found += [one for column in alone for one in (Digit.all_of(column) if schema.bitwise else [Plain.of(column)])]
        found += [Pattern.of(one, _columns(schema, one.columns)) for one in schema.missing_patterns]
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
                case Plain(name=name):
                    sources[name] = Source((name,), np.arange(attribute.size))
                case Recoded():
                    parts = np.unravel_index(np.arange(attribute.size), attribute.shape)
                    for column, codes in zip(attribute.columns, parts, strict=True):
                        sources[column.name] = Source((attribute.name,), codes)
                case Moving():
                    for column in attribute.columns:
                        sources[column.name] = _moving(attribute, column, patterns.get(column.name))
                case Digit(columns=(column,)):
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
        alone = [one.columns[0] for one in self.all if isinstance(one, Plain)]
        return {one.name: [level_codes(one, level) for level in one.levels] for one in alone if one.levels}

    def encode(self, records: Records) -> Records:
        """Codes of attributes of codes of columns."""
        return Records(self.domain, (attribute.encode(records) for attribute in self.all))

    def decode(self, records: Records) -> Records:
        """Codes of columns of codes of attributes."""
        if records.domain != self.domain:
            raise DataError(f"the codes are over {records.domain!r}; the schema has {self.domain!r}")
        sources = [self.sources[name] for name in self.columns]
        return Records(self.columns, (one.codes[tuple(records[name] for name in one.attributes)] for one in sources))

    def needed(self, columns: Iterable[str]) -> Clique:
        """The attributes from which these columns follow, in order."""
        return self.domain.canonical(name for column in columns for name in self.sources[column].attributes)


def _columns(schema: Schema, names: Iterable[str]) -> tuple[Column, ...]:
    return tuple(schema[name] for name in names)


def _spelled(column: Column) -> Source:
    """The code that digits spell, as `Bitwise` reads it."""
    digits = bits(column)
    every = np.indices(digits.domain.shape).reshape(len(digits.domain), -1)
    codes = digits.decode(Records(digits.domain, list(every)))[column.name]
    return Source(digits.domain.names, codes.astype(np.int64).reshape(digits.domain.shape))


def _moving(attribute: Moving, column: Column, pattern: Pattern | None) -> Source:
    """A column that moves with others has their value, unless the pattern says that it is missing."""
    missing = size_of(column)
    values = np.arange(attribute.size)  # the code for "all are missing" is that for missing in each column
    if pattern is None or not column.nullable:
        return Source((attribute.name,), values.clip(max=missing - (not column.nullable)))
    return Source(
        (attribute.name, pattern.name), np.where(pattern.missing(column.name)[None, :], missing, values[:, None])
    )
