"""Intervals: how far the noise may have moved the counts of a release.

They are about the noise and nothing else: they cover what the private table would have said without it, in the codes of
the schema. A count has one where some noisy table holds all its columns; elsewhere a sentence says why there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Domain
from sfumato.errors import SchemaError
from sfumato.models.residuals import MOST_COMPONENTS, Estimate, Lookup, NoisyTable, estimates, held
from sfumato.models.tails import half_width
from sfumato.pipeline import Model
from sfumato.privacy.events import Noisy
from sfumato.privacy.ledger import Statement
from sfumato.privacy.mechanisms import Laplace

Array = NDArray[np.float64]

CONFIDENCE = 0.95
"""How often intervals cover, unless a user asks for more or less."""


@dataclass(frozen=True, eq=False)
class CellIntervals:
    """Intervals of the cells of a table; not a number where a cell has none, and `no_interval` says why.

    `half_width` is how far they go to each side before they are cut at 0.
    """

    half_width: Array
    unbiased: Array
    standard_error: Array
    low: Array
    high: Array
    no_interval: str | None


def noisy_tables(model: Model, ledger: Statement) -> tuple[NoisyTable, ...]:
    """The noisy tables of a release, with the shape of their noise as the ledger has it."""
    found = []
    for one in model.measurements:
        # Folders of format 1 do not say which event paid; the kind of budget says which noise it bought.
        shape = 3.0 if ledger.budget.noise is Laplace else 0.0
        if one.event is not None and one.event < len(ledger.entries):
            _, event = ledger.entries[one.event]
            if isinstance(event, Noisy):
                shape = event.noise.excess_kurtosis
        found.append(NoisyTable(one, shape))
    return tuple(found)


def check_confidence(confidence: float) -> float:
    """The confidence itself, if it is one."""
    if not 0.5 <= confidence <= 0.9999:
        raise SchemaError(f"the confidence is {confidence:g}; give a number from 0.5 to 0.9999, such as 0.95")
    return confidence


def cell_intervals(
    tables: Sequence[NoisyTable], known: Domain, columns: Sequence[str], cell: Lookup, size: int, confidence: float
) -> CellIntervals:
    """Intervals of sums of cells: cell c of `known` belongs to sum `cell[c]`. Of several the narrowest is given."""
    unbiased, variance, excess = np.full((3, size), np.nan)
    found = estimates(tables, known, known.names)
    for estimate in found:
        group, whole = _groups(estimate, cell, size)
        sums, variances = estimate.summed(group, size)
        better = whole & ~(variances >= variance)
        members = np.bincount(group[group >= 0], minlength=size).clip(min=1)
        unbiased[better], variance[better] = sums[better], variances[better]
        # A sum of m cells has the noise of m times as many draws.
        excess[better] = (estimate.excess_kurtosis / members)[better]
    widths = np.full(size, np.nan)
    for one in np.unique(excess[~np.isnan(excess)].round(3)):
        widths[excess.round(3) == one] = half_width(confidence, float(one))
    wide = widths * np.sqrt(variance)
    lacking = int(np.isnan(unbiased).sum())
    reason = None
    if not found:
        reason = uncovered(columns)
    elif lacking:
        reason = (
            f"{lacking:,} of {size:,} cells have no interval: their values were merged before they were counted, so "
            "only their sum is known"
        )
    return CellIntervals(
        wide, unbiased, np.sqrt(variance), np.maximum(unbiased - wide, 0.0), np.maximum(unbiased + wide, 0.0), reason
    )


def table_interval(
    tables: Sequence[NoisyTable], one: NoisyTable, base: Domain, confidence: float = CONFIDENCE
) -> float:
    """Half the width of the interval of each cell of a noisy table, if all tables are used: ± this many rows."""
    clique, lookups = held(one, base)
    if prod(int(lookup.max()) + 2 for lookup in lookups) > MOST_COMPONENTS:
        tables = [one]
    estimate = Estimate.of(tables, clique, lookups)
    return half_width(confidence, estimate.excess_kurtosis) * sqrt(estimate.variance)


def uncovered(columns: Sequence[str]) -> str:
    """Why columns that no noisy table holds together have no interval."""
    return (
        f"no interval: no noisy table holds {', '.join(columns)} together, so the answer rests on the assumption that "
        "they depend on each other only through tables that were measured; name them in --views to have them measured "
        "next time"
    )


def blocks(estimate: Estimate) -> Lookup:
    """The cell of an estimate to which each cell in all codes belongs."""
    return np.ravel_multi_index(np.meshgrid(*estimate.lookups, indexing="ij"), estimate.counts.shape).ravel()


def _groups(estimate: Estimate, cell: Lookup, size: int) -> tuple[Lookup, NDArray[np.bool_]]:
    """The sum that each cell of an estimate belongs to, -1 if it is split between several; and which sums are whole."""
    into = blocks(estimate)
    first, last = np.full(estimate.counts.size, size), np.full(estimate.counts.size, -1)
    np.minimum.at(first, into, cell)
    np.maximum.at(last, into, cell)
    split = first != last
    whole = np.ones(size, dtype=np.bool_)
    whole[cell[split[into]]] = False
    return np.where(split, -1, first), whole
