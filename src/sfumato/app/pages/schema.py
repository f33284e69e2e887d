"""The schema: one row for each column, edits one by one or many at once, import and export.

A draft has looked at rows. What it took from them is not shown on any page: an observed domain is a number of codes
until a person declares it, or signs for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato.app.rendering import command, explained, person_of, read_form, render, text_of, work_of
from sfumato.app.work import Draft
from sfumato.errors import SchemaError
from sfumato.intake.codec import SchemaCodec
from sfumato.schema import confirming
from sfumato.schema.acceptance import ROWS, RULES
from sfumato.schema.schema import Schema

MANY_CODES = 1000
"""Codes of a column from which on a page advises to have fewer."""

ORDERED = ("integer", "number", "date", "datetime")
TYPES = ("categorical", "boolean", *ORDERED)


@dataclass(frozen=True)
class Line:
    """A column as the page shows it. Forms name it by its number: a name may hold what no page shows as it is."""

    number: int
    name: str
    type: str
    domain: str
    observed: bool
    signed: str
    nullable: bool
    codes: int
    advice: str


def draft_of(request: Request) -> Draft:
    """The draft of an address."""
    return Draft.load(work_of(request), request.path_params["id"])


@explained
async def show(request: Request) -> Response:
    """All columns, or those that a filter leaves."""
    draft = draft_of(request)
    find, only = request.query_params.get("find", ""), request.query_params.get("only", "all")
    lines = lines_of(draft)
    wanted = _wanted(lines, find, only)
    return render(
        request,
        "schema.html",
        draft=draft,
        lines=wanted,
        total=len(lines),
        observed=sum(line.observed and not line.signed for line in lines),
        keys=[name for name in draft.schema.unaccepted if name in (RULES, ROWS)],
        unit=draft.schema.unit,
        find=find,
        only=only,
        kinds=TYPES,
        command=command("schema", "check", draft.table, "--schema", str(draft.schema_file)),
    )


@explained
async def change_many(request: Request) -> Response:
    """One change to all ticked columns, or to all that the filter shows."""
    draft, form = draft_of(request), await read_form(request)
    names, find, only = draft.schema.names, text_of(form, "find"), text_of(form, "only") or "all"
    if text_of(form, "scope") == "shown":
        chosen = [line.name for line in _wanted(lines_of(draft), find, only)]
    else:
        chosen = [named(names, value) for value in form.getlist("column")]
    action = text_of(form, "action")
    if not chosen:
        raise SchemaError("no column is ticked; tick those that shall change, or choose all that are shown")
    if action == "sign":
        draft.sign(chosen, person_of(request, form), text_of(form, "reason"))
    elif action == "declare":
        draft.write_schema(declared_alike(draft.keys(), chosen, form))
    elif action == "ignore":
        left = Schema.parse(_unsigned(draft.keys(), chosen))
        draft.write_schema(confirming.ignored(left, chosen).to_dict())
    else:
        draft.write_schema(changed(draft.keys(), chosen, action))
    return RedirectResponse(f"/draft/{draft.id}/schema?{urlencode({'find': find, 'only': only})}", 303)


@explained
async def change_table(request: Request) -> Response:
    """Settle what the draft took from the rows of the table as a whole: rules, and how many rows of a person count."""
    draft, form = draft_of(request), await read_form(request)
    schema, action = draft.schema, text_of(form, "action")
    if action == "drop-rules":
        draft.write_schema(confirming.without_rules(schema, range(1, len(schema.rules) + 1)).to_dict())
    elif action == "rows":
        number = text_of(form, "rows")
        if not number.isdecimal():
            raise SchemaError("give how many rows of a person count, a whole number such as 5")
        draft.write_schema(confirming.with_persons(schema, schema.unit.column, int(number[:9])).to_dict())
    else:
        draft.sign((RULES, ROWS), person_of(request, form), text_of(form, "reason"))
    return RedirectResponse(f"/draft/{draft.id}/schema", 303)


@explained
async def column(request: Request) -> Response:
    """The form of one column."""
    draft = draft_of(request)
    name = named(draft.schema.names, request.query_params.get("column"))
    keys = _column_keys(draft.keys(), name)
    line = next(line for line in lines_of(draft) if line.name == name)
    return render(
        request,
        "column.html",
        draft=draft,
        line=line,
        fields=fields(keys, line.observed),
        command=command("schema", "edit", str(draft.schema_file)),
    )


@explained
async def change_column(request: Request) -> Response:
    """Declare one column anew."""
    draft, form = draft_of(request), await read_form(request)
    keys, name = draft.keys(), named(draft.schema.names, form.get("column"))
    before = _column_keys(keys, name)
    after = declared(before, form)
    keys["columns"] = [after if one["name"] == name else one for one in keys["columns"]]
    declares = after.get("domain_from") == "declared"  # nobody needs to sign for it any more
    draft.write_schema(_unsigned(keys, [name]) if declares else keys)
    return RedirectResponse(f"/draft/{draft.id}/schema", 303)


@explained
async def bring(request: Request) -> Response:
    """Take a whole schema file to replace this one."""
    draft, form = draft_of(request), await read_form(request)
    try:
        keys = json.loads(text_of(form, "text"))
    except (ValueError, RecursionError):
        raise SchemaError("that is not valid JSON; paste the whole text of a schema file") from None
    draft.write_schema(keys)
    return RedirectResponse(f"/draft/{draft.id}/schema", 303)


@explained
async def take(request: Request) -> Response:
    """The schema as a file. It may hold values of the table as long as a domain is observed."""
    draft = draft_of(request)
    headers = {"Content-Disposition": 'attachment; filename="schema.json"'}
    return Response(draft.schema_file.read_bytes(), media_type="application/json", headers=headers)


def named(names: Sequence[str], number: object) -> str:
    """The column of a number in a form or address."""
    if not isinstance(number, str) or not number.isdecimal() or int(number[:9]) >= len(names):
        raise SchemaError("that column is not in the schema any more; go back and reload the page")
    return names[int(number)]


def lines_of(draft: Draft) -> list[Line]:
    """The columns of a draft as the page shows them."""
    schema = draft.schema
    domain = SchemaCodec(schema).domain
    keys = {one["name"]: one for one in draft.keys()["columns"]}
    signed = {name: f"{one.by}, {one.reason}" for one in schema.accept_observed for name in one.columns}
    return [
        Line(
            number=number,
            name=name,
            type=keys[name]["type"],
            domain=_domain_words(keys[name], name in schema.observed, size),
            observed=name in schema.observed,
            signed=signed.get(name, ""),
            nullable=bool(keys[name].get("nullable")),
            codes=size,
            advice=_advice(keys[name], size, name in schema.observed),
        )
        for number, (name, size) in enumerate(domain.items())
    ]


def changed(keys: dict[str, Any], chosen: Sequence[str], action: str) -> dict[str, Any]:
    """The keys of a schema with one change to the chosen columns."""
    changes: dict[str, Mapping[str, Any]] = {
        "nullable": {"nullable": True},
        "complete": {"nullable": False, "null_values": []},
        "clip": {"outside": "clip"},
    }
    if action not in changes:
        raise SchemaError("choose what shall change, and send the form again")
    return {
        **keys,
        "columns": [
            {**one, **changes[action]}
            if one["name"] in chosen and (action != "clip" or one["type"] in ORDERED)
            else one
            for one in keys["columns"]
        ],
    }


def declared_alike(keys: dict[str, Any], chosen: Sequence[str], form: FormData) -> dict[str, Any]:
    """The keys of a schema in which the chosen columns have the domain that a person gave for all of them."""
    if not any(text_of(form, name) for name in ("categories", "min", "max", "bins", "true_values")):
        raise SchemaError("no domain was given; write down the labels, the words for yes and no, or the bounds")
    columns = []
    for one in keys["columns"]:
        if one["name"] in chosen:
            missing = {name: one[name] for name in ("nullable", "null_values") if name in one}
            own = {**declared(one, form), **missing}
            columns.append(own)
        else:
            columns.append(one)
    return _unsigned({**keys, "columns": columns}, chosen)


def fields(keys: Mapping[str, Any], observed: bool) -> dict[str, str]:
    """The fields of a column's form. What was observed in the data stays hidden."""
    shown = {} if observed else keys
    return {
        "type": str(keys["type"]),
        "categories": "\n".join(shown.get("categories", [])),
        "other": str(shown.get("other") or ""),
        "true_values": ", ".join(shown.get("true_values", [])),
        "false_values": ", ".join(shown.get("false_values", [])),
        "min": str(shown.get("min", "")),
        "max": str(shown.get("max", "")),
        "bins": str(shown.get("bins") or ""),
        "null_values": ", ".join(shown.get("null_values", [])),
        "note": str(shown.get("note") or ""),
    }


