"""All bad values of a table at once, for its steward: which columns, why, and in which rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.records import Records
from sfumato.errors import DataError
from sfumato.intake.codec import SchemaCodec, check_names
from sfumato.intake.marks import MISSING, UNDECLARED, UNREADABLE, marked_codes
from sfumato.intake.obedience import Obedience
from sfumato.intake.refusals import check_type, place_of, problem_of
from sfumato.schema.columns import Boolean, Categorical
from sfumato.schema.schema import Schema
from sfumato.tables.raw import plain


@dataclass(frozen=True, eq=False)
class Problem:
    """Values of one column that are bad for one reason.

    Args:
        column: the column.
        words: what is wrong and what to do, without a value.
        rows: where they are, counted from 0; empty for what is wrong with the column as a whole.
        stops: whether such a value stops a run.
        others: the other columns of a rule that these rows break.
    """

    column: str
    words: str
    rows: NDArray[np.int64]
    stops: bool = True
    others: tuple[str, ...] = ()


def problems(table: pa.Table, schema: Schema) -> Iterator[Problem]:
    """Everything that is wrong with a table; nothing of it is measured, and no word quotes a value."""
    check_names(table.column_names, schema)
    stopped = False
    for one in _value_problems(table, schema):
        stopped |= one.stops
        yield one
    if schema.rules and not stopped:  # a row whose values have no place has no codes either
        yield from _rule_problems(SchemaCodec(schema).encode(table), schema)


def _rule_problems(columns: Records, schema: Schema) -> Iterator[Problem]:
    """The rows that break each rule, in their codes."""
    obedience = Obedience(schema)
    refused = obedience.placed(columns).broken
    for number, broken in obedience.broken_rules({name: columns[name] for name in columns.domain}):
        rule = schema.rules[number - 1]
        for stops, rows in ((True, broken & refused), (False, broken & ~refused)):
            if rows.any():
                words = f"rule number {number}, {str(rule)!r}: a row breaks it"
                words += (
                    "; give such rows a place with 'on_bad_value' of a column that it speaks of, other than 'refuse'"
                    if stops
                    else "; it counts with other values (docs/rules.md, Rows that break a rule)"
                )
                yield Problem(rule.names[0], words, np.flatnonzero(rows), stops, rule.names[1:])


def _value_problems(table: pa.Table, schema: Schema) -> Iterator[Problem]:
    for column in schema.columns:
        values = plain(table.column(column.name))
        try:
            check_type(column, values.type)
        except DataError as problem:
            yield Problem(column.name, str(problem), np.zeros(0, np.int64))
            continue
        policy = schema.policy(column)
        clip = not isinstance(column, Categorical | Boolean) and "clip" in (policy, column.outside)
        codes = marked_codes(column, values, clip)
        taken = {MISSING} if column.nullable else set()
        if isinstance(column, Categorical) and column.other is not None:
            taken |= {UNDECLARED, UNREADABLE}
        for mark in sorted(set(np.unique(codes[codes < 0]).tolist()) - taken, reverse=True):
            words = f"column {column.name!r}: {problem_of(column, mark, values.type)}"
            stops = policy == "refuse"
            words += (
                f"; give such values a place with {place_of(column, mark)}" if stops else f"; it counts as {policy}"
            )
            yield Problem(column.name, words, np.flatnonzero(codes == mark), stops)
