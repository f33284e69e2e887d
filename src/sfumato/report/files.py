"""Report files: refused early if they exist, written all together or not at all, and private ones for nobody else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sfumato.errors import ReleaseError


def check_free(*files: Path) -> None:
    """Refuse a file that exists or that cannot be made; called before any work."""
    for file in files:
        if file.exists():
            raise ReleaseError(
                f"{str(file)!r} exists already; it is never overwritten: give another name, or move it away"
            )
        if not file.parent.is_dir():
            raise ReleaseError(
                f"{str(file.parent)!r} is not a folder; make it first, or give a path inside one that exists"
            )
        if not os.access(file.parent, os.W_OK | os.X_OK):
            raise ReleaseError(f"{str(file.parent)!r} cannot be written to; give a folder in which you may write")


def html_name(file: Path) -> Path:
    """The file itself; a name that does not end in .html is refused."""
    if file.suffix.lower() != ".html":
        raise ReleaseError(f"report {str(file)!r} does not end in .html; give a name that does")
    return file


def write(contents: Mapping[Path, str], *, private: bool) -> None:
    """Write text files under temporary names, and rename them when all are complete.

    A private file was made from real rows. Only its owner may read it, at no moment anybody else, whatever the umask.
    """
    mode = 0o600 if private else 0o666
    staged = {file: file.with_name(f".{file.name}.{os.getpid()}") for file in contents}
    written: list[Path] = []
    try:
        for file, staging in staged.items():
            handle = os.open(staging, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as new:
                new.write(contents[file])
        check_free(*contents)  # one that appeared in the meantime is not overwritten either
        for file, staging in staged.items():
            staging.rename(file)
            written.append(file)
    except OSError as problem:
        for file in written:
            file.unlink(missing_ok=True)
        names = " and ".join(repr(file.name) for file in contents)
        raise ReleaseError(
            f"{names} could not be written ({problem.strerror}); nothing was left behind: give another name"
        ) from None
    finally:
        for staging in staged.values():
            staging.unlink(missing_ok=True)
