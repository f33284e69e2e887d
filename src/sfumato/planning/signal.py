"""Planted signals: what a classifier keeps if it learns from synthetic rows instead of real ones.

How much the columns of a table say about its label is in the private rows, so no plan can know it. Made-up rows have a
signal too, of a known strength, and what is left of that can be rehearsed: a conditional statement, and given as one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.records import Records

Range = tuple[float, float]

TEST_ROWS = 10_000
"""Made-up rows that classifiers are tried on; no run sees them."""

PLANTED = 0.01
"""A signal that lets a classifier of real rows gain less than this over guessing is none, and nothing can be kept."""


@dataclass(frozen=True)
class Signal:
    """Which part of the test rows is classified right: by the most frequent label, and from real and synthetic rows."""

    guess: float
    real: float
    synthetic: float

    @property
    def kept(self) -> float:
        """The part of what real rows gain over guessing that synthetic rows gain too."""
        return (self.synthetic - self.guess) / (self.real - self.guess)


@dataclass(frozen=True)
class SignalForecast:
    """What is kept of the signals of several populations.

    Args:
        label: the column that is predicted.
        guess: how often its most frequent value is right.
        real: how often a classifier is right that learned from real rows.
        kept: the part of the gain between these that one keeps that learned from synthetic rows.
    """

    label: str
    guess: Range
    real: Range
    kept: Range


def planted(real: Records, synthetic: Records, test: Records, label: str) -> Signal:
    """Train on real rows and on synthetic ones, and try both on the same further rows."""
    labels = test[label]
    frequent = int(np.bincount(real[label], minlength=real.domain[label]).argmax())
    right = [float((predicted(rows, test, label) == labels).mean()) for rows in (real, synthetic)]
    return Signal(float((labels == frequent).mean()), *right)


def predicted(train: Records, test: Records, label: str) -> NDArray[np.int64]:
    """What naive Bayes with half a row in every cell says: it learns tables of the label and one other column each."""
    size, labels = train.domain[label], train[label].astype(np.int64)
    score = np.tile(np.log(np.bincount(labels, minlength=size) + 0.5), (len(test), 1))
    for name in train.domain.names:
        if name != label:
            codes = train.domain[name]
            table = np.bincount(labels * codes + train[name], minlength=size * codes).reshape(size, codes) + 0.5
            score += np.log(table / table.sum(axis=1, keepdims=True)).T[test[name]]
    return np.asarray(score.argmax(axis=1), dtype=np.int64)


def signal_forecast(label: str | None, found: Iterable[Signal | None]) -> SignalForecast | None:
    """What is kept, as a range over rehearsals in which there is something to keep; None if there is none."""
    made = [one for one in found if one is not None and one.real - one.guess >= PLANTED]
    if label is None or not made:
        return None
    guess, real, kept = ([getattr(one, name) for one in made] for name in ("guess", "real", "kept"))
    return SignalForecast(label, (min(guess), max(guess)), (min(real), max(real)), (min(kept), max(kept)))


def signal_words(signal: SignalForecast) -> str:
    """The statement, with its condition."""

    def words(some: Range) -> str:
        return f"{100 * some[0]:.0f} to {100 * some[1]:.0f} %"

    return (
        f"if naive Bayes trained on real rows were right {words(signal.real)} of the time, where guessing is "
        f"{words(signal.guess)}, one trained on synthetic rows would keep {words(signal.kept)} of that gain"
    )
