"""A release: its files, card, ledger, a query builder, and more rows. Made from the release alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from sfumato import tables
from sfumato.app.guard import DOCUMENT_POLICY
from sfumato.app.pages.schema import named
from sfumato.app.rendering import command, explained, in_thread, read_form, render, text_of, work_of
from sfumato.errors import DataError, FileError
from sfumato.release import Release
from sfumato.report.card import card_of, card_report
from sfumato.verify.verify import verify as verify_release

MOST_CELLS = 400
"""Cells of an answer that a page shows; the fullest of more."""

MOST_ROWS = 1_000_000


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
    columns = [named(release.schema.names, value) for value in request.query_params.getlist("column")]
    cells, more, why = (await in_thread(_cells, release, columns)) if columns else ([], 0, "")
    return render(
        request,
        "release.html",
        name=folder.name,
        release=release,
        sentence=release.ledger.sentence(),
        files=sorted(path.name for path in folder.iterdir() if path.is_file()),
        columns=[column.name for column in release.schema.columns],
        asked=columns,
        cells=cells,
        more=more,
        why=why,
        command=command("query", str(folder), ",".join(columns or ["COLUMN"])),
        events=len(release.ledger.entries),
    )


@explained
async def file(request: Request) -> Response:
    """One file of a release."""
    folder, wanted = folder_of(request), request.path_params["file"]
    names = {path.name for path in folder.iterdir() if path.is_file()}
    if wanted not in names:
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
    only = text_of(form, "given_column")
    given = {named(release.schema.names, only): text_of(form, "given_value")} if only else {}
    content = await in_thread(_drawn, release, int(rows), given)
    headers = {"Content-Disposition": f'attachment; filename="{folder.name}-{rows}-rows.csv"'}
    return Response(content, media_type="text/csv", headers=headers)


def _drawn(release: Release, rows: int, given: Mapping[str, str]) -> bytes:
    table = release.sample_arrow(rows, None, given)
    with TemporaryDirectory() as place:
        path = Path(place) / "rows.csv"
        tables.write(table, path, release.schema)
        return path.read_bytes()


def _cells(release: Release, columns: list[str]) -> tuple[list[dict[str, Any]], int, str]:
    """The cells of an answer (of very many the fullest), how many more there are, and why there is no interval."""
    table = release.marginal_arrow(*columns)
    labels = zip(*(table.column(place).to_pylist() for place in range(len(columns))), strict=True)
    figures = zip(*(table.column(len(columns) + place).to_pylist() for place in range(4)), strict=True)
    rows = [
        {"labels": cell, "count": count, "low": low, "high": high}
        for cell, (count, _, low, high) in zip(labels, figures, strict=True)
    ]
    left = max(0, len(rows) - MOST_CELLS)
    if left:
        rows = sorted(rows, key=lambda row: -row["count"])[:MOST_CELLS]
    most = max((row["count"] for row in rows), default=1) or 1
    why = (table.schema.metadata or {}).get(b"no_interval", b"").decode()
    return [{**row, "share": round(100 * max(0.0, row["count"]) / most)} for row in rows], left, why
