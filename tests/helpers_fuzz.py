"""A seeded generator of schemas and of tables that break them in every way, with marks that no message may show.

Every bad value holds a token that occurs nowhere else: `TOKEN` in text, `DIGITS` in numbers, years and dates. Words of
schemas hold neither, so a token in a message or in a release is a value that got out.
"""

import gzip
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pandas
import polars
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet

TOKEN = "Zq7Xw"
DIGITS = "7351928"
POLICIES = ("missing", "other", "clip", "refuse")
WORDS = ["red", "green", "blue", "1", "2", "-3", "0", "true", "North East", "à", "x,y", 'say "so"', "'", "?", "#N/A"]
BOUNDS = [{"min": 0, "max": 9}, {"min": -5, "max": 120, "bins": 5}, {"min": 0, "max": 2**60, "bins": 3}]
DTYPES = ["string", "category", "int8", "int64", "float64", "decimal(9,2)", "date", "timestamp[ns]"]
MORE = ["xlsx", "lazy", "duckdb", "feather"]
FORMATS = ["%d.%m.%Y", "%Y%m%d", "%m/%d/%Y"]


@dataclass(frozen=True)
class Case:
    """A schema, which may itself be wrong, and the values of a table for it."""

    number: int
    schema: dict[str, Any]
    rows: list[dict[str, Any]]
    kind: str
    method: str


