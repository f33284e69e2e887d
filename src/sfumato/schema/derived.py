"""Columns that are a public function of another column: a table from code to code."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.schema.columns import Boolean, Categorical, Column, Integer, Number, ordered_size, size_of
from sfumato.schema.features import Level
from sfumato.schema.fields import decimal_of


def derived_codes(column: Column, origin: Column) -> NDArray[np.int64]:
    """The code of a derived column for each code of the column that it is derived from; missing stays missing."""
    assert column.derived is not None  # noqa: S101  # the caller asks for derived columns only
    values = column.derived.values
    if isinstance(values, dict):
        spelled = [_spellings(origin, code) for code in range(size_of(origin))]
        codes = [_code(column, next(values[text] for text in texts if text in values)) for texts in spelled]
    else:
        starts = np.append(_starts(origin), _special(origin))
        places = np.searchsorted(np.array(column.derived.edges)[1:-1], starts, side="right")
        codes = [_code(column, values[place]) for place in places.tolist()]
    return np.array([*codes, *([size_of(column)] if origin.nullable else [])], dtype=np.int64)


def derived_problems(column: Column, origin: Column) -> Iterator[str]:
    """What is wrong with the declaration of a derived column."""
    assert column.derived is not None  # noqa: S101  # the caller asks for derived columns only
    values, edges = column.derived.values, column.derived.edges
    if not _is_exact(column):
        yield "key 'derived' needs a column of labels, or of numbers with one code each; change type or bins"
        return
    if origin.nullable and not column.nullable:
        yield f"key 'derived.of' is {origin.name!r}, which may be missing; set nullable to true here as well"
    if edges is None:
        if not isinstance(origin, Categorical | Boolean):
            yield f"key 'derived.of' is {origin.name!r}, a column of numbers; give 'edges' and a list of values"
            return
        for code in range(size_of(origin)):
            if not any(text in values for text in _spellings(origin, code)):
                yield f"key 'derived.values' lacks {_spellings(origin, code)[0]!r}; map every value of {origin.name!r}"
    elif isinstance(origin, Integer | Number) and any(not origin.min <= one <= origin.max for one in origin.special):
        yield f"key 'derived.of' is {origin.name!r}, with special values outside its bounds, which lie in no interval"
    elif not isinstance(origin, Integer | Number):
        yield f"key 'derived.edges' needs a column of numbers; {origin.name!r} is {origin.type}"
        return
    else:
        if edges[0] != origin.min or edges[-1] != origin.max:
            yield f"key 'derived.edges' must go from {origin.min} to {origin.max}, the bounds of {origin.name!r}"
        for edge in set(edges[1:-1]) - set(_starts(origin).tolist()):
            yield f"key 'derived.edges' holds {edge:g}, which cuts a bin of {origin.name!r}; give edges of its bins"
    for value in values.values() if isinstance(values, dict) else values:
        if not column.holds(value):
            yield f"key 'derived.values' holds {value!r}, which is not a value of the column"


def level_codes(column: Column, level: Level) -> NDArray[np.int64]:
    """The code in a coarser version of a column for each of its codes; missing stays by itself, as the last one."""
    if isinstance(level, int):
        ordered = ordered_size(column)
        codes = np.arange(ordered) // level
        codes = np.append(codes, codes[-1] + 1 + np.arange(size_of(column) - ordered))  # special values stay alone
    else:
        groups = {text: place for place, texts in enumerate(level.values()) for text in texts}
        spelled = [_spellings(column, code) for code in range(size_of(column))]
        codes = np.array([next(groups[text] for text in texts if text in groups) for texts in spelled], dtype=np.int64)
    return np.append(codes, codes.max() + 1) if column.nullable else codes


def level_problems(column: Column) -> Iterator[str]:
    """What is wrong with the coarser versions of a column."""
    for level in column.levels:
        if isinstance(level, int):
            if not column.is_ordered:
                yield "key 'levels' holds a number of neighbours; it needs a column with an order, or groups of values"
            continue
        if not isinstance(column, Categorical | Boolean):
            yield "key 'levels' holds groups of values; a column of numbers needs a number of neighbours"
            return
        grouped = [text for texts in level.values() for text in texts]
        for text in grouped:
            if not column.holds(text) or grouped.count(text) > 1:
                yield f"key 'levels' holds {text!r}, which is no value of the column or stands in two groups"
        for code in range(size_of(column)):
            if not any(text in grouped for text in _spellings(column, code)):
                yield f"key 'levels' lacks {_spellings(column, code)[0]!r}; put every value into a group"
        if any(not texts for texts in level.values()):
            yield "key 'levels' holds a group without values; remove it"


def _is_exact(column: Column) -> bool:
    """Whether each value of a column has a code of its own."""
    match column:
        case Integer() | Number() if column.values is not None:
            return not column.special
        case Integer():
            return len(column.binning()) == column.max - column.min + 1 and not column.special
        case _:
            return isinstance(column, Categorical | Boolean)


def _special(origin: Column) -> list[float]:
    """The special values of a column of numbers, whose codes come after its bins; they lie in intervals as numbers."""
    return [float(one) for one in origin.special] if isinstance(origin, Integer | Number) else []


def _starts(origin: Column) -> NDArray[np.float64]:
    """Where each bin of a column of numbers begins."""
    match origin:
        case Integer():
            return np.asarray(origin.binning().firsts, dtype=np.float64)
        case Number():
            return np.asarray(origin.binning().firsts, dtype=np.float64)
        case _:
            raise TypeError(origin.type)


def _spellings(origin: Column, code: int) -> tuple[str, ...]:
    """The texts that stand for a code of a column of labels."""
    match origin:
        case Categorical():
            return (origin.labels[code],)
        case Boolean():
            return (origin.false_values, origin.true_values)[code]
        case _:
            raise TypeError(origin.type)


def _code(column: Column, text: str) -> int:
    match column:
        case Categorical():
            return column.labels.index(text)
        case Boolean():
            return int(text in column.true_values)
        case Integer() | Number() if column.values is not None:
            return next(code for code, one in enumerate(column.values) if decimal_of(str(one)) == decimal_of(text))
        case Integer():
            number = decimal_of(text)
            return int(number) - column.min if number is not None else 0
        case _:
            raise TypeError(column.type)
