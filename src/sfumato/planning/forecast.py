"""Forecasts of noise: how far it moves the counts of columns and tables, in rows, read off rehearsals.

The width of noise follows from the budget and from which tables are measured. Where rehearsals agree on the tables, so
does the noise, whatever the rows say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.data.domain import Clique
from sfumato.intake.attributes import Attributes
from sfumato.models.residuals import held
from sfumato.planning.rehearsal import Rehearsal
from sfumato.release.intervals import CONFIDENCE, cell_intervals, table_interval

Range = tuple[float, float]
"""The least and the largest of what was rehearsed."""

TOLD = 0.3
"""A group can be told if its count is known to ± 30 % of itself."""

MOST_CELLS = 2_000_000
"""Tables with more cells are not looked at."""


@dataclass(frozen=True)
class ColumnForecast:
    """What will be known of a column.

    Args:
        column: its name.
        values: its number of values or bins, "missing" included.
        noise: half the width of the 95 % interval of the count of a value, in rows; None if no table tells it.
        smallest_group: how many rows a value must have for its count to be known to ± 30 %; None likewise.
        error: the rehearsed total variation distance of the column.
    """

    column: str
    values: int
    noise: Range | None
    smallest_group: float | None
    error: Range


@dataclass(frozen=True)
class TableForecast:
    """A noisy table.

    Args:
        columns: its attributes.
        cells: its cells.
        noise: half the width of the 95 % interval of a count, in rows, with the help of all other tables.
        smallest_group: how many rows a cell must have for its count to be known to ± 30 %.
        rehearsals: in how many rehearsals it was measured.
        basis: what the figures rest on.
    """

    columns: tuple[str, ...]
    cells: Range
    noise: Range
    smallest_group: float
    rehearsals: int
    basis: str


def range_of(figures: Iterable[float]) -> Range:
    """The least and the largest of some figures."""
    found = list(figures)
    return min(found), max(found)


def column_forecasts(made: Sequence[Rehearsal], rows: int) -> tuple[ColumnForecast, ...]:
    """What will be known of each column of the schema."""
    schema = made[0].release.schema
    sizes = Attributes(schema).columns
    found = []
    for name in schema.names:
        noises = [wide for one in made if (wide := table_noise(one, (name,), rows)) is not None]
        noise = range_of(noises) if noises else None
        error = range_of(one.columns[name] for one in made)
        found.append(ColumnForecast(name, sizes[name], noise, noise and noise[1] / TOLD, error))
    return tuple(found)


def table_forecasts(made: Sequence[Rehearsal], rows: int) -> tuple[TableForecast, ...]:
    """The noise of each table that some rehearsal measured, those of fewest columns first."""
    seen: dict[Clique, list[tuple[float, float, bool]]] = {}
    for one in made:
        release = one.release
        fine = release.model.recoding.fine
        best: dict[Clique, tuple[float, float, bool]] = {}
        for table in release.noisy_tables:
            clique, _ = held(table, fine)
            paid = table.measurement.event
            first = paid is not None and release.ledger.entries[paid][0] == "encode"
            wide = table_interval(release.noisy_tables, table, fine) * rows / one.rows
            if clique not in best or wide < best[clique][1]:
                best[clique] = float(table.measurement.domain.cells()), wide, first
        for clique, figures in best.items():
            seen.setdefault(clique, []).append(figures)
    return tuple(
        _forecast(clique, figures, len(made))
        for clique, figures in sorted(seen.items(), key=lambda item: (len(item[0]), item[0]))
    )


def _forecast(clique: Clique, figures: Sequence[tuple[float, float, bool]], rehearsals: int) -> TableForecast:
    cells, noise = range_of(one[0] for one in figures), range_of(one[1] for one in figures)
    if len(figures) == rehearsals and noise[1] <= noise[0] * (1 + 1e-9):
        basis = "the same in every rehearsal: budget and schema decide it"
    elif len(figures) == rehearsals:
        basis = "measured in every rehearsal; its noise depends on which others are"
    else:
        basis = f"measured in {len(figures)} of {rehearsals} rehearsals: the rows decide it"
    return TableForecast(clique, cells, noise, noise[1] / TOLD, len(figures), basis)


def table_noise(one: Rehearsal, columns: Sequence[str], rows: int) -> float | None:
    """Half the width of the widest 95 % interval in a table, in rows; None if no noisy table holds the columns."""
    release = one.release
    clique = Attributes(release.schema).needed(columns)
    known = release.model.recoding.fine.project(clique)
    if known.cells() > MOST_CELLS:
        return None
    cells = known.cells()
    found = cell_intervals(release.noisy_tables, known, columns, np.arange(cells), cells, CONFIDENCE)
    wide = found.half_width[~np.isnan(found.half_width)]
    return float(wide.max()) * rows / one.rows if len(wide) else None
