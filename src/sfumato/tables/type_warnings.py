"""Warnings about the types of a table. They look at the schema and the types alone, never at a value.

The type of a column may itself depend on values, if a reader of text guessed it. We cannot see that; we can say so.
"""

from __future__ import annotations

import warnings

import pyarrow as pa

from sfumato.errors import IntakeWarning
from sfumato.schema.columns import Boolean, Categorical, Column, Date, Datetime
from sfumato.schema.schema import Schema
from sfumato.tables.raw import MIXED, is_number, is_text, type_name

_TRUTH = {"true", "True", "TRUE", "false", "False", "FALSE"}


def warn_of_types(types: pa.Schema, schema: Schema, guessed: bool) -> None:
    """Warn of columns whose type may have been guessed from values, and of those that no value can be read from."""
    kinds = {field.name: _value_type(field.type) for field in types}
    person = schema.unit.column
    doubtful = [one.name for one in schema.columns if one.name in kinds and _may_be_guessed(one, kinds[one.name])]
    doubtful += [person] if person is not None and is_number(kinds.get(person, pa.null())) else []
    if guessed and doubtful:
        _warn(
            f"the data frame has numbers or truth values in {', '.join(doubtful)}, where the schema has labels or "
            "identifiers. If a reader of text guessed that type from the values, one row can have decided it for all "
            "others (leading zeros are lost, TRUE becomes True), and the guarantee does not hold. Then give the path "
            "of the file instead, or read it with dtype=str"
        )
    useless = [
        f"{one.name} ({type_name(kinds[one.name])})"
        for one in schema.columns
        if one.name in kinds and schema.policy(one) != "refuse" and not _is_readable(one, kinds[one.name])
    ]
    if useless:
        _warn(
            f"no value of {', '.join(useless)} can be read as the schema declares it, so all of them count as bad "
            "values; convert the columns, or change their declaration"
        )


def _warn(text: str) -> None:
    warnings.warn(text, IntakeWarning, stacklevel=7)  # the line that called `fit`


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _may_be_guessed(column: Column, kind: pa.DataType) -> bool:
    if not isinstance(column, Categorical | Boolean):
        return False
    if pa.types.is_boolean(kind):
        # A declared truth value in every spelling that readers know has nothing to lose.
        return isinstance(column, Categorical) or not {*column.true_values, *column.false_values} >= _TRUTH
    return is_number(kind)


def _is_readable(column: Column, kind: pa.DataType) -> bool:
    """Whether some value of an Arrow type could be read as the declared kind."""
    number = is_number(kind) or pa.types.is_decimal(kind)
    if is_text(kind) or kind == MIXED or pa.types.is_null(kind):
        return True
    if isinstance(column, Categorical | Boolean):
        return number or pa.types.is_boolean(kind)
    if isinstance(column, Date | Datetime):
        # pandas has floats where there is no value at all.
        moment = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
        moment = moment or (pa.types.is_time(kind) and bool(column.formats))
        return moment or pa.types.is_floating(kind) or (number and bool(column.formats))
    return number
