"""Finer codes for rows that have coarse ones: each given another column, as the table of both says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.models.estimates import Array
from sfumato.models.rounding import draw_given

Lookup = NDArray[np.int64]
"""From the finer codes of a column to its coarse ones, which are 0, 1, …, each with some finer code."""

Rows = NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class Step:
    """How one column gets its finer codes.

    Args:
        column: its place.
        given: the place of the column it is drawn given; None if it follows its own counts alone.
        weights: one line for each code of that column (one line if there is none), with a weight for each finer code.
    """

    column: int
    given: int | None
    weights: Array


def finer_steps(
    domain: Domain, columns: Sequence[Array], lookups: Sequence[Lookup], tables: Sequence[tuple[Clique, Array]]
) -> list[Step]:
    """The order in which columns get their finer codes, and what each is drawn given.

    Next is always the column, and given it the one that has its codes already, whose table says most: that has most
    rows elsewhere than the coarse codes and single columns would have them. Where no table is left, it is the
    column that others depend on most, by itself.

    Args:
        domain: the columns, in finer codes.
        columns: rows with each finer code; all positive.
        lookups: for each column, from finer to coarse codes.
        tables: what is known of pairs of columns, none negative; larger tables are passed over.
    """
    waiting = {place for place, lookup in enumerate(lookups) if int(lookup.max()) + 1 < len(lookup)}
    told: dict[tuple[int, int], tuple[float, Array]] = {}
    for clique, counts in tables:
        if len(clique) == 2:
            one, two = map(domain.index, clique)
            for column, given, lines in ((one, two, counts.T), (two, one, counts)):
                if column in waiting:
                    told[column, given] = _beyond(lines, columns[column], lookups[column]), lines
    done, steps = set(range(len(domain))) - waiting, []
    while waiting:
        known = [(told[pair][0], pair) for pair in told if pair[0] in waiting and pair[1] in done]
        if known:
            (column, given) = max(known)[1]
            lines, own = told[column, given][1], columns[column]
            steps.append(Step(column, given, _weights(lines, own, lookups[column])))
        else:
            column = max(sorted(waiting), key=lambda one: sum(told[pair][0] for pair in told if pair[1] == one))
            steps.append(Step(column, None, columns[column][None, :]))
        waiting.remove(column)
        done.add(column)
    return steps


def draw_finer(rows: Rows, lookups: Sequence[Lookup], steps: Sequence[Step], rng: np.random.Generator) -> None:
    """Turn coarse codes into finer ones, in place; no row leaves its coarse codes."""
    for step in steps:
        lookup, codes = lookups[step.column], rows[:, step.column].copy()
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=int(lookup.max()) + 1))
        for coarse, mine in enumerate(np.split(order, ends[:-1])):
            finer = np.flatnonzero(lookup == coarse)
            parents = np.zeros(len(mine), np.uint16) if step.given is None else rows[mine, step.given]
            rows[mine, step.column] = finer[draw_given(parents, step.weights[:, finer], rng)]


def _beyond(lines: Array, own: Array, lookup: Lookup) -> float:
    """Rows that a table has elsewhere than its coarse codes, split as the column itself is, would have them."""
    return float(np.abs(lines - _spread(lines, own, lookup)).sum())


def _spread(lines: Array, own: Array, lookup: Lookup) -> Array:
    """A table with its sums over coarse codes, split as the column itself is."""
    into = np.zeros((len(own), int(lookup.max()) + 1))
    into[np.arange(len(own)), lookup] = 1
    share = own / np.maximum((own @ into)[lookup], 1e-12)
    return np.asarray((lines @ into)[:, lookup] * share, dtype=np.float64)


def _weights(lines: Array, own: Array, lookup: Lookup) -> Array:
    """The lines of a table; coarse codes that a line has no rows in are split as the column itself is."""
    return np.where(_spread(lines, np.ones(len(own)), lookup) > 0, lines, own)
