"""Rule violations: what share of the rows of a table breaks a public rule.

Values inside a bin matter to a rule, so these functions read tables of values and not codes.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import DataError, SchemaError
from sfumato.schema.columns import Boolean, Categorical, Column, Date, Datetime
from sfumato.schema.periods import seconds_of
from sfumato.schema.rule_forms import Placed
from sfumato.schema.rules import Rule, rule_problems
from sfumato.tables.texts import either


def violations(table: pa.Table, rules: Sequence[Rule], columns: Sequence[Column]) -> tuple[float, ...]:
    """The share of rows that break each rule, from 0 to 1.

    "If, then" is broken where everything after "if" holds and something after "then" does not; a missing value holds
    only where null is listed. Comparisons and sums are broken only where all their values are there.

    Args:
        table: values with the natural types of the schema, as releases are sampled, or as text; a label that the column
            does not declare counts as missing.
        rules: public statements about these columns.
        columns: the columns of the schema.
    """
    for problem in rule_problems(rules, columns):
        raise SchemaError(problem)
    wanted = {name for rule in rules for name in rule.names}
    rows = {column.name: _placed(column, table) for column in columns if column.name in wanted}
    return tuple(float(rule.root.broken(rows).mean()) if len(table) else 0.0 for rule in rules)


def _placed(column: Column, table: pa.Table) -> Placed:
    if column.name not in table.column_names:
        raise DataError(f"the table lacks the column {column.name!r}, of which a rule speaks; add it")
    values = table.column(column.name).combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    try:
        numbers = _numbers(column, _without_tokens(column, values))
    except (ValueError, pa.ArrowNotImplementedError):  # whose own words may quote a value
        raise DataError(
            f"column {column.name!r}: a value cannot be read as {column.type}; give a table with typed columns"
        ) from None
    missing = numbers.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    return Placed(column, numbers.fill_null(0).to_numpy(zero_copy_only=False), missing)


def _without_tokens(column: Column, values: pa.Array) -> pa.Array:
    if not _is_text(values):
        return values
    tokens = pa.array(column.null_values, values.type)
    return either(pc.is_in(values, value_set=tokens), pa.scalar(None, values.type), values)


def _is_text(values: pa.Array) -> bool:
    return bool(pa.types.is_string(values.type) or pa.types.is_large_string(values.type))


def _numbers(column: Column, values: pa.Array) -> pa.Array:
    """The place of each value as a number, null where it is missing."""
    if isinstance(column, Categorical):
        texts = values.cast(pa.string())
        found = pc.index_in(texts, value_set=pa.array(column.labels, pa.string()))
        if column.other is None:
            return found
        return pc.if_else(pc.and_(found.is_null(), texts.is_valid()), column.labels.index(column.other), found)
    if isinstance(column, Boolean):
        if pa.types.is_boolean(values.type):
            return values.cast(pa.int64())
        texts = pa.array([*column.false_values, *column.true_values], pa.string())
        found = pc.index_in(values.cast(pa.string()), value_set=texts)
        return pc.greater_equal(found, len(column.false_values)).cast(pa.int64())
    if isinstance(column, Date | Datetime):
        if _is_text(values):
            texts = values.to_pylist()
            return pa.array([None if text is None else seconds_of(column.read(text)) for text in texts], pa.int64())
        return values.cast(pa.timestamp("s"), safe=False).cast(pa.int64())  # a fraction of a second is cut off
    return values if pa.types.is_integer(values.type) else values.cast(pa.float64())
