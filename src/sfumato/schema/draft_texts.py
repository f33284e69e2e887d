"""Drafting columns of text: numbers and dates in disguise, missing markers, and what must not be published."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from statistics import mean
from typing import Any

from sfumato.schema.acceptance import LONGEST_LIST, SHORT_LIST
from sfumato.schema.draft_dates import dated_keys, far_dates
from sfumato.schema.draft_numbers import integer_keys, number_keys
from sfumato.schema.fields import NUMBER

Keys = dict[str, Any]
Counts = Mapping[str, int]

_BLANKS = ("", "?")
WORDS_FOR_MISSING = ("NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "none", "-", "--", "#N/A", "k.A.", "N")
_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
FIXED_POINT = re.compile(r"-?(0|[1-9][0-9]{0,11})(\.[0-9]{1,6})?")
_SIGNS = re.compile(
    r"^([+-]?)\s*(€|EUR|\$|USD|£|GBP|CHF|¥|%)?\s*([0-9.,'’ \u00a0\u202f]+?)\s*(€|EUR|\$|USD|£|GBP|CHF|¥|kr|%)?$"
)
_TRUTH = {"true", "false"}, {"True", "False"}, {"TRUE", "FALSE"}

_WAYS = ((",", "."), (".", ","), (",", " "), (".", " "), (".", "'"), (".", "’"), (".", None), (",", None))
"""Decimal and thousands signs, in the order in which they are tried."""

MOST_MARKERS = 3
"""This many words among many numbers are markers of missing values; more are something else."""


def text_keys(counts: Counts) -> tuple[Keys, list[str], str]:
    """The keys of a text column, the texts in it that stand for a missing value, and what was seen."""
    blanks = sorted({text for text in counts if text.strip() in _BLANKS})
    texts = {text: count for text, count in counts.items() if text.strip() not in _BLANKS}
    # NA may be a region or a name: among numbers and dates it means missing, among words it is one of them.
    words = sorted(text for text in texts if text.strip() in WORDS_FOR_MISSING)
    words += far_dates([text for text in texts if text not in words])
    present = _trimmed({text: count for text, count in texts.items() if text not in words})
    found = plain_keys(present) if present else None
    if found is not None:
        far = [text for text in words if text.strip() not in WORDS_FOR_MISSING]
        return found[0], [*blanks, *words], found[1] + (f"; {', '.join(far)} taken as missing" if far else "")
    marked = _with_markers(present)
    if marked is not None:
        (keys, seen), markers = marked
        original = sorted(text for text in texts if text.strip() in markers)
        return keys, [*blanks, *words, *original], seen + f"; {', '.join(original)} among numbers taken as missing"
    for spelling in _TRUTH:
        if texts and set(texts) <= spelling:
            true, false = sorted(spelling, key=str.lower, reverse=True)
            return {"type": "boolean", "true_values": [true], "false_values": [false]}, blanks, ""
    return categorical_keys(list(texts)), blanks, ""


def _trimmed(counts: Counts) -> dict[str, int]:
    found: dict[str, int] = {}
    for text, count in counts.items():
        found[text.strip()] = found.get(text.strip(), 0) + count
    return found


def plain_keys(counts: Counts) -> tuple[Keys, str] | None:
    """The keys of texts that are all numbers or all dates, and what was seen; None if they are neither."""
    if all(map(_PLAIN_INTEGER.fullmatch, counts)):
        dated = dated_keys(list(counts)) if len(next(iter(counts))) == 8 else None  # 20240131
        keys = integer_keys({int(text): count for text, count in counts.items()})
        return dated or ((keys, "") if keys else (categorical_keys(list(counts)), ""))
    if all(map(FIXED_POINT.fullmatch, counts)):
        decimals = max(len(text.partition(".")[2]) for text in counts)
        return number_keys(_merged(counts, float), decimals), ""
    # 00123 is an identifier, not a number.
    if all(re.fullmatch(NUMBER, text) and not re.match(r"[+-]?0[0-9]", text) for text in counts):
        numbers = _merged(counts, float)
        return (number_keys(numbers, None), "") if all(map(isfinite, numbers)) else None
    return _written_keys(counts) or dated_keys(list(counts))


def _merged(counts: Counts, read: Any) -> dict[float, int]:
    found: dict[float, int] = {}
    for text, count in counts.items():
        found[read(text)] = found.get(read(text), 0) + count
    return found


def _written_keys(counts: Counts) -> tuple[Keys, str] | None:
    """Numbers with a decimal comma, groups of thousands, currency or percent signs."""
    matches = [_SIGNS.match(text) for text in counts]
    bodies = [match[3] for match in matches if match]
    if len(bodies) < len(counts) or any(re.match("0[0-9]", body) for body in bodies):
        return None
    signs = sorted({match[place] for match in matches if match for place in (2, 4) if match[place]})
    for decimal, thousands in _WAYS:
        if thousands is not None and not any(thousands in body for body in bodies):
            continue
        pattern = _pattern(decimal, thousands)
        if all(map(pattern.fullmatch, bodies)) and (decimal != "." or thousands or signs):
            written = {"decimal": decimal, "thousands": thousands, "signs": signs}
            stated = {key: value for key, value in written.items() if value and (key, value) != ("decimal", ".")}
            plain: dict[float, int] = {}
            for match, count in zip(matches, counts.values(), strict=True):
                assert match is not None  # noqa: S101  # as many bodies as texts
                number = float(match[1] + match[3].replace(thousands or "\0", "").replace(decimal, "."))
                plain[number] = plain.get(number, 0) + count
            decimals = max(len(body.partition(decimal)[2]) for body in bodies)
            keys = integer_keys(plain) if not decimals else number_keys(plain, decimals)
            if keys is not None:
                return keys | {"written": stated}, f"; numbers are written with {_told(written)}"
    return None


def _pattern(decimal: str, thousands: str | None) -> re.Pattern[str]:
    groups = "[0-9]+" if thousands is None else f"(?:[1-9][0-9]{{0,2}}(?:{re.escape(thousands)}[0-9]{{3}})+|[0-9]+)"
    return re.compile(f"{groups}(?:{re.escape(decimal)}[0-9]{{1,6}})?")


def _told(written: Mapping[str, Any]) -> str:
    told = {key: value if isinstance(value, str) else " ".join(value) for key, value in written.items() if value}
    return ", ".join(f"{key} {value!r}" for key, value in told.items())


def _with_markers(counts: Counts) -> tuple[tuple[Keys, str], set[str]] | None:
    """Many numbers or dates with a few words among them: the words stand for missing values."""
    words = {text for text in counts if not re.search("[0-9]", text)}
    numbers = {text: count for text, count in counts.items() if text not in words}
    if not 1 <= len(words) <= MOST_MARKERS or len(numbers) < 5 * len(words) or len(numbers) < 10:
        return None
    found = plain_keys(numbers)
    return (found, words) if found is not None and found[0]["type"] != "categorical" else None


def categorical_keys(texts: list[str]) -> Keys:
    """The keys of a column of words; whole numbers among them are in the order of numbers."""
    if not texts:
        note = "taken from the data: that no value is present; declare the type and the domain"
        return {"type": "categorical", "categories": ["unknown"], "note": note}
    numeric = all(re.fullmatch("[0-9]{1,18}", text) for text in texts)
    return {"type": "categorical", "categories": sorted(texts, key=lambda text: (int(text), text) if numeric else text)}


def unpublishable(counts: Counts, rows: int) -> str | None:
    """Why the words of a column must not be listed; None if they may be, once a person has accepted them."""
    texts, distinct = list(counts), len(counts)
    if distinct <= SHORT_LIST:
        return None
    share = distinct / max(rows, 1)
    told = f"{distinct:,} different values in {rows:,} rows"
    if any("@" in text for text in texts[:50]) and mean("@" in text for text in texts) > 0.5:
        return f"e-mail addresses: {told}"
    if mean(len(text.split()) for text in texts) >= 4 and (share > 0.1 or max(map(len, texts)) > 60):
        return f"free text: {told}, of {mean(len(text.split()) for text in texts):.0f} words each"
    if share >= 0.9:
        return f"an identifier: {told}"
    if share >= 0.5:
        return f"nearly unique: {told}"
    if distinct > LONGEST_LIST:
        return f"a list too long to publish: {told}"
    return None
