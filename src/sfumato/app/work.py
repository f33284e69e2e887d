"""The work folder: every state of the page as files that outlive the server.

drafts/ID/draft.json     which table
drafts/ID/plan.json      the budget that a person is trying
drafts/ID/schema.json    the schema as far as it is written; for the owner alone, since a draft has looked at rows
runs/ID/                 see runs.py
releases/NAME/           finished releases
book.db                  the book, once a population was opened in it
proposals/NUMBER.json    what a proposal of the book is for: a draft, its schema and the budget
accounts.json            who may sign in, where other machines can reach the page
reports/NAME.html        internal reports; for the owner alone
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from sfumato.errors import DataError, FileError, SfumatoError
from sfumato.files import PRIVATE, write
from sfumato.recipes import DEFAULT
from sfumato.schema.schema import Schema
from sfumato.text import json_text

TABLE_ENDINGS = (".csv", ".csv.gz", ".tsv", ".txt", ".parquet", ".feather", ".arrow", ".xlsx")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
ID = re.compile(r"[0-9a-f]{12}")
"""The name of a draft or run in addresses and on disk."""


@dataclass(frozen=True)
class Work:
    """Where the page keeps its states, and where it may look for tables.

    Args:
        folder: the work folder.
        sources: the folders whose tables may be opened; no path outside them is.
        studies: the folders below which studies with other parties are looked for.
    """

    folder: Path
    sources: tuple[Path, ...]
    studies: tuple[Path, ...] = ()

    @classmethod
    def open(cls, folder: Path, sources: Sequence[Path] = (), studies: Sequence[Path] = ()) -> Self:
        """The work folder, made if it does not exist."""
        folder = folder.resolve()
        try:
            for name in ("drafts", "runs", "releases", "reports", "tables", "proposals", "studies"):
                (folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise FileError(f"{str(folder)!r} cannot be used as a work folder: {error.strerror}") from None
        missing = [str(one) for one in (*sources, *studies) if not one.is_dir()]
        if missing:
            raise FileError(f"{missing[0]!r} is not a folder; give folders that hold tables or studies")
        named = [
            (folder / own, *(one.resolve() for one in given))
            for own, given in (("tables", sources), ("studies", studies))
        ]
        return cls(folder, *named)

    def tables(self) -> list[Path]:
        """The files below the named folders whose names look like tables, at most a few thousand."""
        found = [path for source in self.sources for path in sorted(source.rglob("*"))[:2000]]
        return [path for path in found if path.name.endswith(TABLE_ENDINGS) and path.is_file()]

    def table(self, path: str) -> Path:
        """A file below the named folders; any other path is refused, whatever is there."""
        try:
            found = Path(path).resolve()
            allowed = any(found.is_relative_to(source) for source in self.sources) and found.is_file()
        except (OSError, ValueError):
            allowed = False
        if not allowed:
            raise DataError("that file is not below a folder that this page may read; put it there, or name its folder")
        return found

    @property
    def book(self) -> Path:
        """The book, which may not exist yet."""
        return self.folder / "book.db"

    def release(self, name: str) -> Path:
        """The folder of a release, which may not exist yet."""
        return self.folder / "releases" / file_name(name)

    def report(self, name: str) -> Path:
        """The internal report of a release, which may not exist yet."""
        return self.folder / "reports" / f"{file_name(name)}.html"

    def releases(self) -> list[str]:
        """The names of all releases, newest first."""
        return [path.name for path in _newest(self.folder / "releases") if _NAME.fullmatch(path.name)]

    def drafts(self) -> list[Draft]:
        """All drafts, newest first."""
        found = []
        for path in _newest(self.folder / "drafts"):
            try:
                found.append(Draft.load(self, path.name))
            except SfumatoError:
                continue
        return found


@dataclass(frozen=True)
class Draft:
    """A table on its way to a release.

    Args:
        work: the work folder.
        id: its name in addresses.
        name: what a person calls it.
        table: the file.
    """

    work: Work
    id: str
    name: str
    table: str

    @classmethod
    def new(cls, work: Work, name: str, table: Path, keys: dict[str, Any]) -> Draft:
        """Write a new draft."""
        draft = cls(work, new_id(), name, str(table))
        draft.folder.mkdir(mode=0o700)
        draft.save()
        draft.write_schema(keys)
        return draft

    @classmethod
    def load(cls, work: Work, id: str) -> Draft:
        """Read a draft."""
        if not ID.fullmatch(id):
            raise FileError("there is no such draft; go back to the first page")
        keys = read_json(work.folder / "drafts" / id / "draft.json")
        return cls(work, id, str(keys["name"]), str(keys["table"]))

    @property
    def folder(self) -> Path:
        """Where it is kept."""
        return self.work.folder / "drafts" / self.id

    @property
    def schema_file(self) -> Path:
        """The schema as a file, for the commands that the page shows."""
        return self.folder / "schema.json"

    @property
    def schema(self) -> Schema:
        """The schema as it is now."""
        return Schema.load(self.schema_file)

    def keys(self) -> dict[str, Any]:
        """The keys of the schema, to be changed and written again."""
        return dict(read_json(self.schema_file))

    def write_schema(self, keys: dict[str, Any]) -> None:
        """Check and write a schema; one that is refused changes nothing."""
        schema = Schema.parse(keys)
        write(self.schema_file, json_text(schema.to_dict()) + "\n", PRIVATE)

    def chosen(self) -> dict[str, str]:
        """The budget that a person is trying: epsilon, want, delta, rows_guess and method, as far as given."""
        path = self.folder / "plan.json"
        kept = read_json(path) if path.exists() else {}
        guess = self.schema.rows_guess
        start = {"epsilon": "", "want": "", "delta": "1e-9", "rows_guess": str(guess or ""), "method": DEFAULT}
        return {name: str(kept.get(name, value)) for name, value in start.items()}

    def choose(self, fields: dict[str, str]) -> None:
        """Keep the budget that a person is trying."""
        write(self.folder / "plan.json", json_text(fields) + "\n", PRIVATE)

    def save(self) -> None:
        """Write what is not the schema."""
        write(self.folder / "draft.json", json_text({"name": self.name, "table": self.table}) + "\n", PRIVATE)

    def sign(self, columns: Sequence[str], person: str, reason: str) -> None:
        """Write into the schema that a person accepts the observed domains of these columns."""
        if not person or not reason:
            raise DataError("an observed domain is accepted by a person, with a reason; give both")
        schema = self.schema
        wanted = [name for name in schema.unaccepted if name in columns]
        if wanted:
            self.write_schema(schema.accepting(wanted, person, reason).to_dict())


def new_id() -> str:
    """A name that no other draft or run has."""
    return uuid4().hex[:12]


def file_name(name: str) -> str:
    """The name itself; one that could be a path, or that no file system likes, is refused."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise FileError(
            f"{name[:80]!r} cannot be the name of a release; use letters, digits, dots, hyphens and underscores"
        )
    return name


def read_json(path: Path) -> Any:
    """A JSON file of the work folder."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise FileError(f"{path.name!r} cannot be read any more; go back to the first page") from None


def _newest(folder: Path) -> list[Path]:
    return sorted((path for path in folder.iterdir() if path.is_dir()), key=lambda path: -path.stat().st_mtime)
