"""The rows of a table on disk: codes in an unlinked file that only this process can reach, counted block by block.

The file is as private as the rows. It has no name from the moment it exists, so nothing else can open it and nothing is
left when the process ends, however it ends. It lies in the folder for temporary files, which TMPDIR names.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, cast
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from sfumato.data.coding import Coding
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal
from sfumato.data.records import Codes, Records, code_type
from sfumato.engines.counting import closed, count_blocks, require_base
from sfumato.errors import DataError


class Spool:
    """An engine that writes codes out once and reads the attributes that a question needs, block after block."""

    def __init__(self, domain: Domain, blocks: Iterable[tuple[Records, int]]):
        """Write blocks out, each with a weight: what every row of it counts."""
        self.domain = domain
        self.sizes: NDArray[np.integer] | None = None
        self._lengths: list[int] = []
        self._weights: list[int] = []
        file = private_file()
        try:
            for block, weight in blocks:
                for column in block.columns:
                    write_whole(file, column.tobytes(), row_bytes(domain))
                self._lengths.append(len(block))
                self._weights.append(weight)
            file.flush()
        except BaseException:
            file.close()
            raise
        self._handle = file.fileno()
        self._close = finalize(self, file.close)

    def count(self, coding: Coding, cliques: Sequence[Clique]) -> Iterator[Marginal]:
        """The exact table of each clique, in the codes of `coding`, whose base is the domain of this engine."""
        if not self._close.alive:
            raise closed()
        require_base(self.domain, coding)
        return count_blocks(zip(self.blocks(), self._weights, strict=True), coding, cliques)

    def blocks(self) -> Iterator[SpooledBlock]:
        """The rows, block by block, each read as it is asked for."""
        start = 0
        for rows in self._lengths:
            yield SpooledBlock(self._handle, self.domain, start, rows)
            start += rows * row_bytes(self.domain)

    def close(self) -> None:
        """Forget the rows; their file is gone with its last user."""
        self._close()
        self._lengths, self._weights, self.sizes = [], [], None

    def __repr__(self) -> str:
        return f"Spool({self.domain!r})"


class SpooledBlock:
    """Some rows of a spool; an attribute is read when it is first asked for, and kept as long as the block."""

    def __init__(self, handle: int, domain: Domain, start: int, rows: int):
        self._handle, self._domain, self._start, self._rows = handle, domain, start, rows
        self._read: dict[str, Codes] = {}

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, name: str) -> Codes:
        if name not in self._read:
            before = sum(code_bytes(size) for size in self._domain.shape[: self._domain.index(name)])
            width = code_bytes(self._domain[name])
            found = read_whole(self._handle, width * self._rows, self._start + before * self._rows)
            self._read[name] = cast(Codes, np.frombuffer(found, dtype=code_type(self._domain[name])))
        return self._read[name]

    def records(self) -> Records:
        """All of its attributes."""
        return Records(self._domain, [self[name] for name in self._domain])


def private_file() -> IO[bytes]:
    """A file that has no name and that only this process can read."""
    try:
        return tempfile.TemporaryFile(prefix="sfumato-", buffering=1 << 20)
    except OSError as problem:
        reason = problem.strerror
    raise DataError(
        f"no temporary file could be made in {tempfile.gettempdir()!r} ({reason}); set TMPDIR to a folder of yours"
    )


def write_whole(file: IO[bytes], content: bytes, bytes_a_row: int) -> None:
    """Write to a private file; a full disk is an error that says what a row needs."""
    try:
        file.write(content)
        return
    except OSError as problem:
        reason = problem.strerror
    raise DataError(
        f"the temporary file in {tempfile.gettempdir()!r} could not be written ({reason}); it needs {bytes_a_row} "
        "bytes for each row of the table: set TMPDIR to a folder with that much room"
    )


def read_whole(handle: int, size: int, start: int) -> bytes:
    """This many bytes of a private file."""
    parts = []
    while size > 0:
        try:
            part = _read_at(handle, min(size, 1 << 30), start)
        except OSError:
            part = b""
        if not part:
            break
        parts.append(part)
        start, size = start + len(part), size - len(part)
    if size > 0:
        raise DataError("the temporary file of the rows could not be read back; the disk may be damaged")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _read_at(handle: int, size: int, start: int) -> bytes:
    """Bytes from a place on: `os.pread`. Windows has none, and no forked process that would move the handle."""
    if hasattr(os, "pread"):
        return os.pread(handle, size, start)
    os.lseek(handle, start, os.SEEK_SET)
    return os.read(handle, size)


def code_bytes(size: int) -> int:
    """Bytes of one code of an attribute with this many."""
    return np.dtype(code_type(size)).itemsize


def row_bytes(domain: Domain) -> int:
    """Bytes of the codes of one row."""
    return sum(map(code_bytes, domain.shape))
