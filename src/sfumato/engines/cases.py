"""Codes in SQL: for each column an expression that gives the code of a value, or the mark of one that is refused.

Nothing here decides what a code is. Every code in an expression was made by the codec, of the label itself or of the
number at which a piece begins: between two such numbers all codes are alike. So SQL only compares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import MethodError
from sfumato.intake.codec import codes_or_marks
from sfumato.intake.marks import words_of
from sfumato.schema.bins import PointBins, RealBins
from sfumato.schema.columns import Boolean, Categorical, Column, Date, Datetime, Integer, Number
from sfumato.schema.fields import BadValue, decimal_of
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
}
"""The kinds of database columns that can be coded, and what the codec is given for them.

Days and moments are numbers here: since 1970-01-01, in UTC. A database may have some that lie beyond Python's years.
"""

_READ = {
    "text": (Categorical, Boolean),
    "truth": (Categorical, Boolean),
    "whole": (Categorical, Integer, Number),
    "real": (Number,),
    "day": (Date, Datetime),
    "moment": (Date, Datetime),
    "zoned moment": (Date, Datetime),
}
_TIMES = ("day", "moment", "zoned moment")
_LAST = seconds_of(datetime.max)


@dataclass(frozen=True)
class Dialect:
    """What databases say differently.

    Args:
        mark: how a parameter is written.
        text: a text that is compared byte by byte, whatever its column says.
        real: a number as a float of 64 bits.
        is_nan: whether such a number is none.
        strangers: for each kind what is true of a value that does not belong in its column.
        trim: the function that takes given letters off both ends of a text.
        hashed: a text that depends on every letter of another, as a function of ours or of the database.
        times: for each kind of days and moments the type that a limit has.
        tells: what is true of an identifier that tells a person apart, where bytes may be no text.
        seconds: a moment as a number, where there is no type for one.
    """

    mark: str
    text: str
    real: str
    is_nan: str | None
    strangers: dict[str, str]
    trim: str
    hashed: str
    times: dict[str, str]
    tells: str | None = None
    seconds: str | None = None


DIALECTS = {
    "postgresql": Dialect(
        "%s",
        '{} COLLATE "C"',
        "CAST({} AS double precision)",
        "{} = 'NaN'::float8",
        {},
        "btrim",
        "encode(sha256(convert_to({}, 'UTF8')), 'hex') COLLATE \"C\"",
        {"day": "date", "moment": "timestamp", "zoned moment": "timestamp with time zone"},
    ),
    "duckdb": Dialect(
        "?",
        "CAST({} AS VARCHAR) COLLATE C",
        "CAST({} AS DOUBLE)",
        "isnan({})",
        {},
        "trim",
        "sha256({}) COLLATE C",
        {"day": "DATE", "moment": "TIMESTAMP", "zoned moment": "TIMESTAMP WITH TIME ZONE"},
    ),
    "sqlite": Dialect(
        "?",
        "{} COLLATE BINARY",
        "CAST({} AS REAL)",
        None,
        {
            "text": "typeof({}) <> 'text'",
            "truth": "typeof({0}) <> 'integer' OR {0} NOT IN (0, 1)",
            "whole": "typeof({}) <> 'integer'",
            "real": "typeof({}) NOT IN ('real', 'integer')",
            "day": "typeof({0}) <> 'text' OR {0} NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]' "
            "OR date({0}) IS NULL OR date({0}) <> {0}",
            "moment": "typeof({0}) <> 'text' OR sfumato_seconds(CAST({0} AS BLOB), 0) IS NULL",
            "zoned moment": "typeof({0}) <> 'text' OR sfumato_seconds(CAST({0} AS BLOB), 1) IS NULL",
        },
        "trim",
        "sfumato_hashed({})",
        {},
        "sfumato_tells(CAST({} AS BLOB))",
        "sfumato_seconds(CAST({} AS BLOB), 1)",
    ),
}


def quoted(name: str, dialect: Dialect) -> str:
    """The name of a column for a query that has parameters."""
    return '"' + name.replace('"', '""').replace("%", "%%" if dialect.mark == "%s" else "%") + '"'


@dataclass(frozen=True)
class Case:
    """The coding of one column: a case for what is missing, one for each piece or label, and one for all others.

    Args:
        kind: of the database column.
        steps: pieces that end below a value, or labels, with the code of each.
        other: the code of what comes after the last.
        missing: the code of what is missing.
        stranger: the code of a value that has another type than its column, which SQLite allows.
    """

    kind: str
    steps: tuple[tuple[Any, int], ...]
    other: int
    missing: int
    stranger: int

    def sql(self, name: str, dialect: Dialect, through: NDArray[np.integer] | None) -> tuple[str, list[Any]]:
        """The expression, with codes looked up in `through`, and its parameters."""

        def code(one: int) -> int:
            return one if one < 0 or through is None else int(through[one])

        bare = quoted(name, dialect)
        missing = code(self.missing)
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
        elif self.kind in _TIMES and self.kind != "day" and dialect.seconds is not None:
            value = dialect.seconds.format(bare)
        mark = f"CAST({dialect.mark} AS {dialect.times[self.kind]})" if self.kind in dialect.times else dialect.mark
        parameters = []
        steps = [(limit, code(one)) for limit, one in self.steps if _fits(limit, self.kind, dialect)]
        for place, (limit, one) in enumerate(steps):
            following = steps[place + 1][1] if place + 1 < len(steps) else code(self.other)
            if sign == "=" or one != following:  # pieces of one code are one piece
                whens.append(f"WHEN {value} {sign} {mark} THEN {one}")
                parameters.append(_given(limit, self.kind, dialect))
        return f"CASE {' '.join(whens)} ELSE {code(self.other)} END", parameters


def case_of(column: Column, kind: str, policy: BadValue) -> Case:
    """The coding of a column of the schema that a database keeps as this kind; what cannot be compared is refused."""
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
    return Case(kind, tuple(zip(limits, found, strict=False)), found[-1], missing, stranger)


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
    if kind == "whole":
        # Of a number that is not whole, the whole ones around it: codes change between them.
        inside = [int(one) for one in (*edges, *points) if abs(one) < 1 << 62]
        return {*inside, *(one + 1 for one in inside)}
    known = {float(one) for one in points}
    return {*map(float, edges), *known, *(float(np.nextafter(one, np.inf)) for one in known)}


def _moment(column: Date | Datetime) -> Callable[[str], Any]:
    def read(word: str) -> Any:
        try:
            return column.read(word)
        except ValueError:
            return None

    return read


def _before(limit: Any, kind: str) -> Any:
    """A value below a limit."""
    return -np.inf if kind == "real" else limit - 1


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
