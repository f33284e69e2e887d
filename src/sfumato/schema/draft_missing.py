"""Drafting why values are missing: together with others, below or above a number, or where another column has a label.

A child has no marital status and a prison no rent. Where that is a rule, no synthetic row breaks it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.schema.draft_facts import Finding, plain
from sfumato.schema.draft_functions import Coded, coded_of, numbers_of
from sfumato.schema.draft_numbers import roundest

if TYPE_CHECKING:
    import pyarrow as pa

Keys = dict[str, Any]
Mask = NDArray[np.bool_]

LEAST_SHARE, LEAST_ROWS = 0.005, 20
"""What is missing in fewer rows, or present in fewer, says too little about why."""

MOST_LABELS = 64


def missing_rules(table: pa.Table, named: Mapping[str, Keys]) -> Iterator[tuple[Keys, Finding]]:
    """Rules about what is missing, with what was seen: groups of columns, and why the first of each is missing."""
    masks = {name: _mask(table.column(name), column) for name, column in named.items() if _may_be_missing(column)}
    groups = [names for names in _groups(masks) if _tells(masks[names[0]])]
    causes = {} if not groups else dict(_causes(table, named))
    for names in groups:
        first = names[0]
        if len(names) > 1:
            yield {"missing_together": names}, Finding(first, "rules", f"missing in the same rows as {_few(names[1:])}")
        for name, values in causes.items():
            if name not in names and (found := _condition(masks[first], values, named[name])) is not None:
                condition, words = found
                yield (
                    {"missing": first, "iff": {name: condition}},
                    Finding(first, "rules", f"missing exactly where {name} {words}"),
                )
                break


def _few(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _may_be_missing(column: Keys) -> bool:
    return bool(column.get("nullable")) and "derived" not in column


def _mask(values: pa.ChunkedArray, column: Keys) -> Mask:
    tokens = set(column["null_values"])
    found = plain(values).combine_chunks().dictionary_encode()
    missing = np.array([*(one is None or str(one) in tokens for one in found.dictionary.to_pylist()), True])
    places: NDArray[np.int64] = found.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return missing[places]


def _groups(masks: Mapping[str, Mask]) -> list[list[str]]:
    """Columns that are missing in the same rows, those that are alone in it too."""
    groups: dict[bytes, list[str]] = {}
    for name, mask in masks.items():
        groups.setdefault(mask.tobytes(), []).append(name)
    return list(groups.values())


def _tells(mask: Mask) -> bool:
    count = int(mask.sum())
    return min(count, len(mask) - count) >= max(LEAST_ROWS, LEAST_SHARE * len(mask))


def _causes(table: pa.Table, named: Mapping[str, Keys]) -> Iterator[tuple[str, Coded | NDArray[np.float64]]]:
    """Columns that may say why others are missing: numbers, and few labels."""
    for name, column in named.items():
        if "derived" in column:
            continue
        if column["type"] in ("integer", "number") and "special" not in column:
            yield name, numbers_of(table.column(name), column)
        elif column["type"] == "categorical":
            coded = coded_of(table.column(name), column)
            if coded is not None and len(coded.texts) <= MOST_LABELS:
                yield name, coded


def _condition(mask: Mask, cause: Coded | NDArray[np.float64], column: Keys) -> tuple[Any, str] | None:
    """The condition on a column under which another is missing; None if there is none."""
    if isinstance(cause, Coded):
        return _labels(mask, cause)
    known = ~np.isnan(cause)
    if mask[~known].any() or not mask[known].any() or mask[known].all():
        return None
    gone, here = cause[known & mask], cause[known & ~mask]
    if gone.max() < here.min():
        edge = _edge(gone.max(), here.min(), column)
        return {"below": edge}, f"is below {edge:g}"
    if gone.min() > here.max():
        edge = _edge(here.max(), gone.min(), column)
        return {"min": edge}, f"is {edge:g} or more"
    return None


def _edge(below: float, above: float, column: Keys) -> float:
    edge = roundest(float(below), float(above))
    return int(edge) if column["type"] == "integer" else edge


def _labels(mask: Mask, cause: Coded) -> tuple[Any, str] | None:
    if (cause.codes < 0).any():
        return None
    gone = np.bincount(cause.codes[mask], minlength=len(cause.texts)) > 0
    here = np.bincount(cause.codes[~mask], minlength=len(cause.texts)) > 0
    if (gone & here).any() or not gone.any():
        return None
    labels = sorted(text for text, one in zip(cause.texts, gone, strict=True) if one)
    return labels, f"is {_few(labels)}"
