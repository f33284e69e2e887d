"""Merge rare values before tables are measured, as a noisy one-way table says; they are split again at the end."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.recoding import Merging, Recoding
from sfumato.encode import Encoded
from sfumato.intake.attribute_kinds import Attribute
from sfumato.intake.attributes import Attributes
from sfumato.privacy.budget import Currency, Share
from sfumato.privacy.holder import Holder
from sfumato.schema.features import Compress
from sfumato.schema.schema import Schema

FEW = 8
"""An attribute of at most this many codes is merged only if the schema asks for it."""


@dataclass(frozen=True)
class RareValues:
    """Measure attributes once; values below `sigmas` standard deviations of the noise are merged.

    Rare values of an attribute without order are merged into one; if even their sum does not stand out, they are given
    up: their rows count with the most frequent value, and no synthetic row gets them. In an ordered one, rare values
    are merged with their neighbours. Attributes of few codes stay as they are: merging would save next to no cells, and
    at a small budget it would give up values that tables can still tell. Where the schema says `compress` or
    `joint_bins`, that is done as it says.

    Without `sigmas`, only attributes for which the schema asks for something are measured. If there are none, nothing
    is spent, and the stages that follow get the share.

    The share is split in proportion to cells^(2/3) of Gaussian tables, which minimises the sum of expected L1 errors,
    and to cells^(1/3) of Laplace tables, which minimises the sum of variances.
    """

    sigmas: float | None = None

    def __call__(self, holder: Holder, schema: Schema, share: Share) -> Encoded:
        """The recoding, and the noisy one-way tables it was learned from (over the codes of the attributes)."""
        attributes = Attributes(schema).all
        default = None if self.sigmas is None else Compress(sigmas=self.sigmas)
        wishes = {one.name: one.compress or (default if one.size > FEW else None) for one in attributes}
        asked = [one.name for one in attributes if default or wishes[one.name] or one.joint_bins]
        if len(asked) < len(attributes):
            holder.note("use the categories and bins of the schema", "they are declared")
        if not asked:
            return Encoded(Recoding.identity(holder.domain))
        power = 1 / 3 if share.currency is Currency.EPSILON else 2 / 3
        parts = share.split([holder.domain[name] ** power for name in asked])
        measured = holder.measure([(name,) for name in asked], parts)
        tables = {one.clique[0]: one for one in measured}
        mergings = tuple(
            learned(one, tables[one.name], wishes[one.name]) if one.name in tables else Merging.identity(one.size)
            for one in attributes
        )
        return Encoded(Recoding(holder.domain, mergings), measured)


def learned(attribute: Attribute, measured: Measurement, compress: Compress | None) -> Merging:
    """The merging of an attribute: first into its joint bins, then of what is rare among these."""
    counts = np.asarray(measured.marginal.counts, dtype=np.float64)
    runs = joint_runs(attribute)
    bins = np.bincount(runs)
    table = Marginal(Domain({attribute.name: len(bins)}), np.bincount(runs, counts))
    coarse = Measurement(table, measured.variance * int(bins.max()))
    merging = Merging.identity(len(bins))
    if compress is not None:
        ordered = int(runs[attribute.ordered - 1]) + 1 if attribute.ordered else 0
        merging = merge_rare(coarse, compress, ordered)
    weight = np.where(merging.weight[runs] > 0, counts.clip(min=0), 0.0)
    to = merging.to[runs]
    empty = np.bincount(to, weight) <= 0
    return Merging(to, np.where(empty[to], 1.0, weight))


def joint_runs(attribute: Attribute) -> NDArray[np.int64]:
    """The joint bin of each code: runs of neighbouring codes, as equal as can be; codes without order stay alone."""
    codes = np.arange(attribute.size)
    if attribute.joint_bins is None:
        return codes
    inside = codes < attribute.ordered
    return np.where(
        inside,
        codes * attribute.joint_bins // max(attribute.ordered, 1),
        codes - attribute.ordered + attribute.joint_bins,
    )


def merge_rare(measurement: Measurement, compress: Compress, ordered: int = 0) -> Merging:
    """The merging of one column that its noisy table asks for; its first `ordered` codes have an order."""
    counts = np.asarray(measurement.marginal.counts, dtype=np.float64)
    threshold = max(compress.sigmas * sqrt(measurement.variance), compress.count)
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

    def stands_out(total: float, codes: int) -> bool:
        return total >= threshold * sqrt(codes)

    runs: list[tuple[list[int], float]] = []  # with the sum of each: adding it up anew for every code is quadratic
    for code, count in enumerate(counts.tolist()):
        if not runs or stands_out(runs[-1][1], len(runs[-1][0])) or stands_out(count, 1):
            runs.append(([], 0.0))
        run, total = runs[-1]
        run.append(code)
        runs[-1] = (run, total + count)
    kept: list[list[int]] = []
    weak: list[int] = []  # codes at the start, before anything stands out
    for run, total in runs:
        if stands_out(total, len(run)):
            kept.append(weak + run)
            weak = []
        else:
            (kept[-1] if kept else weak).extend(run)
    return [*kept, weak] if weak else kept
