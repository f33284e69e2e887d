"""What noise will do to a run, known before it is paid for: from the schema, the budget and a public guess of rows.

Nothing is rehearsed and no row is made up, so it costs next to nothing. Each table is taken to get an even part of the
budget: single columns among themselves, and as many pairs as it takes to join all columns. Methods do it differently
and merge values that noise hides, so figures are rough; `plan` rehearses the method itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import ceil, prod
from statistics import median

from sfumato.intake.attribute_kinds import Attribute
from sfumato.intake.attributes import Attributes
from sfumato.job import Job
from sfumato.privacy.neighbours import Neighbours
from sfumato.release.expected import DROWNED_COLUMN, DROWNED_TABLE, named, remedies
from sfumato.schema.schema import Schema
from sfumato.text import one_line


@dataclass(frozen=True)
class Outlook:
    """The noise that is to be expected, in rows: the sum over all cells of a table, without sign and halved.

    Divided by the number of rows it is about the share of rows that noise puts into wrong values.

    Args:
        rows: the public guess of the rows; None if there is none.
        columns: the noise of each attribute's own table.
        pairs: that of each pair of attributes, least first.
    """

    rows: int | None
    columns: dict[str, float]
    pairs: tuple[float, ...]

    @property
    def rows_needed(self) -> int:
        """From how many rows on noise drowns no column, rounded up to two digits."""
        exact = ceil(max(self.columns.values()) / DROWNED_COLUMN)
        step = int(10 ** max(len(str(exact)) - 2, 0))
        return -(-exact // step) * step

    def one_way(self, rows: int) -> float:
        """The mean share of rows in wrong values of a column, which is at most all of them."""
        return sum(min(noise / rows, 1.0) for noise in self.columns.values()) / len(self.columns)

    def two_way(self, rows: int) -> float | None:
        """The share of rows in wrong cells of the middle pair of columns; None for a single column."""
        return min(median(self.pairs) / rows, 1.0) if self.pairs else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person must know before paying; nothing if all is well, or if nobody guessed the rows."""
        if self.rows is None:
            return ()
        found = []
        shares = {name: noise / self.rows for name, noise in self.columns.items()}
        drowned = sorted((name for name, share in shares.items() if share > DROWNED_COLUMN), key=lambda n: -shares[n])
        if drowned:
            worst = shares[drowned[0]]
            found.append(
                f"noise will drown {len(drowned)} of {len(shares)} columns ({named(drowned)}) in a table of about "
                f"{self.rows:,} rows: it alone is expected to put up to {min(worst, 1.0):.0%} of the rows into wrong "
                f"values. {remedies(worst)}; or gather more rows: about {self.rows_needed:,} would do"
            )
        pairs = self.two_way(self.rows)
        if pairs is not None and pairs > DROWNED_TABLE:
            found.append(
                "noise will drown most tables over two columns, even if only as many are measured as it takes to join "
                "all columns: do not count on how columns go together"
            )
        return tuple(found)

    @property
    def words(self) -> tuple[str, ...]:
        """The warnings; or, where nobody guessed the rows, from how many rows on the budget is enough."""
        if self.rows is not None:
            return self.warnings
        worst = one_line(max(self.columns, key=lambda name: self.columns[name]), 40)
        return (
            f"with this budget noise drowns column {worst} in a table of fewer than about {self.rows_needed:,} rows; "
            "give a public guess of yours ('rows_guess' in the schema) to be warned before you pay",
        )


def outlook(job: Job, rows: int | None = None, parties: int = 1) -> Outlook:
    """What noise will do to a run, from public facts alone.

    Args:
        job: the run.
        rows: a public guess of the rows; by default that of the schema.
        parties: at how many parties one person may have rows.
    """
    schema, budget = job.schema, job.opened
    attributes, neighbours = Attributes(schema).all, Neighbours.of(schema, parties)
    sizes = [_joint(one) for one in attributes]

    def noise(tables: int) -> float:
        """The mean of the noise in a cell, without sign, if this many tables share the budget."""
        drawn = budget.noise.calibrate(budget.total.amount * Fraction(1, tables), neighbours.marginal)
        return drawn.mean_absolute / neighbours.parts

    alone, together = noise(len(attributes)), noise(max(len(attributes) - 1, 1))
    columns = {_name(one, schema): one.size * alone / 2 for one in attributes}
    pairs = sorted(prod(pair) * together / 2 for pair in combinations(sizes, 2))
    return Outlook(schema.rows_guess if rows is None else rows, columns, tuple(pairs))


def _joint(attribute: Attribute) -> int:
    """How many codes an attribute has in tables with others."""
    if attribute.joint_bins is None:
        return attribute.size
    return min(attribute.joint_bins, attribute.ordered) + attribute.size - attribute.ordered


def _name(attribute: Attribute, schema: Schema) -> str:
    return attribute.name if attribute.name in schema.names else " × ".join(one.name for one in attribute.columns)
