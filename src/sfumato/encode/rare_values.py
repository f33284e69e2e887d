"""Merge the rare values of a column before tables are measured, and split them again at the end."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from sfumato.data.marginal import Measurement
from sfumato.data.recoding import Merging, Recoding
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder


@dataclass(frozen=True)
class RareValues:
    """Measure every column once; values below `sigmas` standard deviations of the noise are merged into one.

    The share is split in proportion to cells^(2/3), which minimises the sum of expected L1 errors.

    If the merged values together are still below the threshold they are given up: their rows count with the column's
    most frequent value, and no synthetic row gets them.
    """

    sigmas: float = 3.0

    def __call__(self, holder: Holder, share: Share) -> tuple[Recoding, tuple[Measurement, ...]]:
        """The recoding, and the noisy one-way tables it was learned from (over the codes of the schema)."""
        parts = share.split([size ** (2 / 3) for size in holder.domain.shape])
        noises = [part.gaussian(holder.neighbours.marginal) for part in parts]
        measured = holder.measure([(name,) for name in holder.domain.names], noises)
        return Recoding(holder.domain, tuple(merge_rare(one, self.sigmas) for one in measured)), measured


def merge_rare(measurement: Measurement, sigmas: float) -> Merging:
    """The merging of one column that its noisy table asks for."""
    counts = np.asarray(measurement.marginal.counts, dtype=np.float64)
    threshold = sigmas * sqrt(measurement.variance)
    rare = counts < threshold
    if not rare.any():
        return Merging.identity(len(counts))
    to = np.cumsum(~rare) - 1
    weight = np.where(rare, counts.clip(min=0), 1.0)
    if rare.all() or counts[rare].sum() >= threshold:
        to[rare] = np.count_nonzero(~rare)
        if weight[rare].sum() == 0:
            weight[rare] = 1.0
    else:
        to[rare] = to[np.argmax(counts)]
        weight[rare] = 0.0
    return Merging(to, weight)
