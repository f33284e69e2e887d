"""Text files, one row a line: what becomes of a line depends on that line alone.

CSV allows line breaks inside quotes. A reader that follows it makes one row of everything up to the next quote, so one
quote too many in one row swallows rows of others. Here a line is a row; a line with quotes that do not stand around a
whole field, or with more or fewer fields than the header, is malformed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from sfumato.tables.raw import unicode_text

_BLOCK = 1 << 23
_LONGEST = 1 << 24
"""A line of more bytes is malformed: no declared value is as long."""
TEXTS = pa.dictionary(pa.int32(), pa.large_string())
"""The type of columns: texts repeat, and each is looked at once."""
_MARK = b"\xef\xbb\xbf"
"""What some programs write at the start of a UTF-8 file."""


class Bytes(Protocol):
    """What is needed of a file."""

    def read(self, size: int, /) -> bytes:
        """At most this many bytes, and none at the end."""
        ...


class _Transcoded:
    """A file in an encoding of one byte a letter, as UTF-8. A byte that is no letter becomes U+FFFD."""

    def __init__(self, file: Bytes, encoding: str):
        self._file, self._encoding = file, encoding

    def read(self, size: int, /) -> bytes:
        return self._file.read(size).decode(self._encoding, "replace").encode()


def transcoded(file: Bytes, encoding: str) -> Bytes:
    """The file as UTF-8; bytes that are not, in a file which says that it is, stay as they are."""
    return file if encoding == "utf-8" else _Transcoded(file, encoding)


def first_line(file: Bytes) -> bytes | None:
    """The first line of a file that is not empty; None if there is none."""
    for block in _blocks(file):
        for line in block.splitlines():
            if line:
                return line
    return None


def _blocks(file: Bytes) -> Iterator[bytes]:
    """The file in parts that end with a line."""
    rest = file.read(max(_BLOCK, len(_MARK))).removeprefix(_MARK)
    while part := file.read(_BLOCK):
        cut = max(rest.rfind(b"\n"), rest.rfind(b"\r")) + 1
        if cut:
            yield rest[:cut]
        rest = rest[cut:] + part
    yield rest


class Lines:
    """Parses lines, and remembers what was wrong with them.

    `malformed` says whether there were malformed lines, and `broken` which columns had bytes that are not UTF-8.
    """

    def __init__(self, names: Sequence[str], delimiter: str):
        self._names = list(names)
        self._delimiter = delimiter
        self._well_formed = _record(len(names), delimiter)
        self.malformed = False
        self.broken: set[str] = set()

    def read(self, file: Bytes) -> Iterator[pa.Table]:
        """The lines of a file but for the first that is not empty, as dictionaries of text, part by part.

        Malformed lines are left out; bytes that are not UTF-8 are U+FFFD, value by value.
        """
        yield pa.table({name: pa.array([], pa.large_string()).dictionary_encode() for name in self._names})
        blocks = _blocks(file)
        for block in blocks:
            rest = re.sub(rb"\A[\r\n]*[^\r\n]+", b"", block)
            if rest != block:
                yield from self._parse(rest)
                break
        for block in blocks:
            yield from self._parse(block)

    def _parse(self, block: bytes) -> Iterator[pa.Table]:
        """The rows of a block."""
        unicode = _is_unicode(block)
        quoted = b'"' in block and not plainly_quoted(block, self._delimiter)
        if quoted or len(block) > 2 * _BLOCK or not unicode:
            block = b"\n".join(line for line in block.splitlines() if self._is_well_formed(line))
        if not block.strip(b"\r\n"):
            return
        kind = TEXTS if unicode else pa.binary()
        table = arrow_csv.read_csv(
            arrow_source(block),
            read_options=arrow_csv.ReadOptions(column_names=self._names, block_size=len(block) + 1, use_threads=False),
            parse_options=arrow_csv.ParseOptions(delimiter=self._delimiter, invalid_row_handler=self._skip),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(self._names, kind), strings_can_be_null=False, check_utf8=False
            ),
        )
        yield table if unicode else self._decoded(table)

    def _decoded(self, table: pa.Table) -> pa.Table:
        texts = {name: unicode_text(table.column(name)) for name in self._names}
        self.broken |= {name for name, (_, clean) in texts.items() if not clean}
        return pa.table({name: text.dictionary_encode() for name, (text, _) in texts.items()})

    def _is_well_formed(self, line: bytes) -> bool:
        good = not line or (len(line) <= _LONGEST and self._well_formed.fullmatch(line) is not None)
        self.malformed |= not good
        return good

    def _skip(self, row: arrow_csv.InvalidRow) -> str:
        self.malformed = True
        return "skip"


def arrow_source(content: bytes) -> pa.BufferReader:
    """Bytes for Arrow to read, as a copy of its own.

    Its threads let go of what they were given a little after the call. What belongs to Python they can free only while
    Python runs: a program that ended in that moment was aborted. For the same reason text is parsed without threads,
    which would hold on to the function that is asked about bad lines.
    """
    copy = pa.allocate_buffer(len(content))
    memoryview(copy).cast("B")[:] = content
    return pa.BufferReader(copy)


def _record(fields: int, delimiter: str) -> re.Pattern[bytes]:
    """A row as RFC 4180 has it: a quote may stand around a field, and doubled inside of such a field."""
    cut = re.escape(delimiter)
    field = f'(?:"(?:[^"]|"")*+"|[^"{cut}\\r\\n]*+)'
    return re.compile(f"{field}(?:{cut}{field}){{{fields - 1}}}".encode())


def is_well_formed(content: bytes, fields: int, delimiter: str) -> bool:
    """Whether a text is rows of this many fields, which may hold line breaks inside quotes.

    A quote too many turns what is inside quotes and what is outside around, from there on. Where other rows have
    quotes too, some of them then stand in the middle of a field; where none has, the last quote is never closed.
    """
    record, place = _record(fields, delimiter), 0
    while place < len(content):
        if content[place] in b"\r\n":
            place += 1
            continue
        found = record.match(content, place)
        if found is None or content[found.end() : found.end() + 1] not in (b"", b"\r", b"\n"):
            return False
        place = found.end()
    return True


def plainly_quoted(block: bytes, delimiter: str) -> bool:
    """Whether quotes stand in pairs around whole fields, inside of one line each, with no quote in between.

    Then no line is malformed for its quotes, and lines need not be looked at one by one.
    """
    signs = np.frombuffer(b"\n" + block + b"\n", dtype=np.uint8)
    quote, cut, line, feed = b'"' + delimiter.encode() + b"\n\r"
    marks = np.flatnonzero((signs == quote) | (signs == line) | (signs == feed))
    among = np.flatnonzero(signs[marks] == quote)
    opening, closing = among[::2], among[1::2]
    if len(opening) != len(closing) or (closing != opening + 1).any():  # one is left, or a line ends between two
        return False
    before, after = signs[marks[opening] - 1], signs[marks[closing] + 1]
    return all(bool(((one == cut) | (one == line) | (one == feed)).all()) for one in (before, after))


def _is_unicode(block: bytes) -> bool:
    """Whether a block is UTF-8. Arrow cannot show malformed lines that are not, so they must not reach it."""
    try:
        return block.isascii() or bool(block.decode())
    except UnicodeDecodeError:
        return False
