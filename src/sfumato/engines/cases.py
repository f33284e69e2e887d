"""Codes in SQL: for each column an expression that gives the code of a value, or the mark of one that is refused.

Nothing here decides what a code is. Every code in an expression was made by the codec, of the label itself or of the
number at which a piece begins: between two such numbers all codes are alike. So SQL only compares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from math import inf, nextafter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.engines.dialects import BLANKS, DIALECTS, Dialect, quoted, value_name
from sfumato.errors import MethodError
from sfumato.intake.codec import codes_or_marks
from sfumato.intake.marks import words_of
from sfumato.schema.bins import PointBins, RealBins
from sfumato.schema.columns import Boolean, Categorical, Column, Date, Datetime, Integer, Number
from sfumato.schema.fields import LARGEST, BadValue, decimal_of
from sfumato.schema.periods import DAY, seconds_of, start_of
from sfumato.schema.spelling import EXACT
from sfumato.tables.objects import mixed

KINDS = {
    "text": pa.large_string(),
    "truth": pa.bool_(),
    "whole": pa.int64(),
    "real": pa.float64(),
    "day": pa.date32(),
    "moment": pa.timestamp("s"),
    "zoned moment": pa.timestamp("s"),
    "written whole": pa.int64(),
    "written real": pa.float64(),
}
"""The kinds of database columns that can be coded, and what the codec is given for them.