def case_of(number: int, seed: int = 0) -> Case:
    """The case of a number; the same one every time."""
    rng = Random(f"{seed}-{number}")
    columns = [column_of(rng, f"c{place}") for place in range(rng.randint(1, 4))]
    schema: dict[str, Any] = {"name": "fuzz", "columns": columns}
    if rng.random() < 0.5:
        schema["on_bad_value"] = rng.choice(POLICIES)
    if rng.random() < 0.6:  # a schema that gives every bad value a place
        schema = total(rng, schema)
    if rng.random() < 0.3:
        schema["unit"] = {"column": "id", "rows": rng.randint(1, 3)} | unit_of(rng, columns)
    if rng.random() < 0.2:
        schema["read"] = rng.choice([{"separator": ";"}, {"encoding": "cp1252"}, {"line_breaks": True}])
    if rng.random() < 0.2:
        schema["rules"] = [rule_of(rng, columns) for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.1:
        schema["together"] = [{"name": "both", "columns": ["c0", "c1"]}]
        schema["missing_patterns"] = [{"name": "gaps", "columns": ["c0", "c1"]}]
    if rng.random() < 0.1:
        schema["neighbours"] = "replace-one"
    bad = rng.choice([0, 0.02, 0.1, 0.5, 1])
    rows = [row_of(rng, schema, bad) for _ in range(rng.choice([0, 1, 2, 10, 30]))]
    if rng.random() < 0.3:  # one bad value all over a column: then it has a type, and that type comes through
        name, value = rng.choice(columns)["name"], bad_value(rng)
        rows = [row | {name: value} for row in rows]
    kind = rng.choice(["csv", "csv", "csv", "tsv", "csv.gz", "parquet", "object", "guessed", "polars", "arrow", *MORE])
    method = rng.choice(["auto", "privsyn", "dpview", "dpsyn", "privbayes", "pgm"])
    return Case(number, schema, rows, kind, method)


def column_of(rng: Random, name: str) -> dict[str, Any]:
    """A declaration, mostly a right one."""
    kind = rng.choice(["categorical", "boolean", "integer", "number", "date", "datetime"])
    keys: dict[str, Any] = {"name": name, "type": kind}
    if kind == "categorical":
        keys["categories"] = rng.sample(WORDS, rng.randint(1, 5))
        if rng.random() < 0.4:
            keys["other"] = rng.choice([keys["categories"][0], "elsewhere"])
    elif kind == "boolean" and rng.random() < 0.5:
        keys |= {"true_values": ["1", "yes"], "false_values": ["0", "no"]}
    elif kind in ("integer", "number"):
        keys |= rng.choice(
            [{"min": 0, "max": 9}, {"min": -5, "max": 120, "bins": 5}, {"min": 0, "max": 2**60, "bins": 3}]
        )
        if kind == "number" and keys["max"] < 1000 and rng.random() < 0.5:
            keys["decimals"] = 1
        if rng.random() < 0.3:
            keys |= rng.choice([{"special": [keys["max"] + 7]}, {"special": [keys["min"], -9]}])
        elif rng.random() < 0.2 and "bins" not in keys:
            keys["values"] = [0, 1, 5, 9]
        if rng.random() < 0.3:
            keys["written"] = {"decimal": ",", "thousands": ".", "signs": ["€"]}
    elif kind in ("date", "datetime"):
        keys |= {"min": "2020-01-01", "max": "2021-12-31", "granularity": rng.choice(["day", "month", "year"])}
        keys |= {"bins": 3} if keys["granularity"] == "day" else {}
        if rng.random() < 0.4:
            keys["format"] = rng.choice(FORMATS)
    if rng.random() < 0.5:
        keys["nullable"] = True
        if rng.random() < 0.5:
            keys["null_values"] = rng.choice([["NA"], ["", "-9"], ["unknown", " "]])
    if kind not in ("categorical", "boolean") and rng.random() < 0.3:
        keys["outside"] = rng.choice(["clip", "refuse"])
    if rng.random() < 0.3:
        keys["on_bad_value"] = rng.choice(POLICIES)
    if rng.random() < 0.2:
        keys["dtype"] = rng.choice(
            ["string", "category", "int8", "int64", "float64", "decimal(9,2)", "date", "timestamp[ns]"]
        )
    return keys


def unit_of(rng: Random, columns: list[dict[str, Any]]) -> dict[str, Any]:
    """What else is said of persons."""
    more: dict[str, Any] = {"count": "persons"} if rng.random() < 0.4 else {}
    if rng.random() < 0.4:
        more |= {"keep": rng.choice(["first", "latest"]), "order_by": rng.choice(columns)["name"]}
    return more


def rule_of(rng: Random, columns: list[dict[str, Any]]) -> dict[str, Any]:
    """A rule, which may speak of columns that it cannot speak of."""
    one, other = rng.choice(columns), rng.choice(columns)
    if rng.random() < 0.3:
        return {"less_or_equal": [one["name"], other["name"]]}
    if rng.random() < 0.2:
        return {"missing_together": [one["name"], other["name"]]}
    return {"if": {one["name"]: part_of(one)}, "then": {other["name"]: part_of(other)}}


def part_of(keys: dict[str, Any]) -> Any:
    """Some values of a column."""
    if "categories" in keys:
        return keys["categories"][:2]
    return {"max": keys["max"]} if "max" in keys else [True]


def total(rng: Random, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with a place for every bad value."""
    columns = []
    for keys in schema["columns"]:
        policy = rng.choice(["missing", "clip" if "min" in keys else "missing"])
        if "categories" in keys and rng.random() < 0.5:
            policy, keys = "other", keys | {"other": "elsewhere"}
        columns.append({**keys, "nullable": True, "on_bad_value": policy})
        columns[-1].pop("dtype", None)
    return schema | {"columns": columns, "on_bad_value": "missing"}


def row_of(rng: Random, schema: dict[str, Any], bad: float) -> dict[str, Any]:
    """A row; the key None holds a whole line of text in its place."""
    row = {keys["name"]: value_of(rng, keys, bad) for keys in schema["columns"]}
    if "unit" in schema:
        row["id"] = bad_identifier(rng) if rng.random() < bad / 3 else f"{TOKEN}{rng.randint(0, 9)}"
    if rng.random() < bad / 3:
        row[None] = bad_line(rng)
    return row


def value_of(rng: Random, keys: dict[str, Any], bad: float) -> Any:
    """A value of a column: of its domain, or one that breaks it."""
    if rng.random() < bad:
        return bad_value(rng)
    if keys.get("nullable") and rng.random() < 0.1:
        return rng.choice([None, keys.get("null_values", [""])[0]])
    match keys["type"]:
        case "categorical":
            return rng.choice(keys["categories"])
        case "boolean":
            return rng.choice([*keys.get("true_values", ["true"]), *keys.get("false_values", ["False"]), True])
        case "integer" | "number" if "written" in keys and rng.random() < 0.5:
            return rng.choice([f"{rng.randint(0, 9)},0 €", "1.234,5", "€7", "5"])
        case "integer":
            return rng.choice(
                [
                    *keys.get("special", ()),
                    *keys.get("values", ()),
                    rng.randint(keys["min"], keys["max"]),
                    float(keys["max"]),
                    str(keys["min"]),
                ]
            )
        case "number":
            return rng.choice([rng.uniform(keys["min"], keys["max"]), Decimal("1.50"), "2.5", 3])
    day = date(2020, 1, 1) + timedelta(days=rng.randint(0, 700))
    text = day.strftime(keys.get("format", "%Y-%m-%d"))
    return rng.choice([text, text, day, datetime(day.year, day.month, day.day, 12)])


def bad_value(rng: Random) -> Any:
    """Something that most columns do not hold."""
    number = int(DIGITS + str(rng.randint(0, 10**9)))
    return rng.choice(
        [
            *(TOKEN, f"{TOKEN},{TOKEN}", f'"{TOKEN}"', f'{TOKEN}"', f"{TOKEN}\n{TOKEN}", f" {TOKEN} ", f"{TOKEN}\x00"),
            *(f"é{TOKEN}", f"{TOKEN}\x1b[31m", f"[red]{TOKEN}", f"%s{TOKEN}{{}}", f"{TOKEN}\u2028", TOKEN * 2000),
            *(f"\ud800{TOKEN}", TOKEN.encode(), f"{TOKEN}\xff".encode("latin-1"), [TOKEN], {TOKEN: 1}),
            *(DIGITS, f"-{DIGITS}.5", f"{DIGITS}e{DIGITS}", f"-{DIGITS}E-{DIGITS}", f"0x{DIGITS}", f"{DIGITS}:00"),
            *(number, -number, number * 10**30, np.int64(number), float(number), number + 0.5, np.float32(0.1), 1j),
            *(float("inf"), -float("inf"), float("nan"), None, pandas.NaT, pandas.NA, True, "", "  ", "\t"),
            *(Decimal(f"{DIGITS}.25"), Decimal("1E+7351"), Decimal("NaN")),  # Arrow takes for ever with more zeros
            *(date(7351, 9, 28), datetime(1735, 1, 9), np.datetime64("1735-01-09"), timedelta(days=9)),
            *(f"{DIGITS}-01-01", f"7351-09-28T25:61{TOKEN}", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00+14:00"),
        ]
    )


def bad_identifier(rng: Random) -> Any:
    """Something that tells no person apart, or hardly so."""
    return rng.choice(["", " ", None, float("nan"), "\u00a0", 2.0**60, True, int(DIGITS), b"\xff", pandas.NA, "1.0", 1])


def bad_line(rng: Random) -> bytes:
    """A line that is none of a text file."""
    token = TOKEN.encode()
    return rng.choice(
        [
            *(token, token + b",", b",".join([token] * 9), b'"' + token, b'1,"2,' + token, token + b'","' + token),
            *(b"\xff\xfe" + token, b"\x00", b'"""' + token, b"\r" + token + b"\r", token + b"\xc3", b" "),
        ]
    )


