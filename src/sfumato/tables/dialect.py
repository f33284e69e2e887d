"""How a text file is written, found by looking at it. Only a draft looks; a run reads what the schema states."""

from __future__ import annotations

import codecs
import csv
from itertools import islice
from pathlib import Path

from sfumato.errors import DataError
from sfumato.schema.reading import SEPARATORS, Reading
from sfumato.tables.files import delimiter_of, ending_of, files_of, opened

_LOOKED_AT = 500
"""How many lines decide about the separator."""

_TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt")
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PORTION = 1 << 20
_NO_LETTERS = b"\x81\x8d\x8f\x90\x9d"
"""The bytes that stand for nothing in cp1252."""


def detect(path: Path) -> Reading:
    """The encoding, the separator and the quoting of a file; of another kind of file, nothing needs to be said."""
    file = files_of(path)[0]
    if not file.name.lower().endswith(_TEXT):
        return Reading()
    encoding = _encoding(file)
    with opened(file) as raw:
        text = codecs.getreader("utf-8-sig" if encoding == "utf-8" else encoding)(raw, "replace")
        sample = list(islice(text, _LOOKED_AT))
    separator = _separator(sample) or delimiter_of(ending_of(file, _TEXT))
    usual = separator == delimiter_of(ending_of(file, _TEXT))
    return Reading.model_validate(
        {"separator": None if usual else separator, "encoding": encoding, "line_breaks": _has_breaks(file)}
    )


def _encoding(file: Path) -> str:
    """UTF-8 if all of it is; else cp1252, which Western programs write, or latin-1 where that has no such letter."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with opened(file) as raw:
        part = raw.read(_PORTION)
        if part.startswith(_WIDE):
            raise DataError(f"file {str(file)!r} is UTF-16, in which one byte can shift all rows; save it as UTF-8")
        try:
            while part:
                decoder.decode(part)
                part = raw.read(_PORTION)
            decoder.decode(b"", final=True)
            return "utf-8"
        except UnicodeDecodeError:
            pass
    with opened(file) as raw:
        while part := raw.read(_PORTION):
            if part.translate(None, _NO_LETTERS) != part:
                return "latin-1"
    return "cp1252"


def _separator(lines: list[str]) -> str | None:
    """The separator that cuts most lines into as many fields as the header; of several, the one that makes most."""
    best: tuple[float, int, str] | None = None
    for separator in SEPARATORS:
        rows = [row for row in csv.reader(lines, delimiter=separator) if row]
        fields = len(rows[0]) if rows else 0
        if fields < 2:
            continue
        agreeing = round(sum(len(row) == fields for row in rows) / len(rows), 1)
        best = max(best or (0.0, 0, ""), (agreeing, fields, separator))
    return best[2] if best is not None else None


def _has_breaks(file: Path) -> bool:
    """Whether some line has an odd number of quotes: a quoted field goes on in the next line."""
    with opened(file) as raw:
        return any(line.count(b'"') % 2 for line in raw)
