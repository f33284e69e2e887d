"""Raw values side by side: means, quantiles, missing values and spikes of numbers, as a reader of the table sees them.

Codes cannot show what happens inside a bin: a table in which 999 became 969 to 998 has the same codes. These functions
read values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.intake.parse import Values, read_integers, read_numbers, strangers
from sfumato.schema.columns import Column, Integer, Number
from sfumato.tables.raw import MIXED, plain

Floats = NDArray[np.float64]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SPIKE = 0.05
"""A number that this share of the rows has must come back as that number."""


@dataclass(frozen=True)
class Spike:
    """A number that many rows have, its share in both tables, and whether the schema gives it a code of its own."""

    number: float
    real: float
    synthetic: float
    alone: bool = False


@dataclass(frozen=True)
class RawFigures:
    """One column of numbers in both tables.

    Args:
        name: the column.
        mean: of the real and of the synthetic numbers; nan where there are none.
        quantiles: the 5th, 25th, 50th, 75th and 95th percentile of both.
        distinct: how many different numbers there are in both.
        spikes: the numbers that many real rows have, most frequent first.
        distance: the largest difference between the two distribution functions (Kolmogorov and Smirnov): 0 is equal.
        outside: the share of the real numbers outside the declared bounds, which were clipped or lost.
    """

    name: str
    mean: tuple[float, float]
    quantiles: tuple[tuple[float, ...], tuple[float, ...]]
    distinct: tuple[int, int]
    spikes: tuple[Spike, ...]
    distance: float
    outside: float


def raw_figures(real: pa.Table, synthetic: pa.Table, columns: tuple[Column, ...]) -> tuple[RawFigures, ...]:
    """The columns of numbers of two tables, as they were read by the schema."""
    found = []
    for column in columns:
        if isinstance(column, Integer | Number):
            one, two = (_numbers(table, column) for table in (real, synthetic))
            if len(one) and len(two):
                found.append(_compared(column, one, two))
    return tuple(found)


def missing_share(table: pa.Table, column: Column) -> float:
    """The share of the rows without a value in a column: nulls, and texts that stand for them."""
    values = plain(table.column(column.name))
    if values.type == MIXED:
        values = pa.chunked_array([chunk.field("text") for chunk in values.chunks], pa.large_string())
    tokens = set(column.null_values)
    texts = values.to_pylist()
    absent = [text is None or text in tokens or bool(text != text) for text in texts]
    return float(np.mean(absent)) if absent else 0.0


def _compared(column: Integer | Number, one: Floats, two: Floats) -> RawFigures:
    return RawFigures(
        column.name,
        (float(one.mean()), float(two.mean())),
        (_quantiles(one), _quantiles(two)),
        (len(np.unique(one)), len(np.unique(two))),
        _spikes(one, two, column),
        _distance(one, two),
        float(np.mean((one < column.min) | (one > column.max)) - sum(np.mean(one == x) for x in _beyond(column))),
    )


def _beyond(column: Integer | Number) -> list[float]:
    return [one for one in column.special if not column.min <= one <= column.max]


def _quantiles(numbers: Floats) -> tuple[float, ...]:
    # A quantile is a number that occurs: between 30 and 999 there is nothing.
    return tuple(np.quantile(numbers, QUANTILES, method="inverted_cdf").tolist())


def _spikes(one: Floats, two: Floats, column: Integer | Number) -> tuple[Spike, ...]:
    numbers, counts = np.unique(one, return_counts=True)
    shares = counts / len(one)
    frequent = numbers[shares >= SPIKE][np.argsort(-shares[shares >= SPIKE], kind="stable")][:8]
    return tuple(
        Spike(float(x), float(np.mean(one == x)), float(np.mean(two == x)), _is_alone(float(x), column))
        for x in frequent
    )


def _is_alone(number: float, column: Integer | Number) -> bool:
    each = isinstance(column, Integer) and len(column.binning()) == column.max - column.min + 1
    return column.values is not None or number in column.special or each


def _distance(one: Floats, two: Floats) -> float:
    places = np.union1d(one, two)
    first, second = (np.searchsorted(np.sort(some), places, side="right") / len(some) for some in (one, two))
    return float(np.abs(first - second).max())


def _numbers(table: pa.Table, column: Integer | Number) -> Floats:
    """The numbers of a column; what is missing or cannot be read is left out."""
    chunks = plain(table.column(column.name)).chunks
    parts = [_read(chunk, column) for chunk in chunks]
    kept = [part.numbers[~(part.missing | part.unreadable)].astype(np.float64) for part in parts]
    return np.concatenate([np.zeros(0), *kept])


def _read(chunk: pa.Array, column: Integer | Number) -> Values:
    if chunk.type == MIXED:
        fields = [chunk.field(name) for name in ("text", "number")]
        chunk = pc.coalesce(*fields)
    if pa.types.is_null(chunk.type):
        return strangers(chunk)
    return read_integers(chunk, column) if isinstance(column, Integer) else read_numbers(chunk, column)
