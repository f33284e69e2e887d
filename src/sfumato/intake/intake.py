"""Intake: a batch of raw rows becomes codes of attributes. Public functions of one row, nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.intake.attributes import Attributes
from sfumato.intake.codec import SchemaCodec
from sfumato.intake.obedience import Obedience
from sfumato.intake.persons import identified
from sfumato.schema.columns import places_of
from sfumato.schema.schema import Schema


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows in codes.

    Args:
        records: their codes.
        persons: whose rows they are; None where the schema names no identifier.
        order: the code of the column that orders a person's rows, -1 where it is missing; None where the schema names
            no such column.
    """

    records: Records
    persons: pa.Array | None = None
    order: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Intake:
    """From raw rows to codes of attributes, as a schema says."""

    schema: Schema

    @cached_property
    def _codec(self) -> SchemaCodec:
        return SchemaCodec(self.schema)

    @cached_property
    def _attributes(self) -> Attributes:
        return Attributes(self.schema)

    @cached_property
    def _obedience(self) -> Obedience:
        return Obedience(self.schema)

    @property
    def domain(self) -> Domain:
        """The attributes, with a number of codes each."""
        return self._attributes.domain

    def encode(self, table: pa.Table) -> Rows:
        """The codes of some rows; a row that the schema refuses is a DataError that names its column or its rule."""
        unit = self.schema.unit
        persons = None
        if unit.column is not None:
            table, persons = identified(table, unit.column, drop=self.schema.default_policy != "refuse")
        columns = self._codec.encode(table)
        if self.schema.rules:
            columns = self._obedience.require(columns)
        return Rows(self._attributes.encode(columns), persons, self._order(columns))

    def _order(self, columns: Records) -> NDArray[np.int64] | None:
        if self.schema.unit.order_by is None:
            return None
        return places_of(self.schema[self.schema.unit.order_by])[columns[self.schema.unit.order_by]]
