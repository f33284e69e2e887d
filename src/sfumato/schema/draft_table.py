"""Drafting what columns have to do with each other: persons and orders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.schema.draft_dates import NO_MOMENT
from sfumato.schema.draft_facts import Facts

Keys = dict[str, Any]
Codes = NDArray[np.int64]

_PERSON = re.compile(
    r"(patient|person|client|customer|user|pupil|student|member|subject|participant|household|employee|case|resident)s?"
    r"[ _.-]*(id|no|nr|number|key|code|hash|pseudonym)?|pseudonym|ssn|(id|key)",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(
    r"(^|[ _.-])(id|uuid|guid|key|no|nr|num|number|index|row)$|^(id|uuid|ssn)|(?<=[a-z])(ID|Id|No|Nr)$", re.I
)
LABELS = ("label", "target", "class", "outcome", "y")


def is_person_key(facts: Facts) -> bool:
    """Whether a column tells persons apart who own several rows each, by its name and its repetitions."""
    if facts.rows < 50 or facts.missing > facts.rows / 10 or not _PERSON.fullmatch(facts.name.strip()):
        return False
    whole = all(
        isinstance(value, int) or (isinstance(value, str) and " " not in value.strip()) for value in facts.counts
    )
    return whole and facts.rows / 20 < facts.distinct < 0.9 * facts.rows


def unit_of(facts: Facts) -> tuple[Keys, str]:
    """How many rows of a person should count: as many as 95 in 100 persons own."""
    owned = np.sort(np.array(list(facts.counts.values())))
    rows = int(owned[min(len(owned) - 1, int(0.95 * len(owned)))])
    lost = int(np.maximum(owned - rows, 0).sum())
    why = (
        f"{facts.distinct:,} values in {facts.rows:,} rows: it tells persons apart. 95 of 100 own at most {rows} rows; "
        f"counting {rows} of each leaves out {lost:,} rows, and the noise grows with this number"
    )
    return {"column": facts.name, "rows": rows, "rows_from": "observed"}, why


def serial_number(facts: Facts) -> str | None:
    """Why whole numbers are an identifier: one for each row, and counted up or named so."""
    if facts.rows < 50 or facts.distinct < 0.95 * facts.rows or not all(isinstance(one, int) for one in facts.counts):
        return None
    low, high = min(facts.counts), max(facts.counts)
    if high - low < 2 * facts.distinct or _IDENTIFIER.search(facts.name.strip()):
        return f"an identifier: {facts.distinct:,} different whole numbers in {facts.rows:,} rows"
    return None


def orders(moments: Mapping[str, Codes]) -> list[tuple[str, str]]:
    """Pairs of columns of moments of which the first is never later."""
    found = []
    for first, second in permutations(moments, 2):
        one, two = moments[first], moments[second]
        both = (one > NO_MOMENT) & (two > NO_MOMENT)
        if both.sum() >= 100 and (one[both] <= two[both]).all() and (one[both] < two[both]).any():
            found.append((first, second))
    return found
