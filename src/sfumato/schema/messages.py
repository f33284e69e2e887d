"""From pydantic's errors to sentences that name the column, the key, and the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from sfumato.schema.column_base import Unit
from sfumato.schema.columns import Column

_SHOWN = 5
_KINDS: dict[str, type[BaseModel]] = {
    get_args(kind.model_fields["type"].annotation)[0]: kind for kind in get_args(get_args(Column)[0])
}
_WANTED = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping of keys",
    "model_type": "a mapping of keys",
    "model_attributes_type": "a mapping of keys",
    "literal_error": "{expected}",
    "enum": "{expected}",
    "greater_than_equal": "a number that is at least {ge}",
    "less_than_equal": "a number that is at most {le}",
    "too_short": "a longer list, with {min_length} or more in it",
    "string_too_short": "a text that is not empty",
}


def explain(error: ValidationError, keys: Mapping[str, Any], schema: type[BaseModel]) -> str:
    """The first few problems of a schema, one per line, in the words of this project."""
    details = [detail for detail in error.errors(include_url=False) if not _echo(detail)]
    problems = [_sentence(detail, keys, schema) for detail in details]
    more = len(problems) - _SHOWN
    return "\n".join([*problems[:_SHOWN], *([f"and {more} more problems"] if more > 0 else [])])


def _echo(detail: ErrorDetails) -> bool:
    """Whether pydantic calls a list too short only because it refused some of its items before."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def _sentence(detail: ErrorDetails, keys: Mapping[str, Any], schema: type[BaseModel]) -> str:
    location = detail["loc"]
    if len(location) > 1 and location[0] == "columns":
        position = int(location[1])
        declared = keys["columns"][position]
        return f"{_column_title(declared, position)}: {_problem(detail, location[2:], declared)}"
    owner, fields = "a schema", schema.model_fields
    if len(location) > 1 and location[0] == "unit":
        owner, fields = "'unit'", Unit.model_fields
    return _problem_of_key(detail, location, owner, fields)


def _column_title(declared: Any, position: int) -> str:
    name = declared.get("name") if isinstance(declared, Mapping) else None
    return f"column {name!r}" if isinstance(name, str) and name else f"column number {position + 1}"


def _problem(detail: ErrorDetails, location: tuple[int | str, ...], declared: Any) -> str:
    """The problem of one column; `location` starts with the kind of the column, if that is known."""
    kinds = ", ".join(_KINDS)
    if detail["type"] == "union_tag_not_found":
        return f"key 'type' is missing; give one of {kinds}"
    if detail["type"] == "union_tag_invalid":
        return f"key 'type' is {_show(declared['type'])}; give one of {kinds}"
    if not location:
        return "the declaration is not a mapping of keys; give at least 'name' and 'type'"
    kind = str(location[0])
    article = "an" if kind[0] in "aeiou" else "a"
    return _problem_of_key(detail, location[1:], f"{article} {kind} column", _KINDS[kind].model_fields)


def _problem_of_key(
    detail: ErrorDetails, location: tuple[int | str, ...], owner: str, fields: Mapping[str, Any]
) -> str:
    if not location:
        return detail["msg"]
    key = ".".join(str(part) for part in location if isinstance(part, str))
    if detail["type"] == "missing":
        return f"key {key!r} is missing; {owner} needs it"
    if detail["type"] == "extra_forbidden":
        return f"key {key!r} is unknown; the keys of {owner} are {', '.join(fields)}"
    verb = "holds" if isinstance(location[-1], int) else "is"
    wanted = detail["msg"] if detail["type"] == "problem" else "give " + _wanted(detail)
    return f"key {key!r} {verb} {_show(detail['input'])}; {wanted}"


def _wanted(detail: ErrorDetails) -> str:
    template = _WANTED.get(detail["type"], "a value of the kind that the documentation of this key asks for")
    return template.format(**detail.get("ctx", {}))


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