Days and moments are numbers here: since 1970-01-01, in UTC. A database may have some that lie beyond Python's years.
Written numbers are text, which `written_numbers` reads.
"""

_READ = {
    "text": (Categorical, Boolean),
    "truth": (Categorical, Boolean),
    "whole": (Categorical, Integer, Number),
    "real": (Number,),
    "day": (Date, Datetime),
    "moment": (Date, Datetime),
    "zoned moment": (Date, Datetime),
    "written whole": (Integer,),
    "written real": (Number,),
}
_TIMES = ("day", "moment", "zoned moment")
_LAST = seconds_of(datetime.max)


@dataclass(frozen=True)
class Case:
    """The coding of one column: a case for what is missing, one for each piece or label, and one for all others.

    Args:
        kind: of the database column.
        steps: pieces that end below a value, or labels, with the code of each.
        other: the code of what comes after the last.
        missing: the code of what is missing.
        stranger: the code of a value that cannot be read.
        tokens: texts that stand for what is missing in a column of written numbers.
    """

    kind: str
    steps: tuple[tuple[Any, int], ...]
    other: int
    missing: int
    stranger: int
    tokens: tuple[str, ...] = ()

    def sql(self, name: str, dialect: Dialect, through: NDArray[np.integer] | None) -> tuple[str, list[Any]]:
        """The expression, with codes looked up in `through`, and its parameters."""

        def code(one: int) -> int:
            return one if one < 0 or through is None else int(through[one])

        bare = quoted(name, dialect)
        missing = code(self.missing)
        parameters: list[Any] = []
        whens = [f"WHEN {bare} IS NULL THEN {missing}"]
        if self.kind in dialect.strangers:
            whens.append(f"WHEN {dialect.strangers[self.kind].format(bare)} THEN {code(self.stranger)}")
        value, sign = bare, "<"
        if self.kind == "text":
            value, sign = dialect.text.format(bare), "="
        elif self.kind == "truth":
            sign = "="
        elif self.kind == "real":
            value = dialect.real.format(bare)
            if dialect.is_nan is not None:
                whens.append(f"WHEN {dialect.is_nan.format(value)} THEN {missing}")
        elif self.written:
            value, text = value_name(name), dialect.text.format(bare)
            for token in self.tokens:
                whens.append(f"WHEN {text} = {dialect.mark} THEN {missing}")
                whens.append(f"WHEN {dialect.trim}({text}, '{BLANKS}') = {dialect.mark} THEN {missing}")
                parameters += [token, token]
            whens.append(f"WHEN {value} IS NULL THEN {code(self.stranger)}")
        elif self.kind in _TIMES and self.kind != "day" and dialect.seconds is not None:
            value = dialect.seconds.format(bare)
        mark = f"CAST({dialect.mark} AS {dialect.times[self.kind]})" if self.kind in dialect.times else dialect.mark
        steps = [(limit, code(one)) for limit, one in self.steps if _fits(limit, self.kind, dialect)]
        for place, (limit, one) in enumerate(steps):
            following = steps[place + 1][1] if place + 1 < len(steps) else code(self.other)
            if sign == "=" or one != following:  # pieces of one code are one piece
                whens.append(f"WHEN {value} {sign} {mark} THEN {one}")
                parameters.append(_given(limit, self.kind, dialect))
        return f"CASE {' '.join(whens)} ELSE {code(self.other)} END", parameters

    @property
    def written(self) -> bool:
        """Whether numbers are kept as text."""
        return self.kind.startswith("written")


def case_of(column: Column, kind: str, policy: BadValue) -> Case:
    """The coding of a column of the schema that a database keeps as this kind; what cannot be compared is refused."""
    if kind == "text" and isinstance(column, Integer | Number):
        kind = "written whole" if isinstance(column, Integer) else "written real"
    wide = isinstance(column, Number) and kind == "whole" and max(-column.min, column.max) >= EXACT
    if kind not in KINDS or not isinstance(column, _READ[kind]) or wide:
        raise MethodError(
            f"column {column.name!r} is {column.type} in the schema, and the database has it as {kind}; inside a "
            "database this cannot be coded: give engine 'spool', or a table whose columns have the declared types"
        )

    def codes(values: Sequence[Any]) -> list[int]:
        # Days and moments are given as numbers.
        plain = {"day": pa.int32(), "moment": pa.int64(), "zoned moment": pa.int64()}.get(kind, KINDS[kind])
        array = pa.chunked_array([pa.array(values, plain).cast(KINDS[kind])])
        return [int(one) for one in codes_or_marks(column, array, policy)]

    (missing,) = codes([None])
    stranger = int(codes_or_marks(column, pa.chunked_array([mixed([object()])]), policy)[0])
    if kind == "text" or kind == "truth":
        words: list[Any] = [True, False] if kind == "truth" else list(words_of(column))  # type: ignore[arg-type]
        found = codes([*words, *([] if kind == "truth" else [_stranger(words)])])
        steps = zip(words, found, strict=False)
        return Case(kind, tuple(steps), found[-1], missing, stranger)
    limits = sorted(_limits(column, kind))
    found = codes([_before(limits[0], kind), *limits])
    tokens = column.null_values if kind.startswith("written") else ()
    return Case(kind, tuple(zip(limits, found, strict=False)), found[-1], missing, stranger, tokens)


def _limits(column: Column, kind: str) -> set[Any]:
    """Every value at which another code may begin."""
    if isinstance(column, Date | Datetime):
        tokens = [seconds_of(moment) for moment in map(_moment(column), column.null_values) if moment is not None]
        seconds = {
            *start_of(column.binning().starts, column.granularity).tolist(),
            *tokens,
            *(one + 1 for one in tokens),
        }
        return {-(-one // DAY) for one in seconds} if kind == "day" else seconds
    edges: list[Any]
    points: list[Any]
    if isinstance(column, Categorical | Boolean):
        words: list[Any] = [decimal_of(word) for word in words_of(column)]
        edges, points = [0], [int(one) for one in words if one is not None and one == one.to_integral_value()]
    else:
        assert isinstance(column, Integer | Number)  # noqa: S101 -- the others are refused above
        bins = column.binning()
        begins = (
            bins.points if isinstance(bins, PointBins) else bins.edges if isinstance(bins, RealBins) else bins.starts
        )
        numbers = [number for word in column.null_values if (number := decimal_of(word)) is not None]
        edges, points = [column.min], [*column.special, column.max, *begins.tolist(), *numbers]
    if kind.endswith("whole"):
        # Of a number that is not whole, the whole ones around it: codes change between them.
        inside = [int(one) for one in (*edges, *points) if abs(one) <= LARGEST]
        return {*inside, *(one + 1 for one in inside)}
    known = {float(one) for one in points}
    return {*map(float, edges), *known, *(nextafter(one, inf) for one in known)}


def _moment(column: Date | Datetime) -> Callable[[str], Any]:
    def read(word: str) -> Any:
        try:
            return column.read(word)
        except ValueError:
            return None

    return read


def _before(limit: Any, kind: str) -> Any:
    """A value below a limit."""
    return -inf if kind.endswith("real") else limit - 1


def _stranger(words: Sequence[str]) -> str:
    """A text that is not declared."""
    return next(text for number in count() if (text := f"\ufffd{number}") not in words)


def _fits(limit: Any, kind: str, dialect: Dialect) -> bool:
    """Whether a database has values beyond a limit; SQLite's days and moments end with the year 9999."""
    if kind not in _TIMES or dialect.times:
        return True
    return bool(limit * (DAY if kind == "day" else 1) <= _LAST)


def _given(limit: Any, kind: str, dialect: Dialect) -> Any:
    """A value as the driver wants it."""
    if kind in _TIMES and (dialect.times or kind == "day"):
        # As text: a limit may lie beyond the years of Python. Text without a zone would be read in that of the session.
        text = str(np.datetime64(limit, "D" if kind == "day" else "s"))
        return text + "+00" if kind == "zoned moment" else text
    return int(limit) if dialect is DIALECTS["sqlite"] and kind == "truth" else limit
