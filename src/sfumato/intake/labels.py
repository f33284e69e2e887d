"""Readable names for codes: what the cells of a published table stand for."""

from __future__ import annotations

from itertools import pairwise, product

from sfumato.intake.attribute_kinds import Attribute, Digit, Pattern, Recoded
from sfumato.schema.columns import Boolean, Categorical, Column, Date, Datetime, Integer, Number
from sfumato.schema.periods import moment_of, start_of

MISSING = "(missing)"


def attribute_labels(attribute: Attribute) -> list[str]:
    """One label for each code of an attribute."""
    match attribute:
        case Recoded():
            return [" / ".join(parts) for parts in product(*map(labels, attribute.columns))]
        case Digit():
            return ["0", "1"]
        case Pattern():
            names = [column.name for column in attribute.columns]
            masks = [attribute.missing(name) for name in names]
            found = [
                [name for name, mask in zip(names, masks, strict=True) if mask[code]] for code in range(attribute.size)
            ]
            return [f"missing: {', '.join(missing)}" if missing else "none missing" for missing in found]
        case _:
            names = labels(attribute.columns[0])
            return names if len(names) >= attribute.size else [*names, MISSING]


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
