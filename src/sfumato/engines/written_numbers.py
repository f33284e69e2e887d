"""Numbers that a database keeps as text, read in SQL as intake reads them: value by value, and none can stop a query.

A text is taken apart by its letters alone: sign, digits, exponent. Casts come last, of texts that were put together
anew and are too short and too small to overflow. A text that is no number gives null. In SQLite, intake itself is
called. Where intake reads numbers of more than a thousand digits or exponents of more than eight, the code may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from sfumato.engines.dialects import BLANKS, Dialect, quoted, value_name
from sfumato.intake.parse import read_integers, read_numbers
from sfumato.schema.columns import Integer, Number
from sfumato.schema.fields import NUMBER

_FORM = "^(" + NUMBER.replace(r"\.", "[.]") + ")$"
_INFINITE = "^[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?$"
_BEYOND = 2**63 - 1
_DIGITS = 1000
"""Digits that decide about a float: where two floats part, no number has as many."""
_OVER = str(2**1024 - 2**970)
"""From here on, a number is nearer to infinity than to the largest float: between both, and ties go to infinity."""


@dataclass(frozen=True)
class Reading:
    """What databases say differently about texts.

    Args:
        matches: whether a text has a form.
        exponent: what follows the letter e.
        large: a type for whole numbers of more than 64 bits.
        fence: keeps what is computed in a subquery from being computed again for each use.
    """

    matches: str
    exponent: str
    large: str
    fence: str


READINGS = {
    "postgresql": Reading("{} ~ '{}'", "substring({} from '[eE]([+-]?[0-9]+)$')", "numeric", " OFFSET 0"),
    "duckdb": Reading("regexp_matches({}, '{}')", "regexp_extract({}, '[eE]([+-]?[0-9]+)$', 1)", "HUGEINT", ""),
}


def with_values(table: str, kind: str, columns: Mapping[str, bool], dialect: Dialect) -> str:
    """A table with the numbers of some columns of text beside them; `columns` says which of them are whole."""
    if kind not in READINGS:
        made = ", ".join(
            f"CASE WHEN typeof({quoted(name, dialect)}) = 'text' "
            f"THEN sfumato_number(CAST({quoted(name, dialect)} AS BLOB), {int(whole)}) END AS {value_name(name)}"
            for name, whole in columns.items()
        )
        return f"(SELECT *, {made} FROM {table}) AS numbered"  # noqa: S608
    reading = READINGS[kind]
    for step in range(5):
        made = ", ".join(_layers(name, whole, dialect, reading)[step] for name, whole in columns.items())
        table = f"(SELECT *, {made} FROM {table}{reading.fence}) AS layer{step}"  # noqa: S608
    return table


def _layers(name: str, whole: bool, dialect: Dialect, reading: Reading) -> list[str]:
    """What each subquery adds, from the trimmed text to the number."""
    own = value_name(name).strip('"').removesuffix("_number")
    text = f"{dialect.trim}({dialect.text.format(quoted(name, dialect))}, '{BLANKS}')"
    t, is_number, digits, shift, core = (f"{own}_{part}" for part in ("t", "form", "digits", "shift", "core"))
    sign = f"CASE WHEN left({t}, 1) = '-' THEN -1 ELSE 1 END"
    mantissa = f"regexp_replace({t}, '^[+-]|[eE].*$', '', 'g')"
    dot = f"strpos({mantissa}, '.')"
    written = f"ltrim(ltrim({own}_exponent, '+-'), '0')"
    size = f"(length({core}) + {shift})"
    if whole:
        built = f"CAST({core} || repeat('0', CAST({shift} AS integer)) AS {reading.large})"
        value = (
            f"CASE WHEN length({written}) > 18 THEN NULL WHEN {core} = '' THEN 0 WHEN {shift} < 0 THEN NULL "
            f"WHEN {size} > 19 THEN {_BEYOND} ELSE CAST(least({built}, {_BEYOND}) AS bigint) END"
        )
        infinite = str(_BEYOND)
    elif reading is READINGS["duckdb"]:
        value = f"coalesce(abs(TRY_CAST(ltrim({t}, '+') AS DOUBLE)), CAST('inf' AS DOUBLE))"
        infinite = "CAST('inf' AS DOUBLE)"
    else:
        number = f"('0.' || left({core}, {_DIGITS}) || 'e' || {size})"
        infinite = "CAST('Infinity' AS double precision)"
        value = (
            f"CASE WHEN {core} = '' OR {size} < -330 THEN 0 WHEN {size} > 309 THEN {infinite} "
            f"WHEN {size} = 309 AND CAST({number} AS numeric) >= {_OVER} THEN {infinite} "
            f"WHEN {size} < -320 AND CAST({number} AS numeric) * {2**1075} <= 1 THEN 0 "
            f"ELSE CAST({number} AS double precision) END"
        )
    return [
        f"{text} AS {t}",
        f"CASE WHEN {reading.matches.format(t, _FORM)} THEN 1 WHEN {reading.matches.format(t, _INFINITE)} THEN 2 END "
        f"AS {is_number}, replace({mantissa}, '.', '') AS {digits}, "
        f"CASE WHEN {dot} > 0 THEN length({mantissa}) - {dot} ELSE 0 END AS {own}_after, "
        f"coalesce({reading.exponent.format(t)}, '') AS {own}_exponent",
        f"rtrim(ltrim({digits}, '0'), '0') AS {core}, "
        f"CASE WHEN {is_number} IS DISTINCT FROM 1 OR {written} = '' THEN 0 "
        f"WHEN length({written}) > 8 THEN 999999999 ELSE CAST({written} AS integer) END "
        f"* CASE WHEN left({own}_exponent, 1) = '-' THEN -1 ELSE 1 END AS {own}_power",
        f"{own}_power - {own}_after + length(ltrim({digits}, '0')) - length({core}) AS {shift}, {sign} AS {own}_sign",
        f"CASE {is_number} WHEN 1 THEN {own}_sign * ({value}) WHEN 2 THEN {own}_sign * {infinite} END AS {own}_number",
    ]


@lru_cache(maxsize=1 << 16)
def written_number(value: bytes, whole: int) -> int | float | None:
    """The number of a text that SQLite keeps, as intake reads it; None if it is none."""
    texts = pa.array([value.decode(errors="replace")], pa.large_string())
    column = {"name": "x", "type": "integer" if whole else "number", "min": 0, "max": 0}
    if whole:
        read = read_integers(texts, Integer.model_validate(column))
    else:
        read = read_numbers(texts, Number.model_validate(column))
    return None if read.unreadable[0] or read.missing[0] else read.numbers[0].item()
