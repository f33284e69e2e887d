"""Persons in SQL: whose row it is, and which rows of a person are counted.

Every query makes the same choice anew, for there is no table to keep one in. So the choice follows from a secret key
and from the codes of the person's own rows: rows go by the order that the schema names and then by a hash of key,
person, codes and copy. Rows of equal codes are told apart by their number among their like, and which of them has
which number does not matter. To whoever does not know the key it is a uniform choice, as that of `persons.kept` is.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from sfumato.engines.cases import Case
from sfumato.engines.dialects import BLANKS, Dialect, quoted
from sfumato.engines.persons import precedence
from sfumato.errors import MethodError
from sfumato.schema.columns import places_of
from sfumato.schema.schema import Schema

_BROKEN = "\ufffd"
"""Stands for bytes that are no text; different identifiers may have become equal there."""

_WHOLE, _TEXTS = "whole", ("text", "another type of text", "uuid")


@dataclass(frozen=True)
class PersonCases:
    """The rows of persons, for queries over a table whose column of identifiers is of this kind.

    Args:
        schema: names the column.
        kind: of the column, as `cases` names it.
        dialect: of the database.
        key: secret hexadecimal digits.
    """

    schema: Schema
    kind: str
    dialect: Dialect
    key: str

    def __post_init__(self) -> None:
        if self.kind != _WHOLE and self.kind not in _TEXTS:
            raise MethodError(
                f"column {self.schema.unit.column!r} identifies persons, and the database has it as {self.kind}; "
                "inside a database identifiers must be text, whole numbers or UUIDs: give engine 'spool'"
            )

    @property
    def person(self) -> str:
        """An expression that is equal in two rows if their identifiers are, byte by byte."""
        name = quoted(str(self.schema.unit.column), self.dialect)
        return name if self.kind == _WHOLE else self.dialect.text.format(f"CAST({name} AS text)")

    @property
    def counted(self) -> str:
        """What rows of `kept` count together."""
        return "SUM(weight)" if self.schema.unit.parts > 1 else "COUNT(*)"

    def told(self) -> tuple[str, list[Any]]:
        """What is true of a row that says whose it is, and the parameters in it."""
        name = quoted(str(self.schema.unit.column), self.dialect)
        if self.kind in self.dialect.strangers:
            own = f" AND NOT ({self.dialect.strangers[self.kind].format(name)})"
        else:
            own = ""
        if self.kind == _WHOLE:
            return f"({name} IS NOT NULL{own})", []
        if self.dialect.tells is not None:  # text that may be broken
            return f"({name} IS NOT NULL{own} AND {self.dialect.tells.format(name)})", []
        mark, person = self.dialect.mark, self.person
        return (
            f"({name} IS NOT NULL AND {self.dialect.trim}({person}, {mark}) <> '' AND strpos({person}, {mark}) = 0)",
            [BLANKS, _BROKEN],
        )

    def order(self, case: Case | None) -> tuple[str, list[Any]]:
        """Which rows of a person come first, by the coding of the column that orders them; and the parameters."""
        unit = self.schema.unit
        if unit.order_by is None or case is None:
            return "0", []
        return case.sql(unit.order_by, self.dialect, precedence(places_of(self.schema[unit.order_by]), unit.keep))

    def kept(self, coded: str, codes: list[str]) -> str:
        """The query `coded`, left with the rows that are counted, and `weight`: what each of them counts.

        It has the columns `person`, `priority`, and all `codes` of the row.
        """
        unit = self.schema.unit
        row = " || ',' || ".join([f"'{self.key}'", "CAST(person AS text)", *codes])
        again = self.dialect.hashed.format("own || ',' || copy")
        shares = " ".join(f"WHEN {rows} THEN {unit.parts // rows}" for rows in range(1, unit.rows))
        weight = f"CASE many {shares} ELSE {unit.parts // unit.rows} END" if unit.parts > 1 else "1"
        # Only codes, numbers and names of ours are in these.
        numbers = "ROW_NUMBER() OVER (PARTITION BY person, own) AS copy, COUNT(*) OVER (PARTITION BY person) AS many"
        place = f"ORDER BY priority, CASE WHEN copy = 1 THEN own ELSE {again} END"
        hashed = f"SELECT *, {self.dialect.hashed.format(row)} AS own FROM ({coded}) AS coded"  # noqa: S608
        copies = f"SELECT *, {numbers} FROM ({hashed}) AS hashed"  # noqa: S608
        ranked = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY person {place}) AS place FROM ({copies}) AS copies"  # noqa: S608
        return f"SELECT *, {weight} AS weight FROM ({ranked}) AS ranked WHERE place <= {unit.rows}"  # noqa: S608


def tells(value: bytes) -> bool:
    """Whether the bytes of an identifier tell a person apart; SQLite keeps any bytes as text."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return False
    return text.strip(BLANKS) != "" and _BROKEN not in text


def hashed(text: str) -> str:
    """What other databases have as a function of their own."""
    return sha256(text.encode()).hexdigest()


def key_of(words: np.ndarray[Any, np.dtype[np.uint64]]) -> str:
    """Random words as the key of a choice."""
    return "".join(f"{int(word):016x}" for word in words)
