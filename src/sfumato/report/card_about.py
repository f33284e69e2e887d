"""What a card says about a release beside its figures: who published it, what for, and which files it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sfumato.files import digest_of
from sfumato.report.page import folded, section, table
from sfumato.schema.schema import Schema

ABOUT = {
    "publisher": "published by",
    "contact": "contact",
    "source": "source",
    "license": "license",
    "purpose": "purpose",
    "citation": "cite as",
    "notes": "notes",
    "date": "date of this card",
}
"""What describes a table: the keys of the schema, the date of the card, and their words on it."""

NAMED = 6
"""The most columns that a sentence names."""


def checksums_of(folder: Path) -> dict[str, str]:
    """SHA-256 of the files that a reader is most likely to get by themselves."""
    files = sorted(file for file in folder.iterdir() if file.is_file())
    return {file.name: digest_of(file) for file in files}


def about_of(schema: Schema) -> dict[str, str]:
    """What the schema says about the table, for readers who have nothing but the card."""
    told = {key: getattr(schema, key, None) for key in ABOUT}
    return {key: str(words) for key, words in told.items() if words}


def few(names: Sequence[str]) -> str:
    """Some names; of many, the first ones and how many more there are."""
    shown = ", ".join(names[:NAMED])
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED} more"


def use_section(about: Mapping[str, str]) -> str:
    """Who publishes the table and what it may be used for."""
    rows = [(words, about[key]) for key, words in ABOUT.items() if key in about]
    words = (
        "Synthetic rows stand for no persons: use them for statistics, and do not try to find anybody in them. Each "
        "further release of the same persons adds to what can be learned about them."
    )
    return section("About this release", words, *([table(("what", "as stated"), rows)] if rows else []))


def files_section(checksums: Mapping[str, str]) -> str:
    """The checksums of the files."""
    if not checksums:
        return ""
    words = "SHA-256 of each file of the release; a file that was changed has another one."
    return folded("Checksums", words, table(("file", "SHA-256"), list(checksums.items())))
