"""Evidence: which values rows should have, from a user's words to codes of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import SchemaError
from sfumato.schema.bins import RealBins
from sfumato.schema.columns import Boolean, Categorical, Column, Date, Datetime, Integer, Number, size_of
from sfumato.schema.schema import Schema

Codes = NDArray[np.int64]
BEGINS = 40
"""The most bins that a message names."""


def allowed_codes(schema: Schema, given: Mapping[str, Any]) -> dict[str, Codes]:
    """The codes that each column may have.

    Args:
        schema: the public schema.
        given: for each column a value, a list of values, or a range: {"min": …, "max": …} with one bound or both, or
            range(20, 30). None is a missing value. A column of bins takes ranges that begin and end with a bin, since
            what lies inside a bin is drawn and not known.
    """
    return {name: _codes(schema[name], wish) for name, wish in given.items()}


def conditions_of(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """What a person wrote of columns: a value, LOW..HIGH, or nothing for missing; several values are alternatives."""
    found: dict[str, Any] = {}
    for column, value in pairs:
        low, dots, high = value.partition("..")
        if dots:
            bounds = {key: bound for key, bound in (("min", low), ("max", high)) if bound}
            if column in found or not bounds:
                raise SchemaError(f"{column}={value} is not a single range with a bound; write LOW..HIGH once")
            found[column] = bounds
        elif isinstance(found.get(column, []), dict):
            raise SchemaError(f"{column}={value} adds a value to a range; write one of the two")
        else:
            found[column] = [*found.get(column, []), value or None]
    return found


def _codes(column: Column, wish: Any) -> Codes:
    if isinstance(wish, Mapping):
        if not wish or not set(wish) <= {"min", "max"}:
            raise _unfit(column, 'a value, a list of values or a range such as {"min": 20, "max": 29}')
        return _range(column, wish.get("min"), wish.get("max"))
    if isinstance(wish, range):
        if not wish or wish.step != 1:
            raise _unfit(column, "a range of steps of one that is not empty, such as range(20, 30)")
        return _range(column, wish[0], wish[-1])
    if isinstance(wish, tuple) and len(wish) == 2 and not isinstance(column, Categorical | Boolean):
        raise _unfit(column, 'range(20, 30) or {"min": 20, "max": 29} for "from … to", and a list for "one of these"')
    wishes = wish if isinstance(wish, list | tuple | set | frozenset) else [wish]
    if not wishes:
        raise _unfit(column, "at least one value")
    return np.unique([_code(column, value) for value in wishes])


def _code(column: Column, value: Any) -> int:
    if value is None:
        if not column.nullable:
            raise _unfit(column, "a value; it is never missing")
        return size_of(column)
    match column:
        case Categorical():
            if str(value) not in column.labels:
                raise _unfit(column, "one of its declared categories")
            return column.labels.index(str(value))
        case Boolean():
            text = str(value)
            if text in column.true_values or value is True:
                return 1
            if text in column.false_values or value is False:
                return 0
            raise _unfit(column, "true or false")
        case Integer() | Number() if value in column.special:
            return len(column.binning()) + column.special.index(value)
        case _:
            codes = _range(column, value, value)
            if len(codes) != 1:
                raise _unfit(column, "a value inside its bounds")
            return int(codes[0])


def _range(column: Column, low: Any, high: Any) -> Codes:
    """The codes of whole bins from `low` to `high`, both included."""
    if isinstance(column, Categorical | Boolean):
        raise _unfit(column, "a value or a list of values; a range needs a column of numbers or dates")
    firsts, lasts = _bounds(column)
    least = firsts[0] if low is None else _place(column, low)
    most = lasts[-1] if high is None else _place(column, high)
    inside = (firsts >= least) & (lasts <= most)
    touched = (firsts <= most) & (lasts >= least)
    if isinstance(column.binning(), RealBins):  # bins of real numbers touch each other; only what lies between counts
        touched = (firsts < most) & (lasts > least)
    if (touched & ~inside).any():
        begin = ", ".join(f"{first:.10g}" for first in firsts[:BEGINS]) if isinstance(column, Integer | Number) else ""
        told = f"; its bins begin at {begin}{' …' if len(firsts) > BEGINS else ''}" if begin else ""
        raise _unfit(column, f"a range of whole bins; this one cuts a bin, inside of which values are drawn{told}")
    if not inside.any():
        raise _unfit(column, "a range inside its bounds, with min not above max")
    return np.append(np.flatnonzero(inside), _special(column, least, most))


def _bounds(column: Integer | Number | Date | Datetime) -> tuple[NDArray[Any], NDArray[Any]]:
    """The first and the last place of each bin: numbers, or numbers of periods."""
    bins = column.binning()
    return bins.firsts, bins.lasts


def _special(column: Integer | Number | Date | Datetime, least: float, most: float) -> Codes:
    """The codes of special values in a range; one outside the bounds stands for something that is no number."""
    if not isinstance(column, Integer | Number):
        return np.zeros(0, dtype=np.int64)
    low, high = max(least, column.min), min(most, column.max)
    meant = [place for place, one in enumerate(column.special) if low <= one <= high]
    return len(column.binning()) + np.array(meant, dtype=np.int64)


def _place(column: Integer | Number | Date | Datetime, value: Any) -> float:
    try:
        if isinstance(column, Integer | Number):
            return float(value)
        return column.period(value if isinstance(value, date) else column.read(str(value)))
    except (TypeError, ValueError):
        kind = "a number" if isinstance(column, Integer | Number) else "a date, as the schema writes it"
        raise _unfit(column, kind) from None


def _unfit(column: Column, wanted: str) -> SchemaError:
    return SchemaError(f"what is given for column {column.name!r} does not fit; it wants {wanted}")
