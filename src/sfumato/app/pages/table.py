"""New: which table, whom privacy protects, and a public guess of how many rows there are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sfumato import tables
from sfumato.app.rendering import command, explained, in_thread, read_form, render, text_of, work_of
from sfumato.app.work import Draft, Work
from sfumato.errors import DataError
from sfumato.schema.draft import draft as draft_schema
from sfumato.schema.schema import Schema
from sfumato.survey import simulate, survey_schema_text

SURVEY = "the built-in survey"
SURVEY_ROWS = 30_000
"""Rows that are simulated, which makes their number public."""


@explained
async def choose(request: Request) -> Response:
    """The form."""
    work = work_of(request)
    found = [(str(path), _shown(path, work.sources)) for path in work.tables()]
    return render(
        request,
        "table.html",
        tables=found,
        survey=SURVEY,
        command=command("schema", "draft", found[-1][0] if found else "TABLE.csv", "--out", "schema.json"),
    )


@explained
async def begin(request: Request) -> Response:
    """Draft a schema for the chosen table."""
    work, form = work_of(request), await read_form(request)
    name = text_of(form, "name")
    if text_of(form, "table") == SURVEY:
        draft = await in_thread(_survey_draft, work, name)
        return RedirectResponse(f"/draft/{draft.id}/schema", 303)
    unit = _unit(text_of(form, "unit"), text_of(form, "person"), text_of(form, "most"))
    path = work.table(text_of(form, "table"))
    keys = await in_thread(_drafted, path, name or path.stem, unit)
    guess = text_of(form, "rows_guess")
    keys |= {"rows_guess": _whole(guess, "the guess")} if guess else {}
    draft = Draft.new(work, name or path.stem, path, keys)
    return RedirectResponse(f"/draft/{draft.id}/schema", 303)


def _drafted(path: Path, name: str, unit: dict[str, Any]) -> dict[str, Any]:
    """A draft with the unit that a person named. What the draft itself took for persons' identifiers is left out."""
    reading = tables.detect(path)
    table = tables.read(path, reading=reading)
    person = unit.get("column")
    if person is not None:
        if person not in table.column_names:
            raise DataError(f"the table has no column {person!r}; give the name of the column that tells persons apart")
        table = table.drop_columns([person])
    keys = draft_schema(table, name, reading).schema.to_dict()
    found = keys.pop("unit", {}).get("column")
    ignored = [*keys.get("ignore", []), *([found] if found else [])]
    return {**keys, "unit": unit, **({"ignore": ignored} if ignored else {})}


def _survey_draft(work: Work, name: str) -> Draft:
    """The simulated survey as a table to practise on, with its public schema."""
    path = work.folder / "tables" / "survey.csv"
    keys = json.loads(survey_schema_text()) | {"rows_guess": SURVEY_ROWS}
    if not path.exists():
        tables.write(simulate(SURVEY_ROWS), path, Schema.parse(keys))
    return Draft.new(work, name or "survey", path, keys)


def _unit(answer: str, person: str, most: str) -> dict[str, Any]:
    if answer == "row":
        return {"rows": 1}
    if answer != "person":
        raise DataError("say whom privacy shall protect: one row, or a person who may have several rows")
    if not person:
        raise DataError("name the column that tells persons apart")
    return {"rows": _whole(most, "the most rows of a person"), "column": person}


def _whole(text: str, what: str) -> int:
    if not text.isdecimal() or not 0 < int(text[:20]) < 10**12:
        raise DataError(f"{what} is {text[:40]!r}; give a whole number above 0")
    return int(text)


def _shown(path: Path, sources: tuple[Path, ...]) -> str:
    source = next(source for source in sources if path.is_relative_to(source))
    return f"{source.name}/{path.relative_to(source)}"
