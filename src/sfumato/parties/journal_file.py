"""The file of a journal: one process writes it, others may read it at the same time, and a full disk is named."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sfumato.errors import FileError, NoRoom, ProtocolError

_TABLES = """
CREATE TABLE IF NOT EXISTS attempts (
    round INTEGER, attempt INTEGER, state TEXT NOT NULL, asked TEXT NOT NULL, payload BLOB NOT NULL,
    entries TEXT NOT NULL, cost TEXT NOT NULL, spent INTEGER NOT NULL, PRIMARY KEY (round, attempt)
);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS heads (party TEXT PRIMARY KEY, length INTEGER NOT NULL, digest TEXT NOT NULL);
"""


def hold(folder: Path) -> sqlite3.Connection:
    """Hold a folder for this process, until what is returned is closed or the process ends.

    Two processes with one journal could both think that they are the one who answers. The lock is a file of its own, so
    the journal can be read by others meanwhile.
    """
    path = folder / "journal.lock"
    try:
        path.touch(mode=0o600)
        connection = sqlite3.connect(path, timeout=0.2, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.Error) as problem:
        raise FileError(
            f"{str(folder)!r} cannot be written ({problem}); give a folder in which you may write"
        ) from None
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as problem:
        connection.close()
        if _is_busy(problem):
            raise ProtocolError(
                f"the journal in {str(folder)!r} is in use by another process; stop that one first, or give "
                "another folder"
            ) from None
        raise unwritten(path, problem) from None
    return connection


def open_journal_file(path: Path) -> sqlite3.Connection:
    """The database of a journal, which is made if it does not exist."""
    try:
        path.touch(mode=0o600)
    except OSError as problem:
        raise FileError(f"{str(path)!r} cannot be written ({problem.strerror}); make room, and start again") from None
    connection = sqlite3.connect(path, timeout=5, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.executescript(_TABLES)
    except sqlite3.OperationalError as problem:
        connection.close()
        raise unwritten(path, problem) from None
    except sqlite3.DatabaseError:
        connection.close()
        raise ProtocolError(f"{str(path)!r} is not a journal of Sfumato; give another folder") from None
    return connection


def unwritten(path: Path, problem: sqlite3.Error) -> NoRoom:
    """What to say when a journal cannot be written: mostly, the disk is full."""
    return NoRoom(f"{str(path)!r} cannot be written ({problem}); nothing was sent: make room, and start again")


def _is_busy(problem: sqlite3.OperationalError) -> bool:
    return getattr(problem, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
