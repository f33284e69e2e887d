"""What a draft looks at: the distinct values of a column, and how often each occurs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a draft asks an Arrow table for its distinct values and needs nothing else of Arrow
    import pyarrow as pa


@dataclass(frozen=True)
class Finding:
    """Why a draft proposes what it does about a column, in words for its steward.

    Args:
        column: the column.
        proposal: what becomes of it: its type, or a key of the schema.
        why: what was seen.
    """

    column: str
    proposal: str
    why: str


@dataclass(frozen=True)
class Facts:
    """A column of a table: its distinct values with their counts, most frequent first, and how many are missing."""

    name: str
    rows: int
    counts: dict[Any, int]
    missing: int

    @classmethod
    def of(cls, name: str, values: pa.ChunkedArray) -> Facts:
        """Count the values of a column; NaN counts as missing."""
        values = plain(values)
        found = [(pair["values"], pair["counts"]) for pair in values.value_counts().to_pylist()]
        present = {value: count for value, count in found if value is not None and value == value}
        return cls(name, len(values), present, len(values) - sum(present.values()))

    @cached_property
    def texts(self) -> bool:
        """Whether the values are text."""
        return any(isinstance(value, str) for value in self.counts)

    @property
    def distinct(self) -> int:
        """How many values differ."""
        return len(self.counts)

    def without(self, tokens: set[str]) -> dict[Any, int]:
        """The values that are not among some texts."""
        return {value: count for value, count in self.counts.items() if value not in tokens}


def plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column whose values are plain: no dictionary, no objects, no moment that Python has not."""
    kind = str(values.type)
    if kind.startswith("dictionary"):
        values = values.cast(values.type.value_type)
        kind = str(values.type)
    if kind.startswith("timestamp"):
        # Python has no nanoseconds, and moments with a time zone count in UTC.
        values = values.cast(kind.split(",")[0].rstrip("]") + "]").cast("timestamp[us]", safe=False)
    return _texts(values) if kind.startswith("struct<text") else values  # objects of Excel or pandas


def _texts(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The text of each object: a word, a number as it is spelled, a moment in ISO form."""
    import pyarrow as pa

    rows = values.to_pylist()
    return pa.chunked_array([pa.array([None if row is None else _text(row) for row in rows], pa.large_string())])


def _text(row: dict[str, Any]) -> str | None:
    for name in ("text", "number"):
        if row[name] is not None:
            return str(row[name])
    if row["moment"] is not None:
        moment = row["moment"].isoformat()
        return str(moment.removesuffix("T00:00:00"))
    return str(row["truth"]).lower() if row["truth"] is not None else None
