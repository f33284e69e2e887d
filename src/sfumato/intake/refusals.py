"""Refusals of the way in: of a value, where the schema says so, and of a type that cannot be read safely.

A message names the column and never a value. It advises to give bad values a place, not to widen the schema: a schema
that was widened because a run was refused has been read off the data.
"""

from __future__ import annotations

import pyarrow as pa

from sfumato.errors import DataError
from sfumato.intake.marks import MISSING, OUTSIDE, UNDECLARED, words_of
from sfumato.schema.acceptance import copied_lists
from sfumato.schema.columns import Boolean, Categorical, Column, Date, Datetime, Integer
from sfumato.schema.fields import decimal_of
from sfumato.schema.schema import Schema
from sfumato.schema.spelling import EXACT, is_plain, spelled_decimal
from sfumato.tables.raw import is_number, type_name

_WANTED = {
    "integer": "a whole number",
    "number": "a finite number",
    "date": "a date",
    "datetime": "a moment",
    "boolean": "one of the declared values",
    "categorical": "one of the declared values",
}
_OBSERVING = (
    "To widen the schema because of this refusal is to read it off the data; "
    "whoever does so must set 'domain_from' to 'observed'"
)


def refusal(column: Column, mark: int, kind: pa.DataType) -> DataError:
    """The refusal of a value that has `mark`, in a column of an Arrow type."""
    problem, place = problem_of(column, mark, kind), place_of(column, mark)
    return DataError(
        f"column {column.name!r}: {problem}. Say what becomes of such values: {place} (docs/schema.md, Bad values), "
        f"or correct the table. {_OBSERVING}"
    )


def problem_of(column: Column, mark: int, kind: pa.DataType) -> str:
    """What is wrong with a value that has `mark`."""
    if mark == MISSING:
        return "a value is missing"
    if mark == UNDECLARED:
        return "a value is not among those declared"
    if mark == OUTSIDE and not isinstance(column, Categorical | Boolean):
        return f"a value lies outside min {column.min} and max {column.max}"
    wanted = _WANTED[column.type]
    if isinstance(column, Date | Datetime):
        wanted += f" in the format {' or '.join(map(repr, column.formats))}" if column.formats else " in ISO form"
    return f"a value is not {wanted} (the table has Arrow type {type_name(kind)})"


def place_of(column: Column, mark: int) -> str:
    """The keys that give bad values of this kind a place."""
    rest = "'on_bad_value'"
    if isinstance(column, Categorical):
        return f"'other' or {rest}"
    if mark == OUTSIDE:
        return f"'outside': 'clip' or {rest}"
    return f"'nullable' or {rest}" if mark == MISSING else rest


def check_lists(schema: Schema, rows: int) -> None:
    """Refuse observed categories that are nearly a copy of the column. This counts rows; the ledger says so."""
    copied = copied_lists(schema.columns, rows)
    if copied:
        raise DataError(
            f"the categories of {', '.join(copied)} were observed in the data, and there is one for every row or two: "
            "they are a copy of the column, and to publish them would publish its persons. Put the columns into "
            "'ignore', or declare their codes from a codebook"
        )


def check_type(column: Column, kind: pa.DataType) -> None:
    """Refuse numbers where the type has lost what the schema tells apart; this looks at no value."""
    if isinstance(column, Categorical | Boolean) and (is_number(kind) or pa.types.is_decimal(kind)):
        lost = [word for word in words_of(column) if not _survives(word, kind)]
        if lost:
            raise DataError(
                f"column {column.name!r}: the table has numbers ({kind}), which keep no leading or closing zeros, and "
                f"as floats no digits beyond 2^53; {lost[0]!r} is declared, so give the column as text, for example "
                "by the path of its CSV file or with dtype=str"
            )
    if isinstance(column, Integer) and pa.types.is_floating(kind) and max(-column.min, column.max) >= EXACT:
        raise DataError(
            f"column {column.name!r}: the table has floats, or integers that pandas turns into floats when one of them "
            "is missing; floats cannot tell whole numbers above 2^53 apart. Give the column as text or, in pandas, as "
            "'Int64'"
        )


def _survives(word: str, kind: pa.DataType) -> bool:
    """Whether a declared text is the spelling of itself as a number, or no number at all."""
    if pa.types.is_decimal(kind):
        number = decimal_of(word)
        return number is None or spelled_decimal(number) == word
    return is_plain(word, None if pa.types.is_integer(kind) else EXACT)
