"""Files that appear whole or not at all, and never over something else by accident.

What is written grows inside a hidden folder that only its owner can look into, beside the place where it will be, and
is moved there when it is complete. Whatever happens before, that folder vanishes and nothing else has changed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sfumato.errors import FileError

PRIVATE = 0o600
"""The mode of a file for its owner alone, whatever the umask says. Without a mode, a file follows the umask."""


def check_new(path: Path, what: str = "it") -> None:
    """Refuse a path that exists or cannot be made. Called before any budget is spent."""
    if _mode_of(path) is not None:
        raise FileError(
            f"{str(path)!r} exists already; {what} is never overwritten: give another name, or move it away"
        )
    parent = path.parent
    if not parent.is_dir():
        raise FileError(f"{str(parent)!r} is not a folder; make it first, or give a path inside one that exists")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise FileError(f"{str(parent)!r} cannot be written to; give a folder in which you may write")


@contextmanager
def new_folder(folder: Path, what: str = "a folder") -> Iterator[Path]:
    """A staging folder that becomes `folder` when the block ends well, and vanishes when it does not."""
    check_new(folder, what)
    with _staging(folder) as staging:
        whole = staging / "whole"
        whole.mkdir()
        yield whole
        check_new(folder, what)  # a rename would replace an empty folder that appeared in the meantime
        whole.rename(folder)


@contextmanager
def replacing(path: Path, mode: int | None = None) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path`, safely on disk, if the block ends well.

    Where `path` is a symbolic link, the link is replaced, and what it points to stays as it is.
    """
    if stat.S_ISDIR(_mode_of(path) or 0):
        raise FileError(f"{str(path)!r} is a folder; give the name of a file")
    with _staging(path) as staging:
        with _created(staging / "whole", mode) as file:
            yield file
        (staging / "whole").replace(path)


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, which may be larger than memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(path: Path, content: bytes | str, mode: int | None = None) -> None:
    """Write a file whole or not at all; one that exists is replaced."""
    with replacing(path, mode) as file:
        file.write(_bytes(content))


def write_new(contents: Mapping[Path, bytes | str], mode: int | None = None) -> None:
    """Write new files of one folder, all of them or none; a path that exists is refused."""
    for path in contents:
        check_new(path)
    written: list[Path] = []
    with _staging(next(iter(contents))) as staging:
        for number, content in enumerate(contents.values()):
            with _created(staging / str(number), mode) as file:
                file.write(_bytes(content))
        try:
            for number, path in enumerate(contents):
                check_new(path)  # one that appeared in the meantime is not overwritten either
                (staging / str(number)).rename(path)
                written.append(path)
        except BaseException:
            for path in written:
                path.unlink(missing_ok=True)
            raise


def _mode_of(path: Path) -> int | None:
    """The mode of what has this name, be it a dead link; None if there is nothing. Refuses what can be no name."""
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "no system has such a name"
    raise FileError(f"{str(path)[:100]!r} cannot be the name of a file ({reason}); give another one")


@contextmanager
def _staging(path: Path) -> Iterator[Path]:
    """A folder beside `path` that vanishes with what is still in it; what goes wrong with files is a FileError."""
    staging: str | None = None
    try:
        staging = tempfile.mkdtemp(prefix=f".{path.name[:40]}-", dir=path.parent)
        yield Path(staging)
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise FileError(f"{str(path)!r} could not be written ({reason}); nothing was left behind") from None
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def _created(path: Path, mode: int | None) -> Iterator[BinaryIO]:
    """A new file, on disk when the block ends."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    with os.fdopen(handle, "wb") as file:
        if mode is not None:
            path.chmod(mode)
        yield file
        file.flush()
        os.fsync(file.fileno())


def _bytes(content: bytes | str) -> bytes:
    return content.encode("utf-8") if isinstance(content, str) else content
