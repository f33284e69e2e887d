"""Drafting columns of numbers: bounds and bins by kind and not by extremes, special values, short lists."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_FLOOR, Decimal
from math import floor, isfinite, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.schema.fields import LARGEST

Keys = dict[str, Any]
Counts = Mapping[Any, int]

FEW = 32
"""A column of so few numbers, each in many rows, is a set of numbers."""

SPIKE = 0.05
"""A number in this share of the rows stands out of its bin."""

MOST_SPIKES = 6

SENTINELS = (-999, -99, -9, -8, -7, -1, 98, 99, 998, 999, 9998, 9999, 99999, 999999, 9999999)
"""Numbers that often stand for something else; a smaller share is enough for them if they lie apart."""

MANY_ROWS, FINE, COARSE = 10_000, 128, 32
"""From this many rows on, the table of a column by itself has room for fine bins, and others for coarse ones."""

DENSE_ROWS, SMEARED = 1_000, 0.05
"""From this many rows on, bins that bend the distribution of a column by this much give way to quantiles."""

MANY = 20
"""Bounds of columns with more distinct numbers are rounded outward: they say less about one row."""


def integer_keys(counts: Counts) -> Keys | None:
    """The keys of a column of whole numbers; None if they are too large."""
    whole = {int(number): count for number, count in counts.items()}
    if min(whole) < -LARGEST or max(whole) > LARGEST:
        return None
    apart, spikes = special_values(whole)
    bulk = sorted(set(whole) - set(apart))
    low, high = bulk[0], bulk[-1]
    if high - low >= 128 and is_set(whole):
        return {"type": "integer", "min": min(whole), "max": max(whole), "values": sorted(whole)}
    if len(bulk) > MANY:
        wide = tuple(int(bound) for bound in outward(low, high))
        low, high = wide if wide[0] >= -LARGEST and wide[1] <= LARGEST else (low, high)
    keys: Keys = {"type": "integer", "min": low, "max": high}
    edges: list[int] = []
    if high - low >= 128 and is_skewed(bulk, whole):
        edges = keys["edges"] = [int(edge) for edge in growing_edges(low, high, 0)]
    # Up to 128 numbers have a code each, and so has a number between two edges that are next to each other.
    alone = {one for one in spikes if high - low < 128 or {one, one + 1} <= set(edges)}
    special = sorted({*apart, *spikes} - alone)
    if high - low >= 1_024 and not edges:
        keys |= _bins({one: count for one, count in whole.items() if one not in special}, low, high + 1, not special)
    if "edges" in keys:
        keys["edges"] = [*(int(edge) for edge in keys["edges"][:-1]), high]
    return keys | ({"special": special} if special else {})


def number_keys(counts: Counts, decimals: int | None) -> Keys:
    """The keys of a column of real numbers."""
    if decimals is not None and max(map(abs, counts)) * 10**decimals > 2**53:
        decimals = None
    more: Keys = {} if decimals is None else {"decimals": decimals}
    if is_set(counts):
        return {"type": "number", "min": min(counts), "max": max(counts), "values": sorted(counts)} | more
    apart, spikes = special_values(counts)
    bulk = sorted(set(counts) - set(apart))
    low, high = bulk[0], bulk[-1]
    if len(bulk) > MANY:
        low, high = outward(low, high)
    keys: Keys = {"type": "number", "min": float(low), "max": float(high)} | more
    if low < high and is_skewed(bulk, counts):
        keys["edges"] = growing_edges(low, high, -(decimals if decimals is not None else 6))
    special = sorted(float(one) for one in {*apart, *spikes})
    if low < high and "edges" not in keys:
        keys |= _bins({one: count for one, count in counts.items() if one not in special}, low, high, not special)
    return keys | ({"special": special} if special else {})


def _bins(counts: Counts, low: float, high: float, fine: bool) -> Keys:
    """Bins for the shape of a column: fine ones where there are rows for them, or by quantiles where it is dense.

    Numbers are drawn evenly inside a bin. Where nearly all of a wide bin lie at one place, narrower bins of equal width
    do not help until they are as narrow as that place.
    """
    rows = sum(counts.values())
    found = {"bins": FINE, "joint_bins": COARSE} if fine and rows >= MANY_ROWS and len(counts) > 4 * FINE else {}
    if rows < DENSE_ROWS or len(counts) <= MANY:
        return found
    equal = smear(counts, np.linspace(low, high, found.get("bins", COARSE) + 1))
    if equal <= SMEARED:
        return found
    edges = quantile_edges(counts, low, high)
    return {"edges": edges} if smear(counts, np.array(edges)) < equal / 2 else found


def smear(counts: Counts, edges: NDArray[np.float64]) -> float:
    """The largest difference that drawing evenly inside bins makes to the distribution of the numbers."""
    numbers = np.array(sorted(counts), dtype=np.float64)
    shares = np.cumsum([counts[one] for one in sorted(counts)]) / sum(counts.values())
    before = np.concatenate([[0.0], shares])
    at_edges = before[np.searchsorted(numbers, edges[:-1], side="left")]
    even = np.interp(numbers, edges, [*at_edges, 1.0])
    return float(max(np.abs(shares - even).max(), np.abs(before[:-1] - even).max()))


def quantile_edges(counts: Counts, low: float, high: float) -> list[float]:
    """Edges with about as many rows between any two of them, each the roundest number that separates as well."""
    ordered = sorted(counts)
    shares = np.cumsum([counts[one] for one in ordered]) / sum(counts.values())
    places = np.searchsorted(shares, np.arange(1, COARSE) / COARSE)
    inner = {roundest(ordered[place], ordered[place + 1]) for place in places.tolist() if place + 1 < len(ordered)}
    return [low, *sorted(edge for edge in inner if low < edge < high), high]


def roundest(below: float, above: float) -> float:
    """The number with the fewest digits that lies above one number and not above another."""
    low, high = Decimal(repr(below)), Decimal(repr(above))
    for exponent in range(high.adjusted() + 1, -16, -1):
        for factor in (10, 5, 2, 1):
            step = Decimal(factor).scaleb(exponent - 1)
            edge = (high / step).to_integral_value(ROUND_FLOOR) * step
            if low < edge <= high:
                return float(edge)
    return above


def is_set(counts: Counts) -> bool:
    """Whether a column holds few numbers, each of them in many rows."""
    return 1 < len(counts) <= FEW and sum(counts.values()) >= 10 * len(counts)


def special_values(counts: Counts) -> tuple[list[Any], list[Any]]:
    """Numbers that stand for something else, far from all others; and numbers that very many rows share."""
    rows = sum(counts.values())
    if len(counts) <= MANY or rows < 100:
        return [], []
    known = [one for one in counts if one in SENTINELS and counts[one] >= max(10, rows / 1000)]
    frequent = sorted((one for one in counts if counts[one] >= SPIKE * rows), key=lambda one: -counts[one])[
        :MOST_SPIKES
    ]
    rest = sorted(set(counts) - set(known) - set(frequent[:1]))
    apart = [one for one in {*known, *frequent[:1]} if rest and _is_apart(one, rest[0], rest[-1])]
    return apart, [one for one in frequent if one not in apart]


def _is_apart(number: float, low: float, high: float) -> bool:
    """Whether a number lies beyond all others, by half of what they span among themselves or more."""
    return bool(number < 0 <= low or number > high + (high - low) / 2 or number < low - (high - low) / 2)


def is_skewed(ordered: list[Any], counts: Counts) -> bool:
    """Whether nearly all rows would fall into the first of equal bins: amounts, durations, sizes of towns."""
    if ordered[0] < 0 or len(ordered) <= MANY:
        return False
    rows, seen = sum(counts[number] for number in ordered), 0
    for number in ordered:
        seen += counts[number]
        if seen >= 0.75 * rows:
            return bool(ordered[-1] > 8 * max(number, 1e-9))
    return False


def outward(low: float, high: float) -> tuple[float, float]:
    """Bounds rounded outward to numbers that people would give."""
    span = high - low
    if span <= 0 or not isfinite(span):
        return low, high
    exponent = floor(log10(span))
    scale = 10.0**-exponent if exponent < 0 else 1.0
    step = 1 if exponent < 0 else 10**exponent
    first, last = floor(low * scale / step) * step, -floor(-high * scale / step) * step
    return (first / scale, last / scale) if exponent < 0 else (first, last)


def growing_edges(low: float, high: float, least: int) -> list[float]:
    """Edges that grow like 1, 2, 5, 10, 20, 50, from 10^least on: as many bins for small numbers as for large ones."""
    edges = [low]
    exponent = max(floor(log10(high)) - 4, least)
    while edges[-1] < high:
        for digit in (1, 2, 3, 5, 7):
            edge = digit / 10**-exponent if exponent < 0 else digit * 10**exponent
            if low < edge < high:
                edges.append(edge)
        exponent += 1
        if 10.0**exponent >= high:
            break
    return [*edges, high]
