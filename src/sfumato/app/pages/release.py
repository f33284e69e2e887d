"""A release: its files, card, ledger, a query builder, and more rows. Made from the release alone."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from sfumato import tables
from sfumato.app.chart import MOST_BARS, Bar, chart
from sfumato.app.guard import DOCUMENT_POLICY
from sfumato.app.pages.schema import named
from sfumato.app.rendering import command, explained, in_thread, read_form, render, text_of, work_of
from sfumato.errors import DataError, FileError
from sfumato.release import Release
from sfumato.report.card import card_of, card_report
from sfumato.schema.columns import Boolean, Integer, Number
from sfumato.schema.conditions import conditions_of
from sfumato.verify.verify import verify as verify_release

MOST_CELLS = 400
"""Cells of an answer that a page shows; the fullest of more."""

MOST_ROWS = 1_000_000
CONFIDENCES = ("0.9", "0.95", "0.99")
CONDITIONS = 3
"""Conditions that the form for more rows has room for."""

FILES = {
    "synthetic.csv": "the synthetic rows",
    "release.json": "the guarantee, and what was done",
    "ledger.json": "every event that cost budget",
    "answers.json": "noisy scores and choices that led to the tables",
    "schema.json": "the public schema",
    "manifest.json": "the hashes of all files",
    "verify.py": "checks the release without Sfumato",
    "croissant.json": "for catalogues (Croissant)",
    "datapackage.json": "for catalogues (Frictionless)",
    "registry.yaml": "for registries of deployments",
}


def folder_of(request: Request) -> Path:
    """The folder of a release, which must be there."""
    folder = work_of(request).release(request.path_params["name"])
    if not folder.is_dir():
        raise FileError(f"there is no release {folder.name!r}; the first page lists those that there are")
    return folder


@explained
async def show(request: Request) -> Response:
    """Files, guarantee, ledger, and what may be asked."""
    folder = folder_of(request)
    release = await in_thread(Release.load, folder)
    asked = request.query_params
    columns = list(dict.fromkeys(named(release.schema.names, value) for value in asked.getlist("column")))
    mean = named(release.schema.names, asked["mean"]) if asked.get("mean") else ""
    confidence = asked.get("confidence", "0.95")
    if confidence not in CONFIDENCES:
        raise DataError(f"the confidence is {confidence[:20]!r}; choose one of {', '.join(CONFIDENCES)}")
    answer = await in_thread(_answer, release, columns, mean, float(confidence)) if columns else None
    return render(
        request,
        "release.html",
        name=folder.name,
        release=release,
        sentence=release.ledger.sentence(),
        files=[(path.name, FILES.get(path.name, ""), path.stat().st_size) for path in _files(folder)],
        columns=list(release.schema.names),
        numbers=[one.name for one in release.schema.columns if isinstance(one, Boolean | Integer | Number)],
        asked=columns,
        mean=mean,
        confidence=confidence,
        confidences=CONFIDENCES,
        answer=answer,
        conditions=CONDITIONS,
        query_command=command(*_query_words(folder, columns or [release.schema.names[0]], mean, confidence)),
        sample_command=command("sample", str(folder), "--rows", "1000", "--out", "rows.csv"),
        events=len(release.ledger.entries),
    )


@explained
async def file(request: Request) -> Response:
    """One file of a release."""
    folder, wanted = folder_of(request), request.path_params["file"]
    if wanted not in {path.name for path in _files(folder)}:
        raise FileError(f"the release has no file {wanted!r}")
    return FileResponse(folder / wanted, media_type="application/octet-stream", filename=wanted)


@explained
async def card(request: Request) -> Response:
    """The publishable card."""
    text = await in_thread(lambda folder: card_report(card_of(folder)), folder_of(request))
    return HTMLResponse(text, headers={"Content-Security-Policy": DOCUMENT_POLICY})


@explained
async def verify(request: Request) -> Response:
    """Everything that can be checked from the folder alone; rows are drawn again, which takes a moment."""
    folder = folder_of(request)
    verdict = await in_thread(verify_release, folder)
    return render(
        request, "verify.html", name=folder.name, verdict=verdict.to_dict(), command=command("verify", str(folder))
    )


@explained
async def sample(request: Request) -> Response:
    """More rows, free of charge, as a CSV file."""
    folder, form = folder_of(request), await read_form(request)
    rows = text_of(form, "rows")
    if not rows.isdecimal() or not 0 < int(rows[:9]) <= MOST_ROWS:
        raise DataError(f"{rows[:20]!r} rows were asked for; give a number from 1 to {MOST_ROWS:,}")
    release = await in_thread(Release.load, folder)
    pairs = zip(form.getlist("given_column"), form.getlist("given_value"), strict=False)
    wished = [(named(release.schema.names, column), str(value).strip()) for column, value in pairs if column]
    content = await in_thread(_drawn, release, int(rows), conditions_of(wished))
    headers = {"Content-Disposition": f'attachment; filename="{folder.name}-{rows}-rows.csv"'}
    return Response(content, media_type="text/csv", headers=headers)


def _drawn(release: Release, rows: int, given: Mapping[str, Any]) -> bytes:
    table = release.sample_arrow(rows, None, given)
    with TemporaryDirectory() as place:
        path = Path(place) / "rows.csv"
        tables.write(table, path, release.schema)
        return path.read_bytes()


@dataclass(frozen=True)
class Answer:
    """What a question to a release got.

    Args:
        title: what is counted, or the mean of which column.
        bars: the cells, of very many the fullest.
        more: how many cells are not shown.
        why: why there is no interval, or what else an interval allows for.
        chart: a drawing of the first of them.
        drawn: how many are in the drawing.
    """

    title: str
    bars: list[Bar]
    more: int
    why: str
    chart: Markup
    drawn: int


def _answer(release: Release, columns: list[str], mean: str, confidence: float) -> Answer:
    """Counts of cells, or means of a column in them."""
    if mean:
        means = release.means(mean, *columns, confidence=confidence)
        bars = [Bar(cell, one.value, one.low, one.high) for cell, one in means if one.value is not None]
        notes = dict.fromkeys(text for _, one in means for text in (one.no_interval, one.note) if text)
        why, title = "; ".join(notes), f"Mean of {mean} by {', '.join(columns)}"
    else:
        table = release.marginal_arrow(*columns, confidence=confidence)
        cells = zip(*(table.column(place).to_pylist() for place in range(len(columns))), strict=True)
        figures = zip(*(table.column(len(columns) + place).to_pylist() for place in range(4)), strict=True)
        bars = [Bar(cell, count, low, high) for cell, (count, _, low, high) in zip(cells, figures, strict=True)]
        why = (table.schema.metadata or {}).get(b"no_interval", b"").decode()
        title = f"Rows by {', '.join(columns)}"
    more = max(0, len(bars) - MOST_CELLS)
    if len(bars) > MOST_BARS:
        bars = sorted(bars, key=lambda bar: -bar.value)[:MOST_CELLS]
    return Answer(title, bars, more, why, chart(bars, title, not mean) if bars else Markup(), min(len(bars), MOST_BARS))


def _query_words(folder: Path, columns: list[str], mean: str, confidence: str) -> list[str]:
    """The command that gets the same answer; names with commas or quotes are written as in a CSV file."""
    line = StringIO()
    csv.writer(line, lineterminator="").writerow(columns)
    words = ["query", str(folder), line.getvalue(), "--confidence", confidence]
    return [*words, "--mean", mean] if mean else words


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file())
