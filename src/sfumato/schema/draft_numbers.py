"""Drafting columns of numbers: bounds and bins by kind and not by extremes, special values, short lists."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, isfinite, log10
from typing import Any

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
    if special:
        return keys | {"special": special}
    return keys | (_fine(whole) if high - low >= 1_024 and not edges else {})


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
    if special:
        return keys | {"special": special}
    return keys | (_fine(counts) if "edges" not in keys else {})


def _fine(counts: Counts) -> Keys:
    """Bins for the shape of a column of many rows: fine by themselves, coarse in tables with other columns."""
    rows = sum(counts.values())
    return {"bins": FINE, "joint_bins": COARSE} if rows >= MANY_ROWS and len(counts) > 4 * FINE else {}


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
