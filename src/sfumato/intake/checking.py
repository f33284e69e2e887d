"""All bad values of a table at once, for its steward: which columns, why, and in which rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.intake.codec import check_names
from sfumato.intake.marks import MISSING, UNDECLARED, UNREADABLE, marked_codes
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
    """

    column: str
    words: str
    rows: NDArray[np.int64]
    stops: bool = True


def problems(table: pa.Table, schema: Schema) -> Iterator[Problem]:
    """Everything that is wrong with a table; nothing of it is measured, and no word quotes a value."""
    check_names(table.column_names, schema)
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
