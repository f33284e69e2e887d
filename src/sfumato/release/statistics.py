"""Counts, sums, means and shares of a release, each with an interval where noisy tables hold its columns.

All are weighted sums of the counts of one table, or the ratio of two such sums, and their noise follows from the exact
covariance of these counts (docs/proofs/intervals.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Domain
from sfumato.errors import ModelTooLarge, SchemaError
from sfumato.intake.attributes import Attributes
from sfumato.intake.labels import labels
from sfumato.models.residuals import Estimate, NoisyTable, estimates
from sfumato.models.tails import half_width
from sfumato.pipeline import Model
from sfumato.release.answers import model_counts, obeying
from sfumato.release.intervals import blocks, check_confidence, uncovered
from sfumato.schema.columns import Boolean, Integer, Number
from sfumato.schema.conditions import allowed_codes
from sfumato.schema.schema import Schema

Array = NDArray[np.float64]

MERGED = "values that were merged before they were counted may be any of their parts, which the interval allows for"

MOST_MEANS = 1_000
"""The most cells for which means are worked out."""


@dataclass(frozen=True)
class Answer:
    """One number about the private table, and how far the noise may have moved it.

    Args:
        value: what the model says: the best guess; None for the mean or share of a group that it has no rows of.
        unbiased: what the noisy tables say, without being made non-negative: what one adds up.
        standard_error: of the unbiased number.
        low: where the interval begins; None if there is none.
        high: where it ends.
        confidence: how often intervals made like this cover the number without noise.
        no_interval: why there is no interval.
        note: what else the interval allows for.
    """

    value: float | None
    unbiased: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    confidence: float
    no_interval: str | None = None
    note: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """This answer as JSON."""
        return asdict(self)


Conditions = Mapping[str, Any]
"""For each column a value, a list of values, or {"min": …, "max": …}."""


@dataclass(frozen=True, eq=False)
class Question:
    """Who is asked: the model, its schema and its noisy tables."""

    model: Model
    schema: Schema
    tables: Sequence[NoisyTable]
    confidence: float

    def __post_init__(self) -> None:
        check_confidence(self.confidence)

    def count(self, where: Conditions) -> Answer:
        """How many rows have these values."""
        return self._answer(self._allowed(where), None)

    def share(self, where: Conditions, among: Conditions) -> Answer:
        """Which part of the rows with the values of `among` has those of `where` too."""
        below = self._allowed(among)
        return self._answer(_times(below, self._allowed(where)), below)

    def means(self, column: str, by: Sequence[str]) -> Iterator[tuple[tuple[str, ...], Answer]]:
        """The mean of a column in each cell of some others, with the labels of the cell."""
        columns = Attributes(self.schema).columns.project(by)
        if columns.cells() > MOST_MEANS:
            raise ModelTooLarge(
                f"{columns.cells():,} means were asked for; at most {MOST_MEANS:,} are answered; ask for fewer columns"
            )
        names = [labels(self.schema[name]) for name in by]
        values, known = self._values(column)
        for cell in np.ndindex(columns.shape):
            below = {name: np.eye(size)[code] for (name, size), code in zip(columns.items(), cell, strict=True)}
            below = _times(below, {column: known})
            found = self._answer(_times(below, {column: values}), below)
            yield tuple(one[code] for one, code in zip(names, cell, strict=True)), found

    def total(self, column: str, among: Conditions) -> Answer:
        """The sum of a column over the rows with some values; a missing number adds nothing."""
        values, _ = self._values(column)
        return self._answer(_times(self._allowed(among), {column: values}), None)

    def mean(self, column: str, among: Conditions) -> Answer:
        """The mean of a column over the rows with some values; missing numbers are left out."""
        values, known = self._values(column)
        below = _times(self._allowed(among), {column: known})
        return self._answer(_times(below, {column: values}), below)

    def _allowed(self, conditions: Conditions) -> dict[str, Array]:
        columns = Attributes(self.schema).columns
        found = {}
        for name, codes in allowed_codes(self.schema, conditions).items():
            found[name] = np.zeros(columns[name])
            found[name][codes] = 1.0
        return found

    def _values(self, column: str) -> tuple[Array, Array]:
        values = column_values(self.schema, column)
        return np.nan_to_num(values), (~np.isnan(values)).astype(np.float64)

    def _answer(self, above: Mapping[str, Array], below: Mapping[str, Array] | None) -> Answer:
        attributes = Attributes(self.schema)
        columns = tuple(dict.fromkeys([*above, *(below or {})]))
        if not columns:  # all rows: any column tells how many there are
            name, size = attributes.columns.items()[0]
            return self._answer({name: np.ones(size)}, None)
        clique = attributes.needed(columns)
        counts = obeying(model_counts(self.model, clique), self.schema)
        top = _weights(attributes, above, counts.domain)
        bottom = None if below is None else _weights(attributes, below, counts.domain)
        model = np.asarray(counts.counts, dtype=np.float64)
        return weighted(self.tables, counts.domain, columns, model, top, bottom, self.confidence)


def _times(one: Mapping[str, Array], other: Mapping[str, Array]) -> dict[str, Array]:
    """Weights of columns, multiplied where both have some."""
    found = dict(one)
    for name, weights in other.items():
        found[name] = found[name] * weights if name in found else weights
    return found


def column_values(schema: Schema, name: str) -> Array:
    """The number that each code of a column stands for: the middle of its bin; not a number if missing.

    A special value inside the bounds is the number that it is; one outside stands for something that is no number.
    """
    column = schema[name]
    match column:
        case Boolean():
            values = np.array([0.0, 1.0])
        case Integer() | Number():
            bins = column.binning()
            middles = (bins.firsts.astype(np.float64) + bins.lasts.astype(np.float64)) / 2
            special = [one if column.min <= one <= column.max else np.nan for one in column.special]
            values = np.append(middles, np.array(special, dtype=np.float64))
        case _:
            raise SchemaError(f"column {name!r} is of type {column.type}; a mean or a sum wants a column of numbers")
    return np.append(values, np.nan) if column.nullable else values


def weighted(
    tables: Sequence[NoisyTable],
    known: Domain,
    columns: Sequence[str],
    model: Array,
    above: Array,
    below: Array | None,
    confidence: float,
) -> Answer:
    """A weighted sum of counts, or the ratio of two.

    Args:
        tables: the noisy tables.
        known: the attributes that the weights are over.
        columns: what the user asked for.
        model: the counts of the model.
        above: the weights of the sum, or of the numerator.
        below: the weights of the denominator.
        confidence: of the interval.
    """
    value: float | None = float((model * above).sum())
    if below is not None:
        size = float((model * below).sum())
        value = float((model * above).sum()) / size if size > 0 else None
    found = estimates(tables, known, known.names)
    # First those that tell all weights apart, then the one that knows the sum, or the denominator, best.
    best: tuple[tuple[bool, float], Estimate, Bounds, Array | None] | None = None
    for estimate in found:
        top, bottom = _bounds(estimate, above), None if below is None else _bounds(estimate, below)
        if bottom is not None and not bottom.exact:
            continue
        decides = top.high if bottom is None else bottom.high
        rank = (not top.exact, estimate.covariance(decides, decides))
        if best is None or rank < best[0]:
            best = rank, estimate, top, None if bottom is None else bottom.high
    if best is None:
        reason = uncovered(columns) if not found else "no interval: values were merged before they were counted"
        return Answer(value, None, None, None, None, confidence, no_interval=reason)
    _, estimate, top, lower = best
    sides = [
        _sum(value, estimate, weights, confidence)
        if lower is None
        else _ratio(value, estimate, weights, lower, confidence)
        for weights in ((top.high,) if top.exact else (top.low, top.high))
    ]
    if top.exact or sides[0].no_interval:
        return sides[0]
    return Answer(value, None, None, sides[0].low, sides[1].high, confidence, note=MERGED)


@dataclass(frozen=True, eq=False)
class Bounds:
    """The least and the largest weight in each cell of an estimate: codes that are one there may differ in weight."""

    low: Array
    high: Array

    @property
    def exact(self) -> bool:
        """Whether all codes that are one have one weight."""
        return np.array_equal(self.low, self.high)


def _bounds(estimate: Estimate, weights: Array) -> Bounds:
    into = blocks(estimate)
    low, high = np.full(estimate.counts.size, np.inf), np.full(estimate.counts.size, -np.inf)
    np.minimum.at(low, into, weights.ravel())
    np.maximum.at(high, into, weights.ravel())
    return Bounds(low.reshape(estimate.counts.shape), high.reshape(estimate.counts.shape))


def _sum(value: float | None, estimate: Estimate, weights: Array, confidence: float) -> Answer:
    unbiased, error = estimate.total(weights), sqrt(max(estimate.covariance(weights, weights), 0.0))
    wide = half_width(confidence, estimate.excess_kurtosis_of(weights)) * error
    low, high = unbiased - wide, unbiased + wide
    if (weights >= 0).all():
        low, high = max(low, 0.0), max(high, 0.0)
    return Answer(value, unbiased, error, low, high, confidence)


def _ratio(value: float | None, estimate: Estimate, top: Array, bottom: Array, confidence: float) -> Answer:
    """The interval of Fieller (1954): all ratios r for which top - r bottom is within its noise of 0."""
    above, below = estimate.total(top), estimate.total(bottom)
    spread = estimate.covariance(bottom, bottom)
    small = f"no interval: the group does not stand out of its noise of ± {1.96 * sqrt(spread):,.0f} rows"
    if below <= 0:
        return Answer(value, None, None, None, None, confidence, no_interval=small)
    ratio = above / below
    contrast = top - ratio * bottom
    width = half_width(confidence, estimate.excess_kurtosis_of(contrast))
    a = below**2 - width**2 * spread
    error = sqrt(max(estimate.covariance(contrast, contrast), 0.0)) / below
    if a <= 0:
        return Answer(value, ratio, error, None, None, confidence, no_interval=small)
    b = above * below - width**2 * estimate.covariance(top, bottom)
    c = above**2 - width**2 * estimate.covariance(top, top)
    root = sqrt(max(b * b - a * c, 0.0))
    # A mean lies between the values that it is a mean of.
    values = (top / np.where(bottom > 0, bottom, 1.0))[bottom > 0]
    low, high = (float(np.clip(side, values.min(), values.max())) for side in ((b - root) / a, (b + root) / a))
    return Answer(value, ratio, error, low, high, confidence)


def _weights(attributes: Attributes, columns: Mapping[str, Array], known: Domain) -> Array:
    """Weights of cells over attributes: the product of the weights of each column's codes."""
    codes = dict(zip(known.names, np.indices(known.shape), strict=True))
    found = np.ones(known.shape)
    for name, weights in columns.items():
        source = attributes.sources[name]
        found = found * weights[source.codes[tuple(codes[one] for one in source.attributes)]]
    return found