def declared(before: Mapping[str, Any], form: FormData) -> dict[str, Any]:
    """The keys of a column as a person declares them; fields that are left empty keep what is there."""
    kind = text_of(form, "type") or str(before["type"])
    same = kind == before["type"]
    after = dict(before) if same else {"name": before["name"], "type": kind}
    given: dict[str, Any] = {}
    if kind == "categorical":
        given["categories"] = [line.strip() for line in text_of(form, "categories").splitlines() if line.strip()]
        given["other"] = text_of(form, "other")
    elif kind == "boolean":
        given["true_values"], given["false_values"] = (
            _listed(text_of(form, name)) for name in ("true_values", "false_values")
        )
    else:
        given |= {name: _number(text_of(form, name), kind) for name in ("min", "max")}
        given["bins"] = _number(text_of(form, "bins"), "integer")
        after["outside"] = "clip" if form.get("clip") else "refuse"
    after |= {name: value for name, value in given.items() if value not in ("", [], None)}
    if any(given.get(name) not in ("", [], None) for name in ("categories", "true_values", "min", "max")):
        after["domain_from"] = "declared"  # a person wrote it down
        after = {key: value for key, value in after.items() if key not in ("edges", "values", "special", "cuts")}
    if form.get("nullable"):
        after |= {
            "nullable": True,
            **({"null_values": words} if (words := _listed(text_of(form, "null_values"))) else {}),
        }
    else:
        after = {name: value for name, value in after.items() if name not in ("nullable", "null_values")}
    return {**after, **({"note": note} if (note := text_of(form, "note")) else {})}


