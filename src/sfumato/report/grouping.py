"""Which codes of a column are drawn together: a picture has room for a few dozen values, not for thousands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.intake.labels import labels
from sfumato.report.svg import short
from sfumato.schema.columns import Column, ordered_size

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Grouping:
    """The labels of some groups of codes, in the order in which they are drawn, and the group of each code."""

    labels: tuple[str, ...]
    group: NDArray[np.int64]

    def sums(self, shares: Floats, axis: int = 0) -> Floats:
        """Shares of codes added up to shares of groups, along one axis."""
        moved = np.moveaxis(shares, axis, 0)
        found = np.zeros((len(self.labels), *moved.shape[1:]))
        np.add.at(found, self.group, moved)
        return np.moveaxis(found, 0, axis)


def grouping(column: Column, shares: Floats, most: int) -> Grouping:
    """At most `most` groups: neighbours of an ordered column, else the most frequent codes and all others together.

    Args:
        column: the column, which knows its labels.
        shares: of each code among the real rows; says which codes are frequent.
        most: how many groups there may be, at least 3.
    """
    names = labels(column)
    if column.is_ordered:
        values = ordered_size(column)
        alone = [[code] for code in range(values, len(names))]  # special values, and missing
        return _grouping(names, [*_neighbours(names[:values], max(most - len(alone), 1)), *alone])
    order = [int(code) for code in np.argsort(-shares, kind="stable")]
    if len(names) <= most:
        return _grouping(names, [[code] for code in order])
    return _grouping(names, [*([code] for code in order[: most - 1]), order[most - 1 :]])


def _neighbours(names: Sequence[str], most: int) -> list[list[int]]:
    parts = np.array_split(np.arange(len(names)), min(most, len(names)))
    return [part.tolist() for part in parts]


def _grouping(names: Sequence[str], groups: Sequence[Sequence[int]]) -> Grouping:
    group = np.zeros(len(names), dtype=np.int64)
    for place, codes in enumerate(groups):
        group[list(codes)] = place
    return Grouping(tuple(_label(names, codes) for codes in groups), group)


def _label(names: Sequence[str], codes: Sequence[int]) -> str:
    if len(codes) == 1:
        return names[codes[0]]
    if list(codes) == list(range(codes[0], codes[-1] + 1)):
        return f"{short(names[codes[0]], 24)} – {short(names[codes[-1]], 24)}"
    return f"({len(codes)} others)"
