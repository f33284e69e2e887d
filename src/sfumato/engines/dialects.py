"""What databases say differently, and how their queries name columns."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

BLANKS = "".join(map(chr, [*range(9, 14), *range(28, 33), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029,
                           0x202F, 0x205F, 0x3000]))  # fmt: skip
"""All blanks of Unicode, which intake takes off both ends of a text."""


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


def value_name(name: str) -> str:
    """The column of a query that has the number which the text of a column stands for, or null."""
    return '"' + f"sfumato_{sha256(name.encode()).hexdigest()[:16]}_number" + '"'


def quoted(name: str, dialect: Dialect) -> str:
    """The name of a column for a query that has parameters."""
    return '"' + name.replace('"', '""').replace("%", "%%" if dialect.mark == "%s" else "%") + '"'
