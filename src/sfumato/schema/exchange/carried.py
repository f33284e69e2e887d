"""What comes over from another tool's schema, and what an export could not say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sfumato.schema.schema import Schema

Keys = dict[str, Any]

DOMAIN_KEYS = ("categories", "min", "max")


@dataclass(frozen=True)
class Carried:
    """A schema as far as another tool's file tells it.

    Args:
        keys: the keys of our schema; a column may still lack its domain.
        lost: what the file says and our schema does not, one sentence each.
        open: what a person has to fill in, one sentence each.
    """

    keys: Keys
    lost: tuple[str, ...] = ()
    open: tuple[str, ...] = field(default=())

    def unconfirmed(self, file: str) -> Carried:
        """The same, with every domain marked as not confirmed, and what is missing listed."""
        columns = [{**column, "domain_from": f"observed, imported from {file}"} for column in self.keys["columns"]]
        missing = tuple(f"column {column['name']!r}: {words}" for column in columns for words in _missing(column))
        return replace(self, keys={**self.keys, "columns": columns}, open=(*self.open, *missing))


@dataclass(frozen=True)
class Exported:
    """A schema in the words of another tool.

    Args:
        text: the content of its file.
        lost: what that tool cannot say, one sentence each.
    """

    text: str
    lost: tuple[str, ...]


def _missing(column: Mapping[str, Any]) -> Iterable[str]:
    kind = column["type"]
    if kind == "categorical" and not column.get("categories"):
        yield "the file has no list of its values; add 'categories'"
    if kind in ("integer", "number", "date", "datetime") and not {"min", "max"} <= set(column):
        yield "the file has no bounds; add 'min' and 'max'"


def lost_in(schema: Schema, carried: Iterable[str] = ()) -> tuple[str, ...]:
    """Every key that a schema sets and an export leaves out; `carried` are those it takes along."""
    kept = {*_PLAIN, *carried}
    keys = schema.to_dict()
    table = [f"key {key!r} of the table" for key in keys if key not in kept]
    columns = [
        f"key {key!r} of column {column['name']!r}"
        for column in keys["columns"]
        for key, value in column.items()
        if key not in kept and not (key == "null_values" and value == [""])
    ]
    return (*table, *columns, "key 'domain_from': where each domain comes from")


_PLAIN = ("name", "columns", "type", "categories", "min", "max", "nullable", "domain_from")


def kind_of(column: Any) -> str:
    """The kind of a column, in one word."""
    return str(column.type)


def plain(value: Any) -> Any:
    """A bound as JSON: numbers stay, dates and moments become ISO text."""
    return value if isinstance(value, bool | int | float | str) else value.isoformat()
