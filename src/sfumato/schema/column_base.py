"""What every kind of column shares, and whom privacy protects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import lcm
from typing import Annotated, Any, Literal

from pydantic import Field, Strict, model_validator

from sfumato.schema.declaration import Declaration
from sfumato.schema.dtypes import DtypeName, name_problems
from sfumato.schema.features import Compress, Derived, Level
from sfumato.schema.fields import BadValue, DomainFrom, DomainSource, Flag, Name, Text, repetition

MOST_PARTED = 100
"""Of more rows of a person, shares of its 27,720 parts would be rounded too much."""


class Unit(Declaration):
    """Whom privacy protects: a person who owns at most `rows` rows, told apart by the identifier `column`.

    Of a person with more rows, `keep` says which are counted: a random choice, or the first or latest by `order_by`.
    `count` says what a table adds up to: rows, or persons. Then each of m rows of a person counts 1/m. `rows_from` says
    where the number of rows comes from, as `domain_from` does for a column.
    """

    rows: Annotated[int, Strict(), Field(ge=1)] = 1
    rows_from: DomainFrom = DomainSource.DECLARED
    column: Name | None = None
    keep: Literal["random", "first", "latest"] = "random"
    order_by: Name | None = None
    count: Literal["rows", "persons"] = "rows"

    @property
    def parts(self) -> int:
        """Into how many parts a person is cut where persons are counted.

        A multiple of every number of rows up to 12; of more rows each has its share rounded down, by 0.4 % at most.
        """
        return lcm(*range(1, min(self.rows, 12) + 1)) if self.count == "persons" else 1

    def problems(self) -> Iterator[str]:
        """Which keys do not go together."""
        if (self.keep == "random") != (self.order_by is None):
            yield "'keep' first or latest needs 'order_by', and no other does; give both or neither"
        if self.order_by is not None and self.column is None:
            yield "'keep' needs 'column', which tells whose rows they are"
        if self.count == "persons" and (self.column is None or self.rows > MOST_PARTED):
            yield f"'count' of persons needs 'column' and at most {MOST_PARTED} rows of a person; change these"


class ColumnBase(Declaration):
    """What all kinds of column have in common."""

    name: Name
    type: str
    nullable: Flag = False
    null_values: tuple[Text, ...] = ()
    on_bad_value: BadValue | None = None
    dtype: DtypeName | None = None
    domain_from: DomainFrom = DomainSource.DECLARED
    description: Text | None = None
    note: Text | None = None
    binned_from: dict[str, Any] | None = None
    compress: Compress | None = None
    joint_bins: Annotated[int, Strict(), Field(ge=1)] | None = None
    derived: Derived | None = None
    levels: tuple[Level, ...] = ()

    @property
    def is_ordered(self) -> bool:
        """Whether neighbouring codes of this column are alike."""
        return True

    @model_validator(mode="before")
    @classmethod
    def _default_null_values(cls, keys: Any) -> Any:
        if isinstance(keys, Mapping) and keys.get("nullable") is True and "null_values" not in keys:
            return {**keys, "null_values": [""]}
        return keys

    def problems(self) -> Iterator[str]:
        """What is wrong with this declaration; a problem may rely on those before it being absent."""
        if self.null_values and not self.nullable:
            yield "key 'null_values' needs a column that may be missing; set nullable to true or remove it"
        if self.nullable and not self.null_values:
            yield "key 'null_values' is empty; give the texts that stand for a missing value, or leave it out"
        if self.derived is not None and (self.compress is not None or self.joint_bins is not None):
            yield "key 'derived' makes the column cost nothing; remove 'compress' and 'joint_bins'"
        if self.joint_bins is not None and not self.is_ordered:
            yield "key 'joint_bins' merges neighbouring values; it needs a column with an order"
        yield from name_problems(self.dtype, self.type)
        yield from repetition("null_values", self.null_values)
        for token in self.null_values:
            if self.holds(token):
                yield (
                    f"key 'null_values' holds {token!r}, which is also a value of the column; "
                    "a text is either missing or a value"
                )

    def holds(self, text: str) -> bool:
        """Whether `text` is a value of the declared domain."""
        raise NotImplementedError
