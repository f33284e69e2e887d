"""A codebook: what a list of columns and their values, kept by an institution, says about the columns of a draft.

It is a text file with a line for each value or each column, as data dictionaries are: a head with `column`, and any of
`value`, `meaning`, `min`, `max` and `description`. What a codebook says was known before anybody looked at rows.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from sfumato.errors import SchemaError
from sfumato.schema.columns import Boolean, Categorical, Column, Integer, Number
from sfumato.schema.confirming import bounded
from sfumato.schema.fields import decimal_of
from sfumato.schema.schema import Schema

HEADS = ("column", "value", "meaning", "min", "max", "description")


@dataclass(frozen=True)
class Entry:
    """What a codebook says about one column.

    Args:
        values: all of its values, in order, with what each means; empty if it lists none.
        bounds: the smallest and the largest value, as text.
        description: what the column means.
    """

    values: dict[str, str]
    bounds: tuple[str, str] | None
    description: str


def read_codebook(path: Path) -> dict[str, Entry]:
    """What a codebook says about each column; a file that is none is refused."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SchemaError(f"codebook {str(path)!r} cannot be read: {error.strerror}") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")
    head = text.partition("\n")[0]
    separator = max(",;\t", key=head.count)
    lines = list(csv.DictReader(StringIO(text, newline=""), delimiter=separator))
    known = {str(name).strip().lower() for name in (lines[0] if lines else ())}
    if "column" not in known or not known & set(HEADS[1:]):
        raise SchemaError(
            f"codebook {str(path)!r} has no head that is understood; give a CSV file whose first line has 'column' and "
            f"some of {', '.join(HEADS[1:])}"
        )
    told: dict[str, list[dict[str, str]]] = {}
    for line in lines:
        clean = {str(key).strip().lower(): value.strip() for key, value in line.items() if isinstance(value, str)}
        told.setdefault(clean.get("column", ""), []).append(clean)
    return {name: _entry(some) for name, some in told.items() if name}


def _entry(lines: list[dict[str, str]]) -> Entry:
    values = {line["value"]: line.get("meaning", "") for line in lines if line.get("value")}
    bounds = [(line["min"], line["max"]) for line in lines if line.get("min") and line.get("max")]
    descriptions = [line["description"] for line in lines if line.get("description")]
    return Entry(values, bounds[0] if bounds else None, descriptions[0] if descriptions else "")


def with_codebook(schema: Schema, codebook: dict[str, Entry], name: str) -> tuple[Schema, list[str]]:
    """The schema with what a codebook says; and what does not agree, which stays as it is for a person to settle."""
    doubts = []
    for column in schema.columns:
        entry = codebook.get(column.name)
        if entry is None:
            continue
        try:
            found = _declared(schema, column, entry, name)
        except SchemaError as problem:
            found = str(problem)
        if isinstance(found, str):
            doubts.append(f"{column.name}: {found}")
        else:
            schema = found
    return schema, doubts


def _declared(schema: Schema, column: Column, entry: Entry, name: str) -> Schema | str:
    """The schema with one column as its codebook has it; or why not, in words."""
    more: dict[str, Any] = {"description": entry.description} if entry.description else {}
    source = {"domain_from": "codebook", "note": f"codebook {name}"}
    if entry.values and isinstance(column, Categorical):
        listed = [value for value in entry.values if value not in column.null_values]
        unknown = [label for label in column.categories if label not in listed]
        if unknown:
            return f"{len(unknown)} values of the draft are not in the codebook ({', '.join(unknown[:5])})"
        more |= source | {"categories": listed}
    elif entry.values and isinstance(column, Boolean):
        more |= source
    elif isinstance(column, Integer | Number) and (entry.values or entry.bounds):
        texts = [text for text in entry.bounds or entry.values if text not in column.null_values]
        numbers = [number for text in texts if (number := _number(text)) is not None]
        if not numbers or len(numbers) < len(texts):
            return "the codebook has words where the draft has numbers"
        low, high = min(numbers), max(numbers)
        if low > column.min or high < column.max:
            return f"the codebook goes from {low:g} to {high:g}, and the draft from {column.min:g} to {column.max:g}"
        if column.values is not None:
            more |= source | {"values": sorted(numbers), "min": low, "max": high}
        else:
            schema, more = bounded(schema, column.name, low, high), more | source
    if not more:
        return "the codebook says nothing about it that a schema can say"
    keys = schema.to_dict()
    for one in keys["columns"]:
        if one["name"] == column.name:
            one.update(more)
    return Schema.parse(keys)


def _number(text: str) -> int | float | None:
    number = decimal_of(text)
    if number is None:
        return None
    return int(number) if number == number.to_integral_value() else float(number)
