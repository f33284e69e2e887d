"""Merge the rare values of a column before tables are measured, and split them again at the end."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.data.marginal import Measurement
from sfumato.data.recoding import Merging, Recoding
from sfumato.data.schema import Schema
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder


@dataclass(frozen=True)
class RareValues:
    """Measure every column once; values below `sigmas` standard deviations of the noise are merged.

    The share is split in proportion to cells^(2/3), which minimises the sum of expected L1 errors. Rare values of a
    column without order are merged into one; if even their sum does not stand out, they are given up: their rows count
    with the most frequent value, and no synthetic row gets them. In an ordered column, rare values are merged with
    their neighbours.
    """

    sigmas: float = 3.0

    def __call__(self, holder: Holder, schema: Schema, share: Share) -> tuple[Recoding, tuple[Measurement, ...]]:
        """The recoding, and the noisy one-way tables it was learned from (over the codes of the schema)."""
        parts = share.split([size ** (2 / 3) for size in holder.domain.shape])
        noises = [part.gaussian(holder.neighbours.marginal) for part in parts]
        measured = holder.measure([(name,) for name in holder.domain.names], noises)
        mergings = []
        for one in measured:
            column = schema[one.clique[0]]
            ordered = holder.domain[column.name] - column.nullable if column.is_ordered else 0
            mergings.append(merge_rare(one, self.sigmas, ordered))
        return Recoding(holder.domain, tuple(mergings)), measured


def merge_rare(measurement: Measurement, sigmas: float, ordered: int = 0) -> Merging:
    """The merging of one column that its noisy table asks for; its first `ordered` codes have an order."""
    counts = np.asarray(measurement.marginal.counts, dtype=np.float64)
    threshold = sigmas * sqrt(measurement.variance)
    groups = _neighbours(counts[:ordered], threshold)
    rest = range(ordered, len(counts))
    groups += [[code] for code in rest if counts[code] >= threshold]
    rare = [code for code in rest if counts[code] < threshold]
    weight = counts.clip(min=0)
    if rare and (counts[rare].sum() >= threshold or not groups):
        groups.append(rare)
    elif rare:
        weight[rare] = 0.0
        max(groups, key=lambda group: counts[group].sum()).extend(rare)
    to = np.empty(len(counts), dtype=np.int64)
    for coarse, group in enumerate(groups):
        to[group] = coarse
        if not weight[group].any():
            weight[group] = 1.0
    return Merging(to, weight)


def _neighbours(counts: NDArray[np.float64], threshold: float) -> list[list[int]]:
    """Cut the codes into runs that stand out of their noise: a frequent code by itself, rare ones with neighbours."""

    def stands_out(run: list[int]) -> bool:
        return bool(counts[run].sum() >= threshold * sqrt(len(run)))

    runs: list[list[int]] = []
    for code in range(len(counts)):
        if not runs or stands_out(runs[-1]) or stands_out([code]):
            runs.append([])
        runs[-1].append(code)
    kept: list[list[int]] = []
    weak: list[int] = []  # codes at the start, before anything stands out
    for run in runs:
        if stands_out(run):
            kept.append(weak + run)
            weak = []
        else:
            (kept[-1] if kept else weak).extend(run)
    return [*kept, weak] if weak else kept
