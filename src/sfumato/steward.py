"""What a steward does from Python: draft a schema, check a table, evaluate and verify a release, write its card."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from sfumato import tables
from sfumato.intake.checking import Problem, problems
from sfumato.release import Release
from sfumato.report.assessment import assess
from sfumato.report.card import Card, card_of, card_of_release
from sfumato.report.figures import Assessment
from sfumato.schema.draft import Draft
from sfumato.schema.draft import draft as draft_table
from sfumato.schema.schema import Schema
from sfumato.tables.kinds import Data
from sfumato.verify.findings import Verdict
from sfumato.verify.verify import verify as verify_folder


def draft(data: Data, name: str | None = None, *, keep: Collection[str] = ()) -> Draft:
    """Draft a schema by looking at a table. It is NOT private: a person must confirm every column.

    Args:
        data: a table, as `fit` takes it.
        name: of the table; by default that of its file.
        keep: columns to declare even if they look like identifiers or free text.

    >>> import pyarrow as pa
    >>> found = draft(pa.table({"age": [31, 45, 28], "sex": ["f", "m", "f"]}), "people")
    >>> found.schema["sex"].categories
    ('f', 'm')
    >>> found.schema.observed
    ('age', 'sex')
    """
    if not isinstance(data, str | PathLike):
        return draft_table(tables.read(data), name or "table", keep=keep)
    path = Path(data)
    reading = tables.detect(path)
    return draft_table(tables.read(path, reading=reading), name or path.name.split(".")[0], reading, keep)


def check(data: Data, schema: Schema | Mapping[str, Any] | str | Path) -> tuple[Problem, ...]:
    """All bad values of a table, column by column; nothing is measured or spent. Rows are for the steward's eyes only.

    >>> import pyarrow as pa
    >>> age = {"name": "age", "type": "integer", "min": 0, "max": 99}
    >>> [problem] = check(pa.table({"age": [31, 450]}), {"name": "t", "columns": [age]})
    >>> problem.rows.tolist() == [1]
    True
    """
    public = Schema.of(schema)
    table = tables.read(data, public)
    person = public.unit.column
    return tuple(problems(table.drop_columns([person]) if person in table.column_names else table, public))


def evaluate(
    real: Data,
    synthetic: Data,
    schema: Schema | Mapping[str, Any] | str | Path,
    *,
    release: Release | str | Path | None = None,
    fast: bool = False,
) -> Assessment:
    """Compare a synthetic table with the real one. The result reads real rows: it is internal, and NOT private.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [31, 45, 28, 60]})
    >>> age = {"name": "age", "type": "integer", "min": 0, "max": 99}
    >>> evaluate(table, table, {"name": "t", "columns": [age]}, fast=True).verdicts[0].grade
    'good'
    """
    public = Schema.of(schema)
    source = Release.load(release) if isinstance(release, str | Path) else release
    return assess(tables.read(real, public), tables.read(synthetic, public.plain), public, source, fast)


def card(release: Release | str | Path) -> Card:
    """The publishable description of a release, made from the release alone; a notebook shows the page.

    >>> import pyarrow as pa
    >>> from sfumato import fit
    >>> age = {"name": "age", "type": "integer", "min": 0, "max": 99}
    >>> release = fit(pa.table({"age": [31, 45, 28]}), {"name": "t", "columns": [age]}, epsilon=1)
    >>> card(release).stamp.words
    'PUBLISHABLE'
    """
    return card_of_release(release) if isinstance(release, Release) else card_of(Path(release))


def verify(folder: str | Path, key: str | None = None, book: str | Path | None = None) -> Verdict:
    """Check a release folder without the private rows: hashes, signature, ledger, tables, post-processing repeated.

    Args:
        folder: of the release.
        key: the public key of who must have signed it, if you know it.
        book: the book that must hold its payment, if you have it.

    >>> verify("no such folder")
    Traceback (most recent call last):
    ...
    sfumato.errors.ReleaseError: 'no such folder' is no release folder; give the folder that synthesize or save wrote
    """
    return verify_folder(folder, key, None if book is None else Path(book))
