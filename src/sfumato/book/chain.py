"""An append-only list of entries in one SQLite file, each chained to the one before by its hash.

SQLite locks the file, so two processes cannot both think that they are the last to have looked; a change is on disk as
a whole when it returns, or was not made. The chain shows whoever changed, removed or put in an entry behind SQLite's
back. Cutting off the end shows when the head is compared with one that somebody else has kept.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfumato.errors import BookError

START = "0" * 64
"""What the first entry names as the hash before it."""

PATIENCE = 10.0
"""Seconds for which a process waits for another that is writing."""

_TABLES = """
CREATE TABLE entries (number INTEGER PRIMARY KEY, entry TEXT NOT NULL, hash TEXT NOT NULL) STRICT;
CREATE TRIGGER never_changed BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
CREATE TRIGGER never_removed BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END;
"""

Entry = dict[str, Any]


class Chain:
    """The entries of a file. Each look at them checks the whole chain."""

    def __init__(self, path: Path, *, new: bool = False):
        self._path = path
        if new:
            try:
                path.touch(mode=0o600, exist_ok=False)
            except OSError as problem:
                reason = problem.strerror or type(problem).__name__
                raise BookError(f"the book {str(path)!r} cannot be made ({reason}); give another name") from None
        elif not path.is_file():
            raise BookError(f"{str(path)!r} is no book; make one first: sfumato book open")
        self._connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        try:
            with self._explained():
                self._connection.execute("PRAGMA synchronous = FULL")
                if new:
                    self._connection.executescript(f"BEGIN IMMEDIATE;{_TABLES}COMMIT;")
            self.entries()
        except BaseException:  # a file that stays open cannot be moved away on Windows
            self._connection.close()
            raise

    @contextmanager
    def change(self) -> Iterator[Change]:
        """One change, while nobody else can make one: on disk as a whole when the block ends, or not made at all."""
        with self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
        try:
            change = Change(self.entries())
            yield change
            with self._explained():
                self._connection.executemany("INSERT INTO entries VALUES (?, ?, ?)", change.rows())
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        with self._explained():
            self._connection.execute("COMMIT")

    def entries(self) -> list[Entry]:
        """All entries, oldest first; refuses a chain that is broken."""
        with self._explained():
            found = self._connection.execute("SELECT number, entry, hash FROM entries ORDER BY number").fetchall()
        entries: list[Entry] = []
        previous = START
        for place, (number, text, given) in enumerate(found, start=1):
            previous = _hash(previous, text)
            if number != place or previous != given:
                raise BookError(
                    f"the book {str(self._path)!r} is broken at entry {place}: it was changed, or an entry is missing; "
                    "keep the file as evidence, and restore the newest copy that is whole"
                )
            entries.append(json.loads(text) | {"number": number, "hash": given})
        return entries

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as problem:
            if "locked" in str(problem):
                text = f"the book {str(self._path)!r} is being written by another process; try again"
            else:
                text = f"{str(self._path)!r} cannot be read or written as a book of Sfumato"
            raise BookError(text) from None
        except sqlite3.DatabaseError:
            raise BookError(f"{str(self._path)!r} is not a book of Sfumato, or is damaged") from None


class Change:
    """Entries that are being added to a chain."""

    def __init__(self, entries: list[Entry]):
        self.entries = entries
        self._new: list[tuple[int, str, str]] = []

    def append(self, entry: Entry) -> Entry:
        """Add an entry, and give it back with its number and its hash."""
        text = json.dumps(entry, sort_keys=True)
        number = len(self.entries) + 1
        digest = _hash(self.entries[-1]["hash"] if self.entries else START, text)
        self._new.append((number, text, digest))
        self.entries.append(entry | {"number": number, "hash": digest})
        return self.entries[-1]

    def rows(self) -> list[tuple[int, str, str]]:
        """What is to be written."""
        return self._new


def _hash(previous: str, text: str) -> str:
    return hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()
