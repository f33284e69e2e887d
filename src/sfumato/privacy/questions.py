"""What each question to a holder is called and costs, whoever has the rows, and how its noisy numbers are read.

A holder that counts rows, a federation of them, and a verifier that has only what was published build the same events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique
from sfumato.data.marginal import Measurement
from sfumato.privacy.budget import Budget, Share, amount_of
from sfumato.privacy.events import PERSONS, Choice, Noisy, table_question
from sfumato.privacy.mechanisms import Noise
from sfumato.privacy.mechanisms.exponential import Exponential
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.scores import GRID, Score
from sfumato.privacy.sensitivity import Sensitivity

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Dependence:
    """Noisy scores of pairs, in rows, and the tables that were paid for to find them, if it took any."""

    scores: NDArray[np.float64]
    tables: tuple[Measurement, ...] = ()

    @classmethod
    def of(cls, noisy: Integers, neighbours: Neighbours) -> Dependence:
        """The scores that noisy whole numbers stand for."""
        return cls(_in_rows(noisy, neighbours))

    @classmethod
    def of_tables(cls, tables: Sequence[Measurement]) -> Dependence:
        """Scores of noisy tables of the pairs, where nobody has the exact ones."""
        return cls(np.array([noisy_dependence(one) for one in tables]), tuple(tables))


@dataclass(frozen=True, eq=False)
class Distances:
    """Noisy distances of tables to public ones, in rows, and the variance of the noise in each, or in all."""

    values: NDArray[np.float64]
    variance: float | NDArray[np.float64]

    @classmethod
    def of(cls, noisy: Integers, event: Noisy, neighbours: Neighbours) -> Distances:
        """The distances that noisy whole numbers stand for."""
        return cls(_in_rows(noisy, neighbours), event.noise.variance / (GRID * neighbours.parts) ** 2)


def dependence_event(budget: Budget, part: Share, neighbours: Neighbours, pairs: int) -> Noisy:
    """What it costs to score pairs of columns, all of them for one part."""
    question = f"dependence of {pairs} pairs of columns, in rows / {GRID}"
    return _noisy(question, budget, part, neighbours.dependence.repeated(pairs))


def distances_event(budget: Budget, part: Share, neighbours: Neighbours, tables: int) -> Noisy:
    """What it costs to compare tables with public ones, all of them for one part."""
    question = f"distance of {tables} tables to those of a model, in rows / {GRID}"
    return _noisy(question, budget, part, neighbours.distance.repeated(tables))


def choice_event(budget: Budget, part: Share, neighbours: Neighbours, score: Score, families: int) -> Choice:
    """What it costs to choose one of several sets of parents."""
    sensitivity = neighbours.score(score)
    mechanism = Exponential.calibrate(amount_of(part, budget), sensitivity, budget.notion)
    return Choice(f"one of {families} sets of parents, by score {score.name}", mechanism, sensitivity)


def persons_event(budget: Budget, part: Share, neighbours: Neighbours) -> Noisy:
    """What it costs to count persons by their number of rows."""
    return _noisy(PERSONS, budget, part, neighbours.person)


def table_noise(budget: Budget, part: Share, neighbours: Neighbours) -> Noise:
    """The noise that a part of a budget buys for one table."""
    return budget.noise.calibrate(amount_of(part, budget), neighbours.marginal)


def table_noises(budget: Budget, parts: Sequence[Share], neighbours: Neighbours) -> list[Noise]:
    """The noise of several tables. There may be thousands of them, but their parts are of few sizes."""
    known = {part: table_noise(budget, part, neighbours) for part in set(parts)}
    return [known[part] for part in parts]


def table_events(cliques: Sequence[Clique], noises: Sequence[Noise], neighbours: Neighbours) -> tuple[Noisy, ...]:
    """What it costs to measure tables, whoever has the rows."""
    sensitivity = neighbours.marginal
    return tuple(
        Noisy(table_question(clique, neighbours.parts), noise, sensitivity)
        for clique, noise in zip(cliques, noises, strict=True)
    )


def noisy_dependence(measurement: Measurement) -> float:
    """InDif of a noisy pair table, less what its noise adds to that of independent columns; not below 0, in rows.

    Noise alone makes a table look dependent; what it adds on average is taken off.
    """
    counts = np.asarray(measurement.marginal.counts, dtype=np.float64)
    rows = counts.sum()
    if rows <= 0:
        return 0.0
    product = np.multiply.outer(counts.sum(axis=1), counts.sum(axis=0)) / rows
    free = (counts.shape[0] - 1) * (counts.shape[1] - 1) / counts.size  # of the noise, margins explain the rest
    noise = int(measurement.noisy_cells.sum()) * sqrt(2 / pi * measurement.variance * free)
    return max(0.0, float(np.abs(counts - product).sum()) - noise)


def _noisy(question: str, budget: Budget, part: Share, sensitivity: Sensitivity) -> Noisy:
    return Noisy(question, budget.noise.calibrate(amount_of(part, budget), sensitivity), sensitivity)


def _in_rows(noisy: Integers, neighbours: Neighbours) -> NDArray[np.float64]:
    return np.asarray(noisy / (GRID * neighbours.parts), dtype=np.float64)
