"""Whether a budget can support a schema, which columns are at fault, and three ways out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sfumato.job import Job
from sfumato.planning.forecast import ColumnForecast
from sfumato.planning.population import Population
from sfumato.planning.rehearsal import rehearse
from sfumato.planning.wish import times
from sfumato.text import one_line

LOST = 0.25
"""A column is lost if more than this part of its rows have a wrong value in some rehearsal.

The kindest rehearsal would be no measure: where noise hides everything, a release has all values equally often, which
looks right if the made-up rows have them equally often too.
"""

TRIES = 5
"""How often a larger budget is tried, each time twice as large or as much as seems to be wanted."""

NAMED = 8
"""The most columns that a way out names."""


def lost_columns(columns: Sequence[ColumnForecast]) -> tuple[str, ...]:
    """The columns that the budget cannot support, worst first."""
    lost = [one for one in columns if one.error[1] > LOST]
    return tuple(one.column for one in sorted(lost, key=lambda one: -one.error[1]))


def ways_out(
    job: Job, rows: int, columns: Sequence[ColumnForecast], lost: Sequence[str], populations: Sequence[Population]
) -> tuple[str, ...]:
    """More budget, coarser columns, or fewer columns: each with a figure."""
    at_fault = {one.column: one for one in columns if one.column in lost}
    fewer = {
        name: max(1, int(one.values * LOST / one.error[1] * 0.9)) for name, one in at_fault.items() if one.values > 2
    }
    enough = _enough(job, rows, max(one.error[1] for one in at_fault.values()), populations)
    more = (
        f"more budget: at epsilon {enough:g} no column is lost in the rehearsals"
        if enough is not None
        else "more budget: but no column would be saved by any that was tried"
    )
    coarser = ", ".join(f"{one_line(name, 40)} to about {size}" for name, size in list(fewer.items())[:NAMED])
    names = ", ".join(one_line(name, 40) for name in list(lost)[:NAMED])
    others = f" and {len(lost) - NAMED} more columns" if len(lost) > NAMED else ""
    return (
        more,
        f"coarser values: fewer categories, bins or edges in the schema, or 'compress': {coarser}{others}"
        if coarser
        else "coarser values: none of these columns can be cut further",
        f"fewer columns: leave out {names}{others}; what they cost goes to the others"
        if len(lost) < len(columns)
        else "fewer columns: all are lost, so keep the few that matter most and leave out the rest",
    )


def _enough(job: Job, rows: int, worst: float, populations: Sequence[Population]) -> float | None:
    """An epsilon at which rehearsals lose no column."""
    budget = times(job.budget, max(2.0, 1.5 * worst / LOST))
    for _ in range(TRIES):
        tried = replace(job, budget=budget)
        errors: dict[str, float] = {}
        for one in rehearse(tried, rows, populations, measure_memory=False):
            for name, error in one.columns.items():
                errors[name] = max(error, errors.get(name, 0.0))
        if max(errors.values()) <= LOST:
            return tried.opened.guarantee["epsilon"]
        larger = times(budget, max(2.0, max(errors.values()) / LOST))
        if larger == budget:
            return None
        budget = larger
    return None
