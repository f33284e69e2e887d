"""Drafting a schema by looking at the data: a start for a person, marked column by column as observed.

Whatever a draft says about a column may reveal persons. So each column says `domain_from: observed` and notes
what was taken from the data; a person replaces it by what is publicly known. Identifiers, free text and columns that
are nearly unique are left out (`ignore`), unless a person asks for them by name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import SchemaError
from sfumato.schema.draft_dates import moments_of, of_moments
from sfumato.schema.draft_facts import Facts, Finding, plain
from sfumato.schema.draft_functions import derive
from sfumato.schema.draft_missing import missing_rules
from sfumato.schema.draft_names import names_of_persons
from sfumato.schema.draft_numbers import integer_keys, number_keys
from sfumato.schema.draft_table import (
    LABELS,
    is_person_key,
    orders,
    serial_number,
    unit_of,
)
from sfumato.schema.draft_texts import FIXED_POINT, categorical_keys, text_keys, unpublishable
from sfumato.schema.reading import Reading
from sfumato.schema.schema import Schema
from sfumato.text import html_line

if TYPE_CHECKING:
    import pyarrow as pa

Keys = dict[str, Any]


@dataclass(frozen=True)
class Draft:
    """A schema to start from, and why it is so, column by column."""

    schema: Schema
    findings: tuple[Finding, ...]

    def _repr_html_(self) -> str:
        """What was found, column by column, for notebooks."""
        rows = "".join(
            f"<tr><td>{html_line(one.column)}</td><td>{html_line(one.proposal)}</td><td>{html_line(one.why)}</td></tr>"
            for one in self.findings
        )
        head = "<tr><th>column</th><th>proposal</th><th>why</th></tr>"
        return f"<p><b>A draft, taken from the data: not private.</b></p><table>{head}{rows}</table>"


def draft(table: pa.Table, name: str, reading: Reading | None = None, keep: Collection[str] = ()) -> Draft:
    """Guess the kind and the domain of every column from the data; equal tables give equal drafts.

    Args:
        table: the rows, text as text.
        name: of the table.
        reading: how its file was read; the schema states it.
        keep: columns to declare even if they look like identifiers or free text.
    """
    facts = {one: Facts.of(one, table.column(one)) for one in table.column_names}
    unknown = sorted(set(keep) - set(facts))
    if unknown:
        raise SchemaError(f"column {unknown[0]!r} is not in the table; it has {', '.join(facts)}")
    keys: Keys = {"name": name}
    if reading is not None and reading != Reading():
        keys["read"] = reading.model_dump(exclude_defaults=True)
    persons = [one for one in facts.values() if is_person_key(one) and one.name not in keep]
    findings: list[Finding] = []
    if persons:
        person = max(persons, key=lambda one: one.distinct)
        keys["unit"], why = unit_of(person)
        findings.append(Finding(person.name, "unit", why))
    columns, ignored = [], []
    for one in facts.values():
        if persons and one.name == keys["unit"]["column"]:
            continue
        declared, seen, refusal = _column(one)
        if refusal is not None and one.name not in keep:
            ignored.append(one.name)
            findings.append(Finding(one.name, "ignore", refusal))
        else:
            columns.append(declared)
            findings.append(Finding(one.name, declared["type"], _told(one, declared) + seen))
    if not columns:
        raise SchemaError(
            f"every column looks like an identifier or free text ({', '.join(ignored)}), so nothing is left to "
            "declare; name those that you want all the same (--keep COLUMN)"
        )
    keys |= {"ignore": ignored} if ignored else {}
    keys["columns"] = columns
    findings += _related(table, keys)
    labels = [column["name"] for column in columns if column["name"].lower() in LABELS and column["type"] in _CLASSES]
    if labels:
        keys["label"] = labels[0]
    order = {one: place for place, one in enumerate(facts)}
    return Draft(Schema.parse(keys), tuple(sorted(findings, key=lambda one: order[one.column])))


_CLASSES = ("categorical", "boolean")


def _column(facts: Facts) -> tuple[Keys, str, str | None]:
    """The keys of a column, what was seen, and why it must not be published as it is."""
    seen, refusal = "", serial_number(facts)
    tokens: list[str] = []
    if facts.texts:
        keys, tokens, seen = text_keys({str(text): count for text, count in facts.counts.items()})
        if keys["type"] == "categorical":
            words = facts.without(set(tokens))
            refusal = unpublishable(words, facts.rows) or names_of_persons(facts.name, list(words))
        elif keys["type"] == "integer" and not tokens:
            refusal = serial_number(Facts(facts.name, facts.rows, _as_integers(facts), facts.missing))
    else:
        keys = _of_values(facts.counts)
        if keys["type"] == "categorical":
            refusal = refusal or unpublishable({str(value): n for value, n in facts.counts.items()}, facts.rows)
    return _fitting(_declaration(facts.name, keys, facts.missing > 0, tokens)), seen, refusal


def _fitting(declared: Keys) -> Keys:
    """The keys without those that a schema would refuse: bins too narrow, or all of a bin special."""
    for without in ((), ("bins", "joint_bins"), ("edges",), ("special",), ("edges", "special")):
        kept = {key: value for key, value in declared.items() if key not in without}
        try:
            Schema.parse({"name": "draft", "columns": [kept]})
        except SchemaError:
            continue
        return kept
    return declared


def _as_integers(facts: Facts) -> dict[Any, int]:
    texts = {text.strip(): count for text, count in facts.counts.items()}
    return {int(text) if text.lstrip("-").isdigit() else text: count for text, count in texts.items()}


def _declaration(name: str, keys: Keys, nullable: bool, tokens: Sequence[str]) -> Keys:
    """All keys of a column, with a note of what was taken from the data."""
    taken = [word for key, word in _TAKEN.items() if key in keys]
    declared: Keys = {"name": name, **keys}
    if nullable or tokens:
        declared |= {"nullable": True, "null_values": list(tokens) or [""]}
    taken.append("whether values are missing")
    if len(tokens) > 0:
        taken.append("the texts of missing values")
    note = f"taken from the data: {', '.join(taken)}"
    return declared | {"domain_from": "observed", "note": keys.get("note", note)}


_TAKEN = {
    "categories": "categories",
    "min": "min and max",
    "edges": "edges",
    "bins": "bins",
    "values": "values",
    "special": "special values",
    "decimals": "decimals",
    "written": "how numbers are written",
    "format": "format",
    "granularity": "granularity",
    "true_values": "the words for true and false",
}


def _of_values(counts: dict[Any, int]) -> Keys:
    """The keys of a typed column."""
    first = next(iter(counts), None)
    if isinstance(first, float):
        counts = {value: count for value, count in counts.items() if isfinite(value)}
    if not counts:
        return categorical_keys([])
    if isinstance(first, bool):
        return {"type": "boolean"}
    if isinstance(first, int):
        return integer_keys(counts) or categorical_keys([str(value) for value in counts])
    if isinstance(first, float) and all(value.is_integer() and abs(value) < 2**53 for value in counts):
        return integer_keys(counts) or categorical_keys([])
    if isinstance(first, float | Decimal):
        numbers: dict[float, int] = {}
        for value, count in counts.items():
            numbers[float(value)] = numbers.get(float(value), 0) + count
        return number_keys(numbers, _decimals(list(counts)))
    if isinstance(first, date):
        return of_moments(list(counts))
    return categorical_keys([str(value) for value in counts])


def _decimals(values: list[Any]) -> int | None:
    """The number of decimals that all values have at most, if that is few."""
    texts = [format(value, "f") if isinstance(value, Decimal) else repr(value) for value in values]
    if not all(FIXED_POINT.fullmatch(text) for text in texts):
        return None
    return max(len(text.partition(".")[2].rstrip("0")) for text in texts)


def _told(facts: Facts, keys: Keys) -> str:
    """What was seen of a column, in a few words."""
    tokens = set(keys.get("null_values", ()))
    missing = facts.missing + sum(count for value, count in facts.counts.items() if value in tokens)
    values = facts.without(tokens)
    if len(values) == 1 and not missing:
        return "the same value in every row: it says nothing, and could be left out"
    words = f"{len(values):,} different values" if len(values) != 1 else f"{next(iter(values))} or nothing: a mark"
    if "values" in keys:
        words += ", a set of few numbers"
    if "special" in keys:
        words += (
            f"; {', '.join(f'{one:g}' for one in keys['special'])} by itself: far from all others, or in very many rows"
        )
    if "edges" in keys:
        words += "; most are small, so bins grow with the numbers"
    return words + (f"; missing in {missing / facts.rows:.1%} of the rows" if missing else "")


def _related(table: pa.Table, keys: Keys) -> list[Finding]:
    """Declare functions and orders of columns; findings about them, and about what is missing together."""
    found = derive(table, keys)
    named = {column["name"]: column for column in keys["columns"]}
    return found + _ruled(keys, [*_ordered(table, named), *missing_rules(table, named)])


def _ruled(keys: Keys, seen: Sequence[tuple[Keys, Finding]]) -> list[Finding]:
    """Declare what was seen as rules, but for those that the schema would refuse."""
    found = []
    for rule, finding in seen:
        ruled = keys | {"rules": [*keys.get("rules", ()), rule], "rules_from": "observed"}
        try:
            Schema.parse(ruled)
        except SchemaError:
            continue
        keys |= {key: ruled[key] for key in ("rules", "rules_from")}
        found.append(finding)
    return found


def _ordered(table: pa.Table, named: dict[str, Keys]) -> Iterator[tuple[Keys, Finding]]:
    for kind in ("date", "datetime"):
        moments = {
            name: np.array(moments_of(plain(table.column(name)).to_pylist(), column), dtype=np.int64)
            for name, column in named.items()
            if column["type"] == kind
        }
        for first, second in orders(moments):
            yield {"less_or_equal": [first, second]}, Finding(first, "rules", f"never later than {second}")
