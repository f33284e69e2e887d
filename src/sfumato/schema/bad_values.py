"""Bad values: what becomes of a value that the schema does not allow.

A value is bad if it cannot be read, lies outside the bounds, is not declared, or is missing where it may not be.
The keys `outside: clip` and `other` give two of these a place; `on_bad_value` says what happens to the rest:

- `refuse`: the run stops. That it did depends on the data.
- `missing`: it counts as missing; the column must be nullable.
- `other`: it counts as the label `other`, which the column must have.
- `clip`: outside the bounds it counts as the nearest bound, else as missing; the column must be nullable.

All but `refuse` need a place for every bad value, so no value can stop a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sfumato.schema.columns import Boolean, Categorical, Column
from sfumato.schema.fields import BadValue


def bad_value_problems(columns: Sequence[Column], default: BadValue) -> Iterator[str]:
    """Columns in which some bad value would have no place to go."""
    for column in columns:
        policy = column.on_bad_value or default
        whose = "key 'on_bad_value'" if column.on_bad_value else "key 'on_bad_value' of the schema"
        remedy = _lacking(column, policy)
        if remedy:
            yield f"column {column.name!r}: {whose} is {policy!r}, {remedy}"


def _lacking(column: Column, policy: BadValue) -> str | None:
    """What a column would need for a policy; None if it has all."""
    if policy == "other" and not (isinstance(column, Categorical) and column.other is not None):
        return "but the column has no label 'other'; set 'other' if it is categorical, or give it another policy"
    if policy == "clip" and isinstance(column, Categorical | Boolean):
        return "but the column has no bounds; give it another policy"
    if policy in ("missing", "clip") and not column.nullable:
        return "but the column may not be missing, so what cannot be read has no place; set nullable to true"
    return None
