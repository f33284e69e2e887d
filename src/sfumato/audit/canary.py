"""The canary game: is one row in the table? Played by somebody who knows all other rows and sees all noisy tables.

The lower bound on epsilon is honest: the threshold is chosen on one half of the runs and tried on the other, and both
rates are bounded exactly (Clopper and Pearson), together at the stated confidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.audit.rows import equal_rows, made_up
from sfumato.engines import Engine
from sfumato.fitting import run_job
from sfumato.job import Job
from sfumato.pipeline import Model
from sfumato.privacy.entropy import SystemEntropy
from sfumato.privacy.events import Noisy
from sfumato.privacy.ledger import Statement
from sfumato.privacy.mechanisms import Laplace
from sfumato.privacy.opening import open_engine

SURE = 1 - 1e-6
"""The confidence that a violation is claimed with."""


@dataclass(frozen=True)
class Game:
    """What came of a game.

    Args:
        runs: how many releases were made, half of them with the canary.
        epsilon: what the ledger guarantees, with `delta`.
        delta: likewise.
        bound: a lower bound on epsilon at 95 % confidence.
        sure_bound: one at the confidence that decides.
        best_possible: the largest bound that this number of runs could have shown at 95 %.
    """

    runs: int
    epsilon: float
    delta: float
    bound: float
    sure_bound: float
    best_possible: float


def play(job: Job, runs: int) -> Game:
    """Make releases with and without a canary in an empty cell, and tell them apart as well as can be."""
    others = made_up(job.schema, 20, seed=3)
    canary = equal_rows(job.schema, True, job.schema.unit.rows, 10**6)  # as many rows as one person may have
    worlds = (others, pa.concat_tables([others, canary]))
    engines = [open_engine(world, job.schema, SystemEntropy()) for world in worlds]
    guarantee: dict[str, float] = {}
    scores: list[NDArray[np.float64]] = []
    for world in worlds:
        found = []
        for _ in range(runs // 2):
            release = run_job(job, world)
            guarantee = release.ledger.guarantee
            found.append(_likelihood(release.model, release.ledger, engines, job.schema.unit.parts))
        scores.append(np.array(found))
    epsilon, delta = guarantee["epsilon"], guarantee["delta"]
    half = runs // 4
    without, with_ = scores
    threshold = _best_threshold(without[:half], with_[:half], delta)
    hits, alarms, tries = (
        int((with_[half:] > threshold).sum()),
        int((without[half:] > threshold).sum()),
        len(with_) - half,
    )
    bound, sure_bound = (epsilon_bound(hits, alarms, tries, delta, sure) for sure in (0.95, SURE))
    return Game(runs, epsilon, delta, bound, sure_bound, epsilon_bound(tries, 0, tries, delta, 0.95))


def _likelihood(model: Model, statement: Statement, engines: list[Engine], parts: int) -> float:
    """How much likelier the noisy tables are with the canary than without, as a logarithm."""
    total = 0.0
    for one in model.measurements:
        if one.coding is None or one.event is None:
            continue
        _, event = statement.entries[one.event]
        without, with_ = (_exact(engine, one) for engine in engines)
        noisy = np.asarray(one.marginal.counts, dtype=np.float64) * parts
        if not isinstance(event, Noisy):
            continue
        if isinstance(event.noise, Laplace):
            total += float((np.abs(noisy - without) - np.abs(noisy - with_)).sum()) / float(event.noise.scale)
        else:
            total += float(((noisy - without) ** 2 - (noisy - with_) ** 2).sum()) / (2 * event.noise.variance)
    return total


def _exact(engine: Engine, one: Any) -> NDArray[np.float64]:
    (table,) = engine.count(one.coding, [one.clique])
    return np.asarray(table.counts, dtype=np.float64)


def _best_threshold(without: NDArray[np.float64], with_: NDArray[np.float64], delta: float) -> float:
    candidates = np.quantile(np.concatenate([without, with_]), np.linspace(0.05, 0.95, 19))
    bounds = [
        epsilon_bound(int((with_ > one).sum()), int((without > one).sum()), len(with_), delta, 0.5)
        for one in candidates
    ]
    return float(candidates[int(np.argmax(bounds))])


def epsilon_bound(hits: int, alarms: int, tries: int, delta: float, confidence: float) -> float:
    """The largest epsilon that true and false positives rule out, in both directions; both rates bounded at once."""
    from scipy.stats import beta  # on demand: it takes as long to load as a small run

    miss = (1 - confidence) / 2
    least_hits = 0.0 if hits == 0 else float(beta.ppf(miss, hits, tries - hits + 1))
    most_alarms = 1.0 if alarms == tries else float(beta.ppf(1 - miss, alarms + 1, tries - alarms))
    found = 0.0
    for high, low in ((least_hits, most_alarms), (1 - most_alarms, 1 - least_hits)):
        if high > delta and low > 0:
            found = max(found, log((high - delta) / low))
    return found
