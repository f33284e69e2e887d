"""Binary questions that a support vector machine learns from synthetic rows and answers about real ones.

Section VII of the DP-SUBN paper trains several such classifiers on one synthetic table, each to predict one column from
all others: on the Adult data whether a person holds a post-secondary degree, and whether they earn more than 50K.
Needs the extra `sfumato[evaluate]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.records import Records
from sfumato.errors import MethodError
from sfumato.evaluate.classifiers import features, need_rows, need_sklearn, some_rows


@dataclass(frozen=True)
class Task:
    """Does the code of a row in `column` lie in `positive`?

    Args:
        name: what is asked, in words.
        column: the column that is asked about.
        positive: the codes for which the answer is yes.
        hidden: further columns that a classifier may not see, because they give the answer away: the number of years
            of education tells the degree.
    """

    name: str
    column: str
    positive: frozenset[int]
    hidden: frozenset[str] = frozenset()

    def answers(self, records: Records) -> NDArray[np.bool_]:
        """The answer for each row."""
        size = records.domain[self.column]
        if not self.positive or not all(0 <= code < size for code in self.positive):
            raise MethodError(
                f"task {self.name!r} asks for codes of column {self.column!r}; give some of 0 … {size - 1}"
            )
        return np.isin(records[self.column], list(self.positive))

    def shown(self, records: Records, ordered: frozenset[str]) -> NDArray[np.float32]:
        """What a classifier sees of each row."""
        names = [name for name in records.domain if name == self.column or name not in self.hidden]
        seen = Records(records.domain.project(names), [records[name] for name in names])
        return features(seen, self.column, ordered)


@dataclass(frozen=True)
class TaskScore:
    """How often a classifier is wrong about the real rows, and how often the better constant answer is."""

    task: Task
    misclassified: float
    constant: float


def task_scores(
    train: Records,
    test: Records,
    tasks: Sequence[Task],
    ordered: frozenset[str],
    rows: int = 10_000,
    seed: int = 0,
) -> list[TaskScore]:
    """Train a linear support vector machine for each task on `train`, and count its mistakes on `test`.

    Args:
        train: rows to learn from, synthetic or real.
        test: real rows that nobody has learned from.
        tasks: the questions; a classifier sees all columns but the one that it is asked about, and those hidden.
        ordered: columns whose codes are given as numbers; others become indicators.
        rows: the most rows to train on, and to test on.
        seed: of the choice of rows and of the classifiers.
    """
    need_sklearn()
    need_rows(train, test)
    rng = np.random.default_rng(seed)
    train, test = (some_rows(records, rows, rng) for records in (train, test))
    return [_score(train, test, task, ordered, seed) for task in tasks]


def mean_misclassified(scores: Sequence[TaskScore]) -> float:
    """The mean misclassification rate over all tasks."""
    return float(np.mean([score.misclassified for score in scores]))


def _score(train: Records, test: Records, task: Task, ordered: frozenset[str], seed: int) -> TaskScore:
    from sklearn.svm import LinearSVC

    learned, wanted = task.answers(train), task.answers(test)
    constant = float(min(wanted.mean(), 1 - wanted.mean()))
    if learned.all() or not learned.any():  # a table with one answer teaches nothing else
        return TaskScore(task, float((wanted != learned[0]).mean()), constant)
    # There are more rows than columns: the primal problem is the faster one.
    model = LinearSVC(dual=False, random_state=seed).fit(task.shown(train, ordered), learned)
    guess = model.predict(task.shown(test, ordered))
    return TaskScore(task, float((wanted != guess).mean()), constant)
