"""The canary game: is one person in the table? Played by somebody who knows all other rows and sees every answer.

The guess is the likelier of the two worlds, by the likelihood ratio of *all* that left the holder: tables, scores and
choices. So nothing is tuned on the runs, and all of them count. Wrong guesses bound the loss from below:

- with epsilon alone, a guess is wrong at least 1 / (1 + e^epsilon) of the time;
- a ledger of Gaussian cost rho says more: at least Phi(-mu / 2), with mu = sqrt(2 rho).

Both are about the mean of the two rates of error. The errors of all runs are independent coins of two sides, and few of
them are at most as likely as with one rate for all (Hoeffding 1956), so Clopper and Pearson's bound holds for the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.audit.recording import Asked, RecordingHolder
from sfumato.audit.rows import equal_rows, made_up
from sfumato.engines import Engine
from sfumato.fitting import count_persons, open_ledger
from sfumato.job import Job
from sfumato.pipeline import run
from sfumato.privacy.accountant import gaussian_epsilon
from sfumato.privacy.budget import PureDP
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.events import Choice
from sfumato.privacy.mechanisms import Laplace
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.opening import open_engine

LIKELY, SURE = 0.95, 1 - 1e-6
"""The confidence of the bound that is shown, and of the one that a violation is claimed with."""


@dataclass(frozen=True)
class Game:
    """What came of a game.

    Args:
        runs: how many runs were made, half of them with the canary.
        wrong: how many of them were guessed wrong.
        epsilon: what the ledger guarantees, with `delta`.
        delta: likewise; 0 if the bounds are on epsilon alone.
    """

    runs: int
    wrong: int
    epsilon: float
    delta: float

    @property
    def bound(self) -> float:
        """A lower bound on epsilon, at 95 % confidence."""
        return epsilon_bound(self.wrong, self.runs, self.delta, LIKELY)

    @property
    def sure_bound(self) -> float:
        """A lower bound on epsilon, at the confidence that decides."""
        return epsilon_bound(self.wrong, self.runs, self.delta, SURE)

    @property
    def best_possible(self) -> float:
        """The largest bound that this number of runs could have shown at 95 %."""
        return epsilon_bound(0, self.runs, self.delta, LIKELY)


def play(job: Job, runs: int) -> Game:
    """Run a method with and without a canary in an empty cell, and guess which of the two it was."""
    others = made_up(job.schema, 20, seed=3)
    canary = equal_rows(job.schema, True, job.schema.unit.rows, 10**6)  # as many rows as one person may have
    worlds = (others, pa.concat_tables([others, canary]))
    engines = [open_engine(world, job.schema, SystemEntropy()) for world in worlds]
    wrong = 0
    for _ in range(runs // 2):
        wrong += _likelihood(job, engines[0], engines[1]) <= 0  # a tie may go either way
        wrong += _likelihood(job, engines[1], engines[0]) <= 0
    guarantee = open_ledger(job).statement().guarantee
    delta = 0.0 if isinstance(job.opened, PureDP) else guarantee["delta"]
    return Game(2 * (runs // 2), wrong, guarantee["epsilon"], delta)


def epsilon_bound(wrong: int, runs: int, delta: float, confidence: float) -> float:
    """The largest epsilon that a share of wrong guesses rules out; with a delta, that of a Gaussian release."""
    from scipy.special import ndtri  # on demand: they take as long to load as a small run
    from scipy.stats import beta

    most = 1.0 if wrong == runs else float(beta.ppf(confidence, wrong + 1, runs - wrong))
    if most >= 0.5:
        return 0.0
    if delta == 0:
        return log((1 - most) / most)
    return gaussian_epsilon(Fraction(float((2 * ndtri(most)) ** 2 / 2)), delta)


class _Reconciling(Exception):  # noqa: N818 -- the name says what happened
    """All questions were asked."""


class _Likelihood:
    """How much likelier the answers are with the rows they came from than with the others, as a logarithm."""

    def __init__(self) -> None:
        self.total = 0.0

    def hear(self, asked: Asked) -> object:
        """Add up."""
        for noisy, own, other, event in zip(asked.noisy, *asked.exact, asked.events, strict=True):
            if isinstance(event, Choice):
                rate = float(event.mechanism.rate)
                chances = [_log_chances(rate * one) for one in (own, other)]
                self.total += float((chances[0] - chances[1])[int(noisy[0])])
            elif isinstance(event.noise, Laplace):
                self.total += float((_away(noisy, other) - _away(noisy, own)).sum()) / float(event.noise.scale)
            else:
                squares = _away(noisy, other) ** 2 - _away(noisy, own) ** 2
                self.total += float(squares.sum()) / (2 * event.noise.variance)
        return asked.answer


def _log_chances(heights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of the chances of candidates, of logarithms up to a constant."""
    above = heights - heights.max()
    return np.asarray(above - np.log(np.exp(above).sum()), dtype=np.float64)


def _away(one: NDArray[np.int64], two: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.abs((one - two).astype(np.float64))


def _likelihood(job: Job, *engines: Engine) -> float:
    """Ask the rows of the first engine all that a method asks, and nothing after that: it would tell nothing more."""
    ledger, heard = open_ledger(job), _Likelihood()
    holder = RecordingHolder(engines, Neighbours.of(job.schema), ledger, heard)
    count_persons(holder, job.schema, ledger)

    def until_reconciled(stage: str) -> None:
        if stage == "reconcile":
            raise _Reconciling

    try:
        run(job.recipe, holder, job.schema, ledger, until_reconciled)
    except _Reconciling:
        return heard.total
    raise AssertionError("a run ended before its tables were made to agree")
