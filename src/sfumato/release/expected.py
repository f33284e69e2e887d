"""What the noise alone does to a release: known from the noise and the noisy counts, without a real row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from sfumato.data.domain import Domain
from sfumato.data.marginal import Measurement
from sfumato.data.selection import Selection
from sfumato.privacy.events import Noisy
from sfumato.privacy.ledger import Statement
from sfumato.text import one_line

DROWNED_COLUMN = 0.2
"""A column in which noise alone is expected to put more of the rows into wrong values has drowned."""

DROWNED_TABLE = 0.5
"""The same for a table over several columns."""

NAMED = 5
"""The most columns that a warning names."""


@dataclass(frozen=True)
class ExpectedNoise:
    """A table of counts with noise.

    Args:
        columns: its columns.
        cells: its cells.
        deviation: the standard deviation of the noise in a cell, in rows.
        share_of_rows: the expected sum of the noise in all cells, without sign and halved, as a share of the rows.
            That is about the total variation distance from the exact table, before the tables are made to agree.
    """

    columns: tuple[str, ...]
    cells: int
    deviation: float
    share_of_rows: float


def expected_noise(measurements: Sequence[Measurement], ledger: Statement, rows: int) -> tuple[ExpectedNoise, ...]:
    """The noise in each table."""
    return tuple(_noisy(one, ledger, rows) for one in measurements)


def _noisy(measurement: Measurement, ledger: Statement, rows: int) -> ExpectedNoise:
    deviation = sqrt(measurement.variance)
    cells = measurement.domain.cells()
    share = cells * deviation * mean_absolute(measurement, ledger) / (2 * max(rows, 1))
    return ExpectedNoise(measurement.clique, cells, deviation, share)


def mean_absolute(measurement: Measurement, ledger: Statement) -> float:
    """The mean of the noise without its sign, in standard deviations, as the event that paid for the table says."""
    if measurement.event is not None and measurement.event < len(ledger.entries):
        _, event = ledger.entries[measurement.event]
        if isinstance(event, Noisy):
            return event.noise.mean_absolute / sqrt(event.noise.variance)
    return 1.0  # noise of an unknown kind: the mean is at most the standard deviation


def column_noise(measurements: Sequence[Measurement], rows: int) -> dict[str, float]:
    """The expected share of the rows that noise puts into wrong values of each column, from its best table.

    A table that is summed down to one column adds up the noise of all its cells: the variance grows with the number of
    cells behind each value. The sum of many is about Gaussian, with mean sqrt(2 / pi) of its deviation. Tables in which
    values were merged because noise hid them say little about these values: where a finer table exists, it counts.
    """
    best: dict[str, float] = {}
    finest: dict[str, int] = {}
    for one in measurements:
        for name, size in one.domain.items():
            finest[name] = max(size, finest.get(name, size))
    for one in measurements:
        for name, size in one.domain.items():
            if size < finest[name]:
                continue
            share = sqrt(one.domain.cells() * size * one.variance) * 0.8 / (2 * max(rows, 1))
            best[name] = min(share, best.get(name, share))
    return best


def noise_warnings(measurements: Sequence[Measurement], ledger: Statement, rows: int) -> tuple[str, ...]:
    """What a person must know before using a release in which noise has drowned the counts; nothing if all is well."""
    found = []
    columns = column_noise(measurements, rows)
    drowned = sorted(
        (name for name, share in columns.items() if share > DROWNED_COLUMN), key=lambda name: -columns[name]
    )
    if drowned:
        worst = columns[drowned[0]]
        found.append(
            f"noise drowns {len(drowned)} of {len(columns)} columns ({named(drowned)}): it alone is expected to put up "
            f"to {min(worst, 1.0):.0%} of the rows into wrong values. {remedies(worst)}"
        )
    crossed = [one for one in expected_noise(measurements, ledger, rows) if len(one.columns) > 1]
    lost = [one for one in crossed if one.share_of_rows > DROWNED_TABLE]
    if lost:
        found.append(
            f"noise drowns {len(lost)} of {len(crossed)} tables over several columns: do not trust what this release "
            "says about how columns go together there"
        )
    return tuple(found)


def named(columns: Sequence[str]) -> str:
    """The names of a few columns."""
    return ", ".join(one_line(name, 40) for name in columns[:NAMED]) + (" …" if len(columns) > NAMED else "")


def remedies(worst: float) -> str:
    """What to do about noise that puts this share of the rows into wrong values."""
    return (
        "Give fewer or coarser values (bins, 'other', 'compress'), leave columns out with 'ignore', lower 'unit.rows' "
        "or count persons ('unit.count'), "
        f"or give a larger budget: {max(2, round(worst / DROWNED_COLUMN + 0.5))} times as much would bring this below "
        f"{DROWNED_COLUMN:.0%}"
    )


def size_warnings(selection: Selection, domain: Domain) -> tuple[str, ...]:
    """That some pairs of columns have too many cells for the method: what ties them is in no table."""
    if not selection.too_large:
        return ()
    pairs = len(domain) * (len(domain) - 1) // 2
    return (
        f"{selection.too_large:,} of {pairs:,} pairs of columns have too many cells for this method and were not "
        "looked at; declare fewer bins or categories, or levels, for the largest columns",
    )
