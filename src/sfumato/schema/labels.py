"""Readable names for the codes of a column."""

from __future__ import annotations

from itertools import pairwise

from sfumato.schema.columns import Boolean, Categorical, Column, Date, Datetime, Integer, Number
from sfumato.schema.periods import moment_of, start_of

MISSING = "(missing)"


def labels(column: Column) -> list[str]:
    """One label for each code of a column: a value, a range of values, or `(missing)` last."""
    match column:
        case Categorical():
            names = list(column.labels)
        case Boolean():
            names = ["false", "true"]
        case Integer():
            starts = column.binning().starts.tolist()
            names = [str(a) if b - a == 1 else f"{a} … {b - 1}" for a, b in pairwise(starts)]
        case Number():
            edges = [f"{edge:.15g}" for edge in column.binning().edges.tolist()]
            names = [f"[{a}, {b})" for a, b in pairwise(edges)]
            names[-1] = names[-1][:-1] + "]"
        case Date() | Datetime():
            starts = start_of(column.binning().starts, column.granularity).tolist()
            cut = 10 if isinstance(column, Date) else None
            names = [f"from {moment_of(start).isoformat()[:cut]}" for start in starts[:-1]]
    return [*names, MISSING] if column.nullable else names
