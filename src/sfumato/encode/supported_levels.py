"""Measure every column once, and merge its codes to as many bins as the noise of pair tables will support."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.data.marginal import Measurement
from sfumato.data.recoding import Merging, Recoding
from sfumato.encode import Encoded
from sfumato.encode.rare_values import joint_runs
from sfumato.encode.smoothing import deconvolved, smoothed
from sfumato.intake.attribute_kinds import Attribute
from sfumato.intake.attributes import Attributes
from sfumato.models.merging import merged
from sfumato.models.nonnegative import norm_sub
from sfumato.privacy.budget import Currency, Share
from sfumato.privacy.holder import Holder
from sfumato.schema.schema import Schema

Array = NDArray[np.float64]

COUNT_PART = Fraction(1, 100)
"""Of the share, for the number of rows, which the part of the single columns follows from."""

FEWEST_ROWS = 50.0
"""A noisy number of rows below this is taken as this."""

LARGEST = 2000
"""Columns of more codes get no larger part: their codes are too rare to be told apart in any case."""

FEWEST_BINS, MOST_BINS = 4, 512

UNORDERED = 1.5
"""Columns without order get this many times as many bins as others."""

MOST_CELLS = 200_000_000
"""Cells of all pair tables together: all of them are compared with a model in every round."""


@dataclass(frozen=True)
class SupportedLevels:
    """One noisy table for each column, at full resolution, and from it the bins in which pairs will be measured.

    The less noise there is for the rows, the smaller is the part that single columns need, from the whole share down to
    a fifth of it; the rest is left to the stages that follow. Bias of K bins falls as n/K and noise of a pair table
    grows as K² sigma, so K = `bins` (n / sigma)^(1/3) is supported, sigma being the noise of a table that gets an equal
    part. Beyond `turn` bins most cells of a pair are empty and lose their noise to shrinkage; from there on the
    number grows faster, up to tenfold.

    Bins are runs of about equal mass in an ordered column and the heaviest codes in others; none has less than `sigmas`
    standard deviations of the noise of a code. Codes of a run have much in common, and those of a rest next to nothing:
    columns without order get half as many bins again. Within a bin, codes follow the single column, which is
    smoothed where it has an order and has its noise taken off where it has many codes.

    Args:
        bins: the factor of the number of bins.
        turn: the number of bins from which it grows faster.
        sigmas: what a bin has at least, in standard deviations.
    """

    bins: float = 1.9
    turn: float = 24.0
    sigmas: float = 3.0

    def __call__(self, holder: Holder, schema: Schema, share: Share) -> Encoded:
        """The recoding, and the noisy tables it was learned from (over the codes of the attributes)."""
        (counted,) = holder.measure([()], [share.part(COUNT_PART)])
        return self.after(counted, holder, schema, share.part(1 - COUNT_PART))

    def after(self, counted: Measurement, holder: Holder, schema: Schema, left: Share) -> Encoded:
        """The same, where rows were counted with a part of the share and this much is left of it."""
        noise = sqrt(len(holder.domain) * holder.variance(left.part(1 / (1 - COUNT_PART))))
        part = Fraction(float(np.clip(0.5 * (noise / rows_of(counted) / 7e-4) ** 0.35, 0.2, 1.0)))
        return self.measured(counted, holder, schema, left.part(part), noise)

    def measured(self, counted: Measurement, holder: Holder, schema: Schema, columns: Share, noise: float) -> Encoded:
        """The same, where single columns get this much, and a pair table will have this noise."""
        attributes = Attributes(schema).all
        laplace = columns.currency is Currency.EPSILON
        power = 1 / 2 if laplace else 2 / 3  # either minimises the expected L1 errors
        weights = [min(one.size, LARGEST) ** power for one in attributes]
        measured = holder.measure([(one.name,) for one in attributes], columns.split(weights))
        estimates = [_estimate(one, table, laplace) for one, table in zip(attributes, measured, strict=True)]
        rows = _rows([counted, *measured])
        fine = [norm_sub(estimate, rows) for estimate in estimates]
        most = {order: self.most_bins(rows, noise, len(attributes), order) for order in (True, False)}
        mergings = tuple(
            self._merging(one, counts, table.variance, most[one.ordered > 0])
            for one, counts, table in zip(attributes, fine, measured, strict=True)
        )
        return Encoded(Recoding(holder.domain, mergings), (counted, *measured))

    def most_bins(self, rows: float, noise: float, columns: int, ordered: bool) -> int | None:
        """The most bins of a column, for some rows and the noise of a table; no limit where there are no pairs."""
        if columns < 2:
            return None
        supported = self.bins * (rows / noise) ** (1 / 3)
        supported *= float(np.clip((supported / self.turn) ** 3, 1, 10))
        wanted = round(supported * (1 if ordered else UNORDERED))
        return int(np.clip(wanted, FEWEST_BINS, min(MOST_BINS, max(FEWEST_BINS, sqrt(MOST_CELLS / comb(columns, 2))))))

    def _merging(self, attribute: Attribute, counts: Array, variance: float, most: int | None) -> Merging:
        """The bins of one attribute: first its joint bins, then as few as are supported."""
        runs = joint_runs(attribute)
        to = runs
        if most is not None:
            ordered = int(runs[attribute.ordered - 1]) + 1 if attribute.ordered else 0
            rare = self.sigmas * sqrt(variance)
            if attribute.compress is not None:
                rare = max(rare, attribute.compress.sigmas * sqrt(variance), attribute.compress.count)
            to = merged(np.bincount(runs, counts).astype(np.float64), ordered, most, rare)[runs]
        return Merging(to.astype(np.int64), np.maximum(counts, 1e-9))


def rows_of(counted: Measurement) -> float:
    """The number of rows by a noisy count, which may be negative."""
    return max(float(counted.marginal.total), FEWEST_ROWS)


def _estimate(attribute: Attribute, table: Measurement, laplace: bool) -> Array:
    counts = np.array(table.marginal.counts, dtype=np.float64)
    counts[: attribute.ordered] = smoothed(counts[: attribute.ordered], sqrt(table.variance))
    counts[attribute.ordered :] = deconvolved(counts[attribute.ordered :], sqrt(table.variance), laplace=laplace)
    return counts


def _rows(tables: list[Measurement]) -> float:
    """The number of rows by the totals of all tables, weighted by precision; at least 1."""
    precision = np.array([1 / (one.variance * one.domain.cells()) for one in tables])
    return max(1.0, float(precision @ [one.marginal.total for one in tables] / precision.sum()))
