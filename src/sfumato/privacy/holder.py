"""Holders: the only objects that have private rows. A holder charges the ledger first and answers second.

Sensitivities and their proofs: docs/proofs/sensitivity.md; tests/privacy/test_sensitivity.py brute-forces them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.records import Records
from sfumato.data.schema import Schema
from sfumato.data.selection import Family
from sfumato.engines import memory
from sfumato.privacy.budget import Share
from sfumato.privacy.choice import Race
from sfumato.privacy.entropy import Entropy, SystemEntropy
from sfumato.privacy.events import Choice, Gaussian, Laplace, Noise, Noisy, Sensitivity, Skellam
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.noise import discrete_laplace, rounded_gaussian
from sfumato.privacy.scores import GRID as GRID
from sfumato.privacy.scores import Score, independence_difference
from sfumato.privacy.shares import skellam_share

Table = TypeVar("Table", contravariant=True)


@dataclass(frozen=True)
class Neighbours:
    """Which two tables must look alike: at most `rows` rows more or less, or exchanged for others.

    `persons` says that an identifier tells which rows are one person's, and that no person has more. Without one, it is
    only an assumption that these rows are all that a person has.
    """

    rows: int = 1
    replace: bool = False
    persons: bool = False

    @classmethod
    def of(cls, schema: Schema) -> Neighbours:
        """The relation that a schema declares."""
        return cls(schema.unit.rows, schema.neighbours == "replace-one", schema.unit.column is not None)

    @property
    def changes(self) -> int:
        """How many rows must be added or removed, one by one, to get from a table to its neighbour."""
        return self.rows * (2 if self.replace else 1)

    @property
    def marginal(self) -> Sensitivity:
        """Of one table of counts. All rows of a person may lie in one cell; an exchanged person moves two cells."""
        cells = Sensitivity.single(self.rows)
        return cells.repeated(2) if self.replace else cells

    @property
    def dependence(self) -> Sensitivity:
        """Of one dependence score on the grid: 4 for each row added or removed, and one grid step for rounding down."""
        return Sensitivity.single(4 * self.changes * GRID + 1)

    def __str__(self) -> str:
        if self.persons:
            who = "one person's row" if self.rows == 1 else f"all rows of one person (at most {self.rows})"
        else:
            who = "one row" if self.rows == 1 else f"any {self.rows} rows"
        others = "any other" if self.rows == 1 else "any others"
        return f"{who}, {f'replaced by {others}' if self.replace else 'added or removed'}"


class Codec(Protocol[Table]):
    """A public way to turn a table into codes: it may fail, but what it does to one row depends on that row alone."""

    @property
    def domain(self) -> Domain:
        """The domain of the codes."""
        ...

    def encode(self, table: Table) -> Records:
        """The codes of a table."""
        ...


class Holder(Protocol):
    """Answers questions about private rows with noise, and charges for each answer before it looks."""

    @property
    def domain(self) -> Domain:
        """The public domain of the rows."""
        ...

    @property
    def neighbours(self) -> Neighbours:
        """Which tables must look alike."""
        ...

    @property
    def budget(self) -> Share:
        """The whole budget of the run, spent or not; public."""
        ...

    def measure(self, cliques: Sequence[Clique], noises: Sequence[Noise]) -> tuple[Measurement, ...]:
        """The marginal of each clique, every cell with independent noise."""
        ...

    def dependence(self, pairs: Sequence[Clique], noise: Noise) -> NDArray[np.float64]:
        """How far each pair of columns is from independence, in rows: the InDif score plus noise."""
        ...

    def choose(self, families: Sequence[Family], score: Score, epsilon: Fraction, handicaps: Sequence[int]) -> int:
        """The place of one family, those of high score more likely, by the exponential mechanism."""
        ...

    def note(self, question: str, reason: str) -> None:
        """Record a step that needs no answer about the rows and so costs nothing."""
        ...

    def through(self, codec: Codec[Records]) -> Holder:
        """The same rows in the codes of `codec`; asks nothing and costs nothing."""
        ...


class LocalHolder:
    """A holder of one table in this process."""

    def __init__(self, records: Records, neighbours: Neighbours, ledger: Ledger, entropy: Entropy | None = None):
        self._records = records
        self._ledger = ledger
        self._entropy = entropy or SystemEntropy()
        self._scores: dict[tuple[str, Family], int] = {}
        self.neighbours = neighbours

    @property
    def domain(self) -> Domain:
        """The public domain of the rows."""
        return self._records.domain

    @property
    def budget(self) -> Share:
        """The whole budget of the run, spent or not; public."""
        return self._ledger.budget.total

    def note(self, question: str, reason: str) -> None:
        """Record a step that needs no answer about the rows and so costs nothing."""
        self._ledger.note(question, reason)

    def through(self, codec: Codec[Records]) -> LocalHolder:
        """The same rows in the codes of `codec`; asks nothing and costs nothing."""
        return LocalHolder(codec.encode(self._records), self.neighbours, self._ledger, self._entropy)

    def measure(self, cliques: Sequence[Clique], noises: Sequence[Noise]) -> tuple[Measurement, ...]:
        """The marginal of each clique, every cell with independent noise of its own width."""
        domains = [self.domain.project(clique) for clique in cliques]
        for clique in cliques:
            self.domain.require_cells(clique, memory.MOST_CELLS)
        self._ledger.charge(*table_events(cliques, noises, self.neighbours))
        # Noise is drawn before the rows are counted: its running time cannot depend on them.
        drawn = [self._draw(noise, domain.cells()) for domain, noise in zip(domains, noises, strict=True)]
        exact = memory.count(self._records, cliques)
        return tuple(
            Measurement(Marginal(domain, table.counts + extra.reshape(domain.shape)), noise.variance)
            for domain, table, extra, noise in zip(domains, exact, drawn, noises, strict=True)
        )

    def dependence(self, pairs: Sequence[Clique], noise: Noise) -> NDArray[np.float64]:
        """How far each pair of columns is from independence, in rows, plus noise.

        The score of columns a and b is InDif = sum over cells |M_ab - M_a M_b / n|. The width of `noise` is in units of
        1/GRID rows.
        """
        sensitivity = self.neighbours.dependence.repeated(len(pairs))
        self._ledger.charge(Noisy(f"dependence of {len(pairs)} pairs of columns, in rows / {GRID}", noise, sensitivity))
        drawn = self._draw(noise, len(pairs))
        tables = (table for batch in _batches(self.domain, pairs) for table in memory.count(self._records, batch))
        exact = np.fromiter(
            (independence_difference(_integers(table)) for table in tables), dtype=np.int64, count=len(pairs)
        )
        return np.asarray((exact + drawn) / GRID, dtype=np.float64)

    def choose(self, families: Sequence[Family], score: Score, epsilon: Fraction, handicaps: Sequence[int]) -> int:
        """The place of one family, drawn with probability proportional to exp(rate * (score - handicap)).

        Args:
            families: a column and its parents, each.
            score: what the choice prefers.
            epsilon: what the choice costs.
            handicaps: public numbers, one for each family, in the unit of the score.
        """
        sensitivity = score.sensitivity(self.neighbours.rows, self.neighbours.replace)
        event = Choice(
            f"one of {len(families)} sets of parents, by score {score.name}", epsilon / (2 * sensitivity), sensitivity
        )
        self._ledger.charge(event)
        # What decides is drawn before the rows are counted, for all candidates: that takes as long on every table.
        race = Race.draw(len(families), self._entropy)
        new = [family for family in families if (score.name, family) not in self._scores]
        cliques = [(family.column, *family.parents) for family in new]
        tables = (table for batch in _batches(self.domain, cliques) for table in memory.count(self._records, batch))
        for family, table in zip(new, tables, strict=True):
            # A family is a candidate in many choices, and its exact score does not change between them.
            counts = _integers(table)
            self._scores[score.name, family] = score.of(counts.reshape(counts.shape[0], -1))
        exact = [self._scores[score.name, family] - less for family, less in zip(families, handicaps, strict=True)]
        return race.winner(exact, event.rate)

    def _draw(self, noise: Noise, size: int) -> NDArray[np.int64]:
        match noise:
            case Laplace(scale):
                return discrete_laplace(scale, size, self._entropy)
            case Gaussian(sigma):
                return rounded_gaussian(sigma, size, self._entropy)
            case Skellam(mu):
                return skellam_share(mu, 1, size, self._entropy)

    def __repr__(self) -> str:
        return f"LocalHolder({self.domain!r})"

    def __reduce__(self) -> str:
        raise TypeError("a holder has private rows and cannot be pickled or copied")


def table_events(cliques: Sequence[Clique], noises: Sequence[Noise], neighbours: Neighbours) -> tuple[Noisy, ...]:
    """What it costs to measure tables, whoever has the rows."""
    return tuple(
        Noisy(f"table {' × '.join(clique)}", noise, neighbours.marginal)
        for clique, noise in zip(cliques, noises, strict=True)
    )


def _batches(domain: Domain, cliques: Sequence[Clique], most_cells: int = 1 << 24) -> Iterator[list[Clique]]:
    """Consecutive parts of a list of cliques whose tables fit in memory together."""
    batch: list[Clique] = []
    cells = 0
    for clique in cliques:
        cells += domain.cells(clique)
        if batch and cells > most_cells:
            yield batch
            batch, cells = [], domain.cells(clique)
        batch.append(clique)
    if batch:
        yield batch


def _integers(table: Marginal) -> NDArray[np.int64]:
    """The counts of an exact table."""
    return table.counts.astype(np.int64, copy=False)
