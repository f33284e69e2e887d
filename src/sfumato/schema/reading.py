"""How a file is to be read: stated in the schema, and never inferred when rows are read.

What a reader infers from values, one row can decide for all others. So a draft looks once, a person confirms, and from
then on the schema says it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from sfumato.schema.declaration import Declaration
from sfumato.schema.fields import Flag, Name, Text, repetition

SEPARATORS = (",", ";", "\t", "|")
# In all but UTF-8 a byte is a letter, and the bytes of ASCII are those of ASCII: no byte of a row reaches another row.
ENCODINGS = ("utf-8", "cp1252", "latin-1", "iso8859-15", "cp1250", "iso8859-2", "cp1251", "cp850", "mac-roman")


class Reading(Declaration):
    """How a file holds a table; what is not said is as its ending says.

    Args:
        separator: what stands between the fields of a text file.
        encoding: of a text file.
        line_breaks: whether quoted fields may hold line breaks; then one quote too many can hide the rows after it.
        sheet: of an Excel file; the first one if it is not given.
    """

    separator: Literal[",", ";", "\t", "|"] | None = None
    encoding: Literal[
        "utf-8", "cp1252", "latin-1", "iso8859-15", "cp1250", "iso8859-2", "cp1251", "cp850", "mac-roman"
    ] = "utf-8"
    line_breaks: Flag = False
    sheet: Name | None = None


class Written(Declaration):
    """How the numbers of a column are written as text.

    Args:
        decimal: what stands before the decimals.
        thousands: what may stand between groups of three digits.
        signs: what may stand before or after a number and means nothing: a currency, a percent sign.
    """

    decimal: Literal[".", ","] = "."
    thousands: Literal[".", ",", " ", "'", "’", "\u00a0", "\u202f"] | None = None
    signs: tuple[Annotated[Text, Field(min_length=1, max_length=12)], ...] = ()

    def problems(self) -> Iterator[str]:
        """What is wrong with it."""
        if self.decimal == self.thousands:
            yield f"keys 'decimal' and 'thousands' are both {self.decimal!r}; give different signs"
        yield from repetition("signs", self.signs)
        for sign in self.signs:
            if sign != sign.strip() or any(letter.isdigit() or letter in "+-.,'" for letter in sign):
                yield f"key 'signs' holds {sign!r}; a sign has no digits, points, commas or blanks around it"
