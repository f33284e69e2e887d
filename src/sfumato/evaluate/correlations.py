"""How strongly two columns hang together, and how well a synthetic table keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.data.marginal import Projectable
from sfumato.errors import SchemaError
from sfumato.evaluate.keys import Ints, occupied
from sfumato.schema.bins import TickBins
from sfumato.schema.columns import Boolean, Categorical, Column, Integer, Number

Floats = NDArray[np.float64]


def numbers_of(columns: Iterable[Column]) -> dict[str, Floats]:
    """A number for each code of each ordered column: the middle of a bin, the rank of a category, nan for missing."""
    found = {}
    for column in columns:
        if not column.is_ordered or isinstance(column, Boolean):
            continue
        if isinstance(column, Categorical):
            middles = np.arange(len(column.labels), dtype=np.float64)
        else:
            bins = column.binning()
            wide = np.asarray(bins.firsts, dtype=np.float64) + np.asarray(bins.lasts, dtype=np.float64)
            middles = (wide + isinstance(bins, TickBins)) / 2
        if isinstance(column, Integer | Number):  # outside the bounds they stand for something that is no number
            special = [one if column.min <= one <= column.max else np.nan for one in column.special]
            middles = np.append(middles, special)
        found[column.name] = np.append(middles, np.nan) if column.nullable else middles
    return found


def associations(table: Projectable, numbers: Mapping[str, Floats]) -> Floats:
    """The association of each pair of columns, a symmetric matrix in the order of the table's columns.

    It is the Pearson correlation (-1 to 1) of two columns that both have numbers, over rows that have both; and
    Cramér's V (0 to 1) with Bergsma's correction of its bias for any other pair. A column that never varies has
    association 0 with the others. The diagonal is 1.

    Args:
        table: rows, or tables that hold all pairs of columns.
        numbers: for ordered columns, a number for each code; nan for a code that stands for none.
    """
    names = table.domain.names
    for name, values in numbers.items():
        if name in names and len(values) != table.domain[name]:
            raise SchemaError(f"{len(values)} numbers were given; column {name!r} has {table.domain[name]} codes")
    matrix = np.eye(len(names))
    for j, two in enumerate(names):
        for i, one in enumerate(names[:j]):
            (first, second), counts = occupied(table, (one, two))
            if one in numbers and two in numbers:
                value = _pearson(numbers[one][first], numbers[two][second], counts)
            else:
                value = _cramers_v(first, second, counts)
            matrix[i, j] = matrix[j, i] = value
    return matrix


def association_error(real: Floats, synthetic: Floats) -> float:
    """The mean absolute difference of two matrices of `associations`, over all pairs of columns: 0 is perfect."""
    pairs = np.triu_indices(len(real), 1)
    return float(np.abs(real[pairs] - synthetic[pairs]).mean()) if len(pairs[0]) else 0.0


def _pearson(x: Floats, y: Floats, weights: Floats) -> float:
    known = ~(np.isnan(x) | np.isnan(y))
    x, y, weights = x[known], y[known], weights[known]
    if not len(x) or x.min() == x.max() or y.min() == y.max():
        return 0.0
    # Scaled to 0 … 1 first: the squares of seconds since 1970 would lose what matters.
    x, y = (x - x.min()) / (x.max() - x.min()), (y - y.min()) / (y.max() - y.min())
    shares = weights / weights.sum()
    x, y = x - shares @ x, y - shares @ y
    return float(np.clip(shares @ (x * y) / sqrt(float((shares @ x**2) * (shares @ y**2))), -1, 1))


def _cramers_v(first: Ints, second: Ints, counts: Floats) -> float:
    """Bergsma (2013): take from φ² what independence would give it by chance, and shrink the sizes likewise."""
    rows = float(counts.sum())
    if rows <= 1:
        return 0.0
    one, two = np.bincount(first, counts), np.bincount(second, counts)
    sizes = [np.count_nonzero(one), np.count_nonzero(two)]
    square = float((counts**2 / (one[first] * two[second])).sum()) - 1
    square = max(0.0, square - (sizes[0] - 1) * (sizes[1] - 1) / (rows - 1))
    largest = min(size - 1 - (size - 1) ** 2 / (rows - 1) for size in sizes)
    return min(1.0, sqrt(square / largest)) if largest > 0 else 0.0
