"""Readable names for the codes of a column."""

from __future__ import annotations

from itertools import pairwise

from sfumato.schema.bins import PointBins, RealBins
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
            bins = column.binning()
            ends = zip(bins.firsts.tolist(), bins.lasts.tolist(), strict=True)
            names = [str(first) if first == last else f"{first} … {last}" for first, last in ends]
        case Number():
            names = _intervals(column.binning())
        case Date() | Datetime():
            starts = start_of(column.binning().starts, column.granularity).tolist()
            cut = 10 if isinstance(column, Date) else None
            names = [f"from {moment_of(start).isoformat()[:cut]}" for start in starts[:-1]]
    if isinstance(column, Integer | Number):
        names += [f"{one:.15g}" if isinstance(one, float) else str(one) for one in column.special]
    return [*names, MISSING] if column.nullable else names


def _intervals(bins: RealBins | PointBins) -> list[str]:
    if isinstance(bins, PointBins):
        return [f"{point:.15g}" for point in bins.points.tolist()]
    edges = [f"{edge:.15g}" for edge in bins.edges.tolist()]
    names = [f"[{a}, {b})" for a, b in pairwise(edges)]
    return [*names[:-1], names[-1][:-1] + "]"]