def table_of(case: Case, folder: Any) -> Any:
    """The table of a case: the path of a file, or a data frame. None if the library cannot hold these values."""
    names = [keys["name"] for keys in case.schema["columns"]] + (["id"] if "unit" in case.schema else [])
    columns = {name: [row[name] for row in case.rows] for name in names}
    path = folder / f"table.{case.kind}"
    try:
        match case.kind:
            case "csv" | "tsv" | "csv.gz":
                usual = "\t" if case.kind == "tsv" else ","
                text = file_of(case.rows, names, case.schema.get("read", {}).get("separator", usual).encode())
                path.write_bytes(gzip.compress(text) if case.kind.endswith("gz") else text)
                return path
            case "xlsx":
                book = openpyxl.Workbook()
                for row in (names, *zip(*columns.values(), strict=True)):
                    book.active.append([cell_of(value) for value in row])
                book.save(path)
                return path
            case "object":
                return pandas.DataFrame({name: pandas.Series(values, dtype=object) for name, values in columns.items()})
            case "guessed":
                return pandas.DataFrame({name: pandas.Series(values) for name, values in columns.items()})
        typed = pa.table({name: typed_column(values) for name, values in columns.items()})
        if case.kind == "lazy":
            typed.validate(full=True)  # polars aborts the whole process if it computes with bytes that are not UTF-8
        if case.kind in ("arrow", "polars", "lazy"):
            frame = typed if case.kind == "arrow" else polars.DataFrame(typed)
            return frame.lazy().with_columns(polars.all().cast(polars.Int64)) if case.kind == "lazy" else frame
        if case.kind == "duckdb":
            casts = ", ".join(f"cast({name} as date) as {name}" for name in names)
            return duckdb.from_arrow(typed).project(casts)
        if case.kind == "feather":
            feather.write_feather(typed, path)
            return path
        parquet.write_table(typed, path)
        return path
    except Exception:  # a library that refuses to hold such values is not our business
        return None


def cell_of(value: Any) -> Any:
    """A value as a cell of a sheet can hold it."""
    known = isinstance(value, int | float | date) and value == value
    return value if known else str(value).encode(errors="replace").decode()


def typed_column(values: list[Any]) -> pa.Array:
    """Values as Arrow guesses their type, or else their texts, of which some are not UTF-8."""
    try:
        if len({type(value) for value in values} - {type(None), float}) > 1:
            raise TypeError  # Arrow 26 falls over some mixtures
        return pa.array(values)
    except Exception:
        raw = [value if isinstance(value, bytes) else str(value).encode(errors="replace") for value in values]
        return pa.Array.from_buffers(pa.string(), len(raw), pa.array(raw, pa.binary()).buffers())


def file_of(rows: list[dict[str, Any]], names: list[str], delimiter: bytes) -> bytes:
    """A text file, its fields quoted where they must be; some lines are as bad as they come."""
    lines = [delimiter.join(name.encode() for name in names)]
    for row in rows:
        lines.append(row[None] if None in row else delimiter.join(field_of(row[name], delimiter) for name in names))
    return b"\n".join(lines)


def field_of(value: Any, delimiter: bytes) -> bytes:
    """The text of a value, in quotes where it needs them."""
    if isinstance(value, bytes):
        return value
    text = b"" if value is None else str(value).encode(errors="replace")
    if delimiter in text or b'"' in text or b"\n" in text or b"\r" in text:
        return b'"' + text.replace(b'"', b'""') + b'"'
    return text
