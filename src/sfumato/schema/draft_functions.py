"""Drafting columns that are functions of others: a region of a post code, a density of a region, a group of an age.

A function of numbers is one of intervals: each of its values belongs to the numbers between two edges. Edges are the
roundest numbers that separate what was seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import SchemaError
from sfumato.schema.draft_facts import Finding, plain
from sfumato.schema.draft_numbers import roundest
from sfumato.schema.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

Keys = dict[str, Any]
Codes = NDArray[np.int64]

LARGEST_SOURCE = 1_000
LEAST_ROWS = 5
"""A column is taken for a function of another only if each value of that one is in this many rows, on average."""

MOST_INTERVALS, LEAST_IN_INTERVAL = 64, 10
"""A function of numbers has at most this many intervals, with at least this many rows in each."""

MOST_IMAGES = 128
TRIED = 2_000
"""This many rows are tried first; nearly all pairs of columns fail there."""


@dataclass(frozen=True)
class Coded:
    """A column as codes of its values, -1 where it is missing, with a text for each code."""

    codes: Codes
    texts: tuple[str, ...]


def derive(table: pa.Table, keys: Keys) -> list[Finding]:
    """Declare columns that are functions of others, of labels first and then of numbers; what was found."""
    named = {column["name"]: column for column in keys["columns"]}
    coded = {name: one for name, column in named.items() if (one := coded_of(table.column(name), column))}
    labels = {name: one for name, one in coded.items() if named[name]["type"] == "categorical"}
    found, taken = list[Finding](), set[str]()
    for source, image in permutations(coded, 2):
        if source in labels and image not in taken and "derived" not in named[source]:
            values = _mapping(coded[source], coded[image], image in labels)
            if values is not None and _declared(keys, image, {"derived": {"of": source, "values": values}}):
                taken |= {source, image}
                found.append(_finding(image, source))
    for source in [name for name, column in named.items() if _is_source(column)]:
        numbers = numbers_of(table.column(source), named[source])
        for image in [name for name in coded if name not in taken and name != source]:
            cut = _intervals(numbers, coded[image])
            if cut is not None and _declare_intervals(keys, source, image, *cut):
                taken |= {source, image}
                found.append(_finding(image, source))
    return found


def _finding(image: str, source: str) -> Finding:
    return Finding(image, "derived", f"always the same for the same value of {source}, from which it is computed")


def coded_of(values: pa.ChunkedArray, column: Keys) -> Coded | None:
    """The codes of a column whose values have one code each, if there are few; None for other columns."""
    match column["type"]:
        case "categorical":
            few = True
        case "integer":
            few = "values" in column or column["max"] - column["min"] < MOST_IMAGES
        case kind:
            few = kind == "number" and "values" in column
    if not few or "special" in column:
        return None
    places, texts = _distinct(values)
    tokens = set(column.get("null_values", ()))
    known: dict[str, int] = {}
    lookup = np.full(len(texts) + 1, -1, dtype=np.int64)
    for place, text in enumerate(texts):
        if text is not None and str(text) not in tokens and text == text:
            spelled = str(text) if column["type"] == "categorical" else _spelled(str(text), column)
            lookup[place] = known.setdefault(spelled, len(known)) if spelled is not None else -1
    return Coded(lookup[places], tuple(known)) if 2 <= len(known) <= LARGEST_SOURCE else None


def _distinct(values: pa.ChunkedArray) -> tuple[Codes, list[Any]]:
    """The place of each value among the distinct ones; -1 where it is null."""
    found = plain(values).combine_chunks().dictionary_encode()
    return found.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64), found.dictionary.to_pylist()


def _spelled(text: str, column: Keys) -> str | None:
    number = _decimal(text, column)
    return None if number is None else format(number.normalize(), "f")


def _decimal(text: str, column: Keys) -> Decimal | None:
    """The number that a text stands for, in the way that the column is written."""
    written = column.get("written", {})
    for sign in written.get("signs", ()):
        text = text.replace(sign, "")
    text = text.strip().replace(written.get("thousands") or "\0", "").replace(written.get("decimal", "."), ".")
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _is_function(one: Codes, two: Codes) -> bool:
    """Whether equal codes in one column have equal codes in the other, missing ones included."""
    if not np.array_equal(one < 0, two < 0):
        return False
    return len(np.unique(one * (int(two.max(initial=0)) + 2) + two)) == len(np.unique(one))


def _mapping(source: Coded, image: Coded, labels: bool) -> dict[str, str] | None:
    """What each label of a column becomes in another; None if that is no function, or one that says nothing."""
    one, two = source.codes, image.codes
    if len(source.texts) * LEAST_ROWS > len(one) or len(image.texts) > len(source.texts):
        return None
    # A number that is another spelling of a label of as many values is left alone: labels are derived from numbers.
    if not labels and len(image.texts) > MOST_IMAGES:
        return None
    if not _is_function(one[:TRIED], two[:TRIED]) or not _is_function(one, two):
        return None
    pairs = np.unique(np.stack([one, two], axis=1), axis=0)
    return {source.texts[a]: image.texts[b] for a, b in sorted(pairs.tolist()) if a >= 0}


def _is_source(column: Keys) -> bool:
    return column["type"] in ("integer", "number") and "values" not in column and "derived" not in column


def numbers_of(values: pa.ChunkedArray, column: Keys) -> NDArray[np.float64]:
    """The number of each row, NaN where it is missing."""
    places, texts = _distinct(values)
    tokens = set(column.get("null_values", ()))
    lookup = np.full(len(texts) + 1, np.nan)
    for place, text in enumerate(texts):
        number = None if text is None or str(text) in tokens else _decimal(str(text), column)
        lookup[place] = np.nan if number is None else float(number)
    return lookup[places]


Intervals = tuple[list[tuple[float, float]], list[str], str | None]
"""Between which two numbers each interval after the first begins, the value of each, and the one that means missing."""


def _intervals(numbers: NDArray[np.float64], image: Coded) -> Intervals | None:
    """How a column follows from intervals of numbers; None if it does not."""
    if _cut(numbers[:TRIED], image, 1) is None:
        return None
    return _cut(numbers, image, LEAST_IN_INTERVAL)


def _cut(numbers: NDArray[np.float64], image: Coded, least: int) -> Intervals | None:
    missing = np.isnan(numbers)
    codes, marker = image.codes[: len(numbers)], None
    if missing.any() and (codes[missing] >= 0).all() and len(np.unique(codes[missing])) == 1:
        code = int(codes[missing][0])  # a word of its own where the number is missing
        codes, marker = np.where(codes == code, -1, codes), image.texts[code]
    if not np.array_equal(missing, codes < 0) or missing.all():
        return None
    order = np.argsort(numbers[~missing], kind="stable")
    ordered, codes = numbers[~missing][order], codes[~missing][order]
    starts = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    sizes = np.diff([0, *starts, len(codes)])
    if not len(starts) < MOST_INTERVALS or len(starts) + 1 != len(np.unique(codes)) or sizes.min() < least:
        return None
    if least > 1 and (len(starts) < 1 or len(np.unique(ordered)) < 2 * len(sizes)):
        return None
    gaps = [(float(ordered[place - 1]), float(ordered[place])) for place in starts]
    if any(below == above for below, above in gaps):
        return None
    return gaps, [image.texts[codes[place]] for place in (0, *starts.tolist())], marker


def _declare_intervals(
    keys: Keys, source: str, image: str, gaps: list[tuple[float, float]], values: list[str], marker: str | None
) -> bool:
    """Declare that a column follows from intervals of numbers; whether the schema takes it."""
    origin = next(column for column in keys["columns"] if column["name"] == source)
    inner = [roundest(below, above) for below, above in gaps]
    if origin["type"] == "integer":
        inner = [int(edge) for edge in inner]
    more: Keys = {"derived": {"of": source, "edges": [origin["min"], *inner, origin["max"]], "values": values}}
    if marker is not None:
        column = next(column for column in keys["columns"] if column["name"] == image)
        more |= {"nullable": True, "null_values": [*column.get("null_values", ()), marker]}
        if column["type"] == "categorical":
            more["categories"] = [label for label in column["categories"] if label != marker]
    cuts = [{}, {"cuts": inner}]
    return any(_declared(keys, image, more, {source: cut}) for cut in cuts)


def _declared(keys: Keys, image: str, more: Keys, others: Mapping[str, Keys] | None = None) -> bool:
    """Add keys to columns if the schema takes them."""
    changes = {image: more, **(others or {})}
    columns = list(_changed(keys["columns"], changes))
    try:
        Schema.parse(keys | {"columns": columns})
    except SchemaError:
        return False
    for column, changed in zip(keys["columns"], columns, strict=True):
        column.clear()
        column.update(changed)
    return True


def _changed(columns: list[Keys], changes: Mapping[str, Keys]) -> Iterator[Keys]:
    for column in columns:
        more = changes.get(column["name"], {})
        kept = {
            key: value for key, value in column.items() if not ("derived" in more and key in ("bins", "joint_bins"))
        }
        taken = [f"how it follows from {more['derived']['of']}"] if "derived" in more else []
        taken += ["cuts"] if "cuts" in more else []
        yield kept | more | ({"note": ", ".join([column["note"], *taken])} if taken else {})