def _unsigned(keys: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The keys of a schema in which nobody has accepted the domains of these columns."""
    left = [
        {**one, "columns": [name for name in one["columns"] if name not in names]}
        for one in keys.get("accept_observed", [])
    ]
    return {**keys, "accept_observed": [one for one in left if one["columns"]]}


def _column_keys(keys: Mapping[str, Any], name: str) -> dict[str, Any]:
    for one in keys["columns"]:
        if one["name"] == name:
            return dict(one)
    raise SchemaError(f"column {name!r} is not in the schema; go back to the list of columns")


def _wanted(lines: Sequence[Line], find: str, only: str) -> list[Line]:
    """The columns that a filter leaves."""

    def fits(line: Line) -> bool:
        kinds = {"observed": line.observed and not line.signed, "advice": bool(line.advice), "all": True}
        return kinds.get(only, line.type == only) and find.lower() in line.name.lower()

    return [line for line in lines if fits(line)]


def _domain_words(keys: Mapping[str, Any], observed: bool, size: int) -> str:
    if observed:
        return f"{size:,} codes, taken from the data and not shown here"
    if "categories" in keys:
        first = ", ".join(keys["categories"][:4])
        return first + (f", … ({len(keys['categories'])} in all)" if len(keys["categories"]) > 4 else "")
    if "min" in keys:
        return f"{keys['min']} to {keys['max']}"
    return "yes or no"


def _advice(keys: Mapping[str, Any], size: int, observed: bool) -> str:
    if size > MANY_CODES:
        return f"{size:,} codes are many: give fewer bins, or leave the column out if it tells persons apart"
    if observed:
        return "write down what is publicly known, or sign for what the draft took from the data"
    if keys["type"] in ORDERED and keys.get("outside", "refuse") == "refuse":
        return "a value outside the bounds would stop the run: clip it"
    return ""


def _listed(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _number(text: str, kind: str) -> Any:
    if not text or kind in ("date", "datetime"):
        return text
    try:
        return int(text) if kind == "integer" else float(text)
    except ValueError:
        raise SchemaError(f"{text[:40]!r} is not a number; give one, such as 0 or 120") from None
