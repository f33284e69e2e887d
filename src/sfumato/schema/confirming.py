"""Confirming a draft: which columns are asked about together, and what an answer makes of the schema."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from sfumato.errors import SchemaError
from sfumato.schema.acceptance import ROWS, RULES
from sfumato.schema.columns import Boolean, Categorical, Column, Date, Datetime
from sfumato.schema.schema import Schema


@dataclass(frozen=True)
class Group:
    """Columns that one answer can settle.

    Args:
        title: what they have in common.
        columns: their names.
        values: what would be published of each.
    """

    title: str
    columns: tuple[str, ...]
    values: tuple[str, ...]


def groups(schema: Schema) -> list[Group]:
    """The columns whose domain is observed and not accepted: those with the same values together, then by kind."""
    open_columns = [column for column in schema.columns if column.name in schema.unaccepted]
    found: dict[str, list[Column]] = {}
    for column in open_columns:
        found.setdefault(_likeness(column), []).append(column)
    kinds: dict[str, list[Column]] = {}
    for title, columns in found.items():
        alike = len(columns) > 1 and isinstance(columns[0], Categorical | Boolean)
        kinds.setdefault(title if alike else _kind(columns[0]), []).extend(columns)
    return [
        Group(title, tuple(one.name for one in some), tuple(map(domain_text, some))) for title, some in kinds.items()
    ]


def _likeness(column: Column) -> str:
    if isinstance(column, Categorical | Boolean):
        return f"with the same values: {domain_text(column)}"
    return column.name


def _kind(column: Column) -> str:
    if isinstance(column, Categorical | Boolean):
        return "of words"
    return "of dates or times" if isinstance(column, Date | Datetime) else "of numbers"


def domain_text(column: Column) -> str:
    """What a release would publish of a column, in a few words."""
    words = _values_text(column)
    if column.derived is not None:
        words += f"; computed from {column.derived.of}"
    return words + (f"; missing: {', '.join(map(repr, column.null_values))}" if column.nullable else "")


def _values_text(column: Column) -> str:
    match column:
        case Categorical():
            shown = ", ".join(column.labels[:8])
            return shown + (f" … {len(column.labels)} in all" if len(column.labels) > 8 else "")
        case Boolean():
            return "true, false"
        case Date() | Datetime():
            return f"{column.min} to {column.max}"
        case _:
            if column.values is not None:
                return ", ".join(f"{one:g}" for one in column.values)
            words = f"{column.min:g} to {column.max:g}"
            return words + (f", and {', '.join(f'{one:g}' for one in column.special)}" if column.special else "")


def declared(schema: Schema, names: Sequence[str], note: str) -> Schema:
    """The domains of these columns are publicly known as they stand; the note says from where."""
    return _changed(schema, names, {"domain_from": "known", "note": note})


def bounded(schema: Schema, name: str, low: Any, high: Any) -> Schema:
    """A column of numbers with bounds that a person gave; bins follow from them."""
    changes = {"min": low, "max": high, "edges": None, "values": None, "domain_from": "declared", "note": None}
    keys = schema.to_dict()
    for column in keys["columns"]:
        derived = column.get("derived", {})
        if derived.get("of") == name and "edges" in derived:  # its intervals begin and end where the numbers do
            derived["edges"] = [low, *derived["edges"][1:-1], high]
    return Schema.parse(_merged(keys, [name], changes))


def known_columns(schema: Schema) -> tuple[str, ...]:
    """All columns of the table that the schema speaks of; a draft speaks of all there are."""
    return (*schema.names, *schema.ignore, *([schema.unit.column] if schema.unit.column else []))


def ignored(schema: Schema, names: Sequence[str]) -> Schema:
    """These columns are left out, with all that says something about them."""
    keys = schema.to_dict()
    keys["columns"] = [column for column in keys["columns"] if column["name"] not in names]
    for column in keys["columns"]:
        if column.get("derived", {}).get("of") in names:
            del column["derived"]
    keys["ignore"] = [*keys.get("ignore", []), *names]
    if keys.get("label") in names:
        del keys["label"]
    kept = [not set(rule.names) & set(names) for rule in schema.rules]
    return _without_empty(keys | {"rules": list(compress(keys.get("rules", []), kept))})


def special(schema: Schema, name: str, values: Sequence[int | float]) -> Schema:
    """These numbers of a column mean something by themselves: each gets a code of its own."""
    return _changed(schema, [name], {"special": list(values) or None})


def with_persons(schema: Schema, column: str | None, rows: int) -> Schema:
    """This column tells persons apart, of whom this many rows count; None if each row is a person."""
    if column is None:
        return _without_empty(_unsigned(schema.to_dict(), ROWS) | {"unit": None})
    kept = ignored(schema, [column]).to_dict() if column in schema.names else schema.to_dict()
    kept["ignore"] = [name for name in kept.get("ignore", []) if name != column]
    unit = {**kept.get("unit", {}), "column": column, "rows": rows, "rows_from": "declared"}
    return _without_empty(_unsigned(kept, ROWS) | {"unit": unit})


def with_label(schema: Schema, column: str) -> Schema:
    """What models are to predict from the other columns."""
    return Schema.parse(schema.to_dict() | {"label": column})


def with_rows_guess(schema: Schema, rows: int) -> Schema:
    """A guess of the rows that the public may know."""
    return Schema.parse(schema.to_dict() | {"rows_guess": rows})


def with_rule(schema: Schema, rule: Any) -> Schema:
    """One rule more."""
    keys = schema.to_dict()
    return Schema.parse(keys | {"rules": [*keys.get("rules", []), rule]})


def without_rules(schema: Schema, numbers: Collection[int]) -> Schema:
    """Rules were true of these rows only, and not of all that may come; they are numbered from 1."""
    keys = schema.to_dict()
    if not set(numbers) <= set(range(1, len(schema.rules) + 1)):
        raise SchemaError(f"rules have the numbers 1 to {len(schema.rules)}; give some of these")
    kept = [rule for number, rule in enumerate(keys.get("rules", []), 1) if number not in numbers]
    if not kept:
        keys = _unsigned(keys, RULES) | {"rules_from": None}
    return _without_empty(keys | {"rules": kept})


def confirmed_rules(schema: Schema) -> Schema:
    """The rules hold by what the columns mean, and not only in the rows that were seen."""
    return Schema.parse(_unsigned(schema.to_dict(), RULES) | {"rules_from": "known"})


def _unsigned(keys: dict[str, Any], name: str) -> dict[str, Any]:
    """The keys without anybody's acceptance of what is no longer observed."""
    left = [
        one | {"columns": [each for each in one["columns"] if each != name]} for one in keys.get("accept_observed", [])
    ]
    return keys | {"accept_observed": [one for one in left if one["columns"]]}


def _without_empty(keys: dict[str, Any]) -> Schema:
    return Schema.parse({key: value for key, value in keys.items() if value or key == "columns"})


def _changed(schema: Schema, names: Sequence[str], changes: dict[str, Any]) -> Schema:
    return Schema.parse(_merged(schema.to_dict(), names, changes))


def _merged(keys: dict[str, Any], names: Sequence[str], changes: dict[str, Any]) -> dict[str, Any]:
    for place, column in enumerate(keys["columns"]):
        if column["name"] in names:
            merged = column | changes
            keys["columns"][place] = {key: value for key, value in merged.items() if value is not None}
    return keys
