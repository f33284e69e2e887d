"""Whose row is it: rows that say so, and rows that do not."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import DataError


def identified(table: pa.Table, person: str, drop: bool) -> tuple[pa.Table, pa.Array]:
    """The rows that say whose they are, without the identifier, and whose they are.

    Rows without an identifier would count as one person all together: they are refused, or left out with `drop`.
    """
    check_person(table.column_names, person)
    identity = table.column(person)
    if pa.types.is_integer(identity.type):
        told = identity.is_valid()
    elif pa.types.is_string(identity.type) or pa.types.is_large_string(identity.type):
        told = pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(identity), ""), False)
    else:  # equal persons could have different floats, and different persons equal ones
        raise DataError(f"column {person!r} identifies persons and has type {identity.type}; give text or integers")
    if pc.all(told).as_py() is False:
        if not drop:
            raise nobody(person)
        table = table.filter(told)
    # One type in all parts of a table: in another part, a value of another type may have made text of all numbers.
    return table.drop_columns([person]), table.column(person).cast(pa.large_string()).combine_chunks()


def check_person(names: Sequence[str], person: str) -> None:
    """Refuse a table without the column that tells persons apart; the names of columns are public."""
    if person not in names:
        raise DataError(
            f"the table has no column {person!r}, which the schema names as its unit; it has {', '.join(names)}"
        )


def nobody(person: str) -> DataError:
    """The refusal of a row that does not say whose it is."""
    return DataError(
        f"column {person!r} identifies persons, and some row has nothing there that tells a person apart: it is "
        "missing, blank, or a number that floats cannot tell from others; give every row an identifier, as text"
    )
