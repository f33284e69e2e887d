"""Classifiers that are trained on synthetic rows and tested on real ones. Needs the extra `sfumato[evaluate]`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.records import Records
from sfumato.errors import MethodError

ONE_HOT = 64
"""Nominal columns with more codes than this are given to classifiers as numbers."""


@dataclass(frozen=True)
class Score:
    """How well a classifier, trained on one table, does on another; each number is 1 if it is perfect.

    Args:
        classifier: its name.
        accuracy: the share of rows whose label it guesses.
        f1: the mean over the labels of their F1 scores (macro), whether there are two labels or more.
        auc: the area under the ROC curve; with more than two labels the mean of each one against the rest.
    """

    classifier: str
    accuracy: float
    f1: float
    auc: float


def scores(
    train: Records,
    test: Records,
    label: str,
    ordered: frozenset[str],
    classifiers: Iterable[str] | None = None,
    rows: int = 10_000,
    seed: int = 0,
) -> list[Score]:
    """Train each classifier on (at most `rows` random rows of) `train`, and score it on `test`.

    Args:
        train: rows to learn from, synthetic or real.
        test: real rows that nobody has learned from.
        label: the column to predict.
        ordered: columns whose codes are given as numbers; others become indicators.
        classifiers: names from `CLASSIFIERS`; all of them by default.
        rows: the most rows to train on, and to test on.
        seed: of the choice of rows and of the classifiers.
    """
    need_sklearn()
    need_rows(train, test)
    from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

    rng = np.random.default_rng(seed)
    train, test = (some_rows(records, rows, rng) for records in (train, test))
    x_train, x_test = (features(records, label, ordered) for records in (train, test))
    y_train, y_test = train[label].astype(np.int64), test[label].astype(np.int64)
    found = []
    for name in CLASSIFIERS if classifiers is None else classifiers:
        model = _fitted(name, x_train, y_train, seed)
        guess, chance = model.predict(x_test), model.predict_proba(x_test)
        auc = _auc(roc_auc_score, y_test, chance, model.classes_)
        f1 = f1_score(y_test, guess, average="macro", zero_division=0)
        found.append(Score(name, float(accuracy_score(y_test, guess)), float(f1), auc))
    return found


def majority(test: Records, label: str) -> float:
    """The accuracy of always guessing the most frequent label."""
    counts = test.project((label,)).counts
    return float(counts.max() / max(len(test), 1))


def majority_score(test: Records, label: str) -> Score:
    """The score of always guessing the most frequent label: what a classifier must beat to have learned anything."""
    accuracy = majority(test, label)
    labels = max(1, int(np.count_nonzero(test.project((label,)).counts)))
    # The one label that is guessed has recall 1 and the accuracy as precision; every other label has F1 0.
    return Score("majority", accuracy, 2 * accuracy / (1 + accuracy) / labels, 0.5)


def features(records: Records, label: str, ordered: frozenset[str]) -> NDArray[np.float32]:
    """A matrix of numbers in 0 … 1: ordered columns as numbers, others as indicators."""
    parts = []
    for name, size in records.domain.items():
        if name == label or size == 1:
            continue
        codes = records[name].astype(np.int64)
        if name in ordered or size > ONE_HOT:
            parts.append((codes / (size - 1))[:, None])
        else:
            parts.append(np.eye(size)[codes])
    if not parts:
        raise MethodError(f"column {label!r} is to be predicted, and no other column varies; give more columns")
    return np.hstack(parts).astype(np.float32)


def need_sklearn() -> None:
    """Refuse to go on without scikit-learn."""
    if find_spec("sklearn") is None:
        raise MethodError("classifiers need scikit-learn, which is not installed; install sfumato[evaluate]")


def need_rows(train: Records, test: Records) -> None:
    """Refuse tables without rows."""
    if not len(train) or not len(test):
        raise MethodError("a classifier needs rows to learn from and rows to be tested on; a table has none of them")


def some_rows(records: Records, rows: int, rng: np.random.Generator) -> Records:
    """All rows, or a random choice of this many."""
    return records if len(records) <= rows else records.take(rng.permutation(len(records))[:rows])


def _fitted(name: str, x: NDArray[np.float32], y: NDArray[np.int64], seed: int) -> Any:
    if name not in CLASSIFIERS:
        raise MethodError(f"classifier {name!r} is unknown; known ones are {', '.join(CLASSIFIERS)}")
    if len(np.unique(y)) < 2:
        from sklearn.dummy import DummyClassifier

        return DummyClassifier().fit(x, y)  # a table with one label teaches nothing else
    try:
        model = CLASSIFIERS[name](seed)
    except ImportError:
        raise MethodError(f"classifier {name!r} is not installed; install sfumato[evaluate]") from None
    except OSError as problem:  # LightGBM without libgomp, as in slim containers
        raise MethodError(
            f"classifier {name!r} is installed and cannot be loaded ({problem}); install the library that is missing "
            "(on Debian for LightGBM: libgomp1)"
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns of unfinished convergence, which costs a little accuracy
        return _Relabelled.fit(model, x, y)


@dataclass(frozen=True)
class _Relabelled:
    """A classifier that saw the labels as 0, 1, 2, …: some libraries refuse labels with gaps."""

    model: Any
    classes_: NDArray[np.int64]

    @classmethod
    def fit(cls, model: Any, x: NDArray[np.float32], y: NDArray[np.int64]) -> _Relabelled:
        classes, dense = np.unique(y, return_inverse=True)
        return cls(model.fit(x, dense), classes)

    def predict(self, x: NDArray[np.float32]) -> NDArray[np.int64]:
        return self.classes_[np.asarray(self.model.predict(x), dtype=np.int64)]

    def predict_proba(self, x: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.asarray(self.model.predict_proba(x), dtype=np.float64)


def _auc(score: Callable[..., float], y: NDArray[np.int64], chance: NDArray[np.float64], classes: Any) -> float:
    """Area under the curve, one class against the rest for more than two; 0.5 where it is not defined."""
    present = np.unique(y)
    full = np.zeros((len(y), int(max(present.max(), np.max(classes))) + 1))
    full[:, classes] = chance
    if len(present) < 2:
        return 0.5
    if len(present) == 2:
        return float(score(y == present[1], full[:, present[1]]))
    return float(np.mean([score(y == one, full[:, one]) for one in present]))


def _sklearn(module: str, name: str, **options: Any) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        from importlib import import_module

        kind = getattr(import_module(module), name)
        seeded = {"random_state": seed} if "random_state" in kind().get_params() else {}
        return kind(**options, **seeded)

    return make


CLASSIFIERS: dict[str, Callable[[int], Any]] = {
    "AdaBoost": _sklearn("sklearn.ensemble", "AdaBoostClassifier"),
    "bagging": _sklearn("sklearn.ensemble", "BaggingClassifier"),
    "Bernoulli naive Bayes": _sklearn("sklearn.naive_bayes", "BernoulliNB"),
    "decision tree": _sklearn("sklearn.tree", "DecisionTreeClassifier"),
    "Gaussian naive Bayes": _sklearn("sklearn.naive_bayes", "GaussianNB"),
    "linear discriminant": _sklearn("sklearn.discriminant_analysis", "LinearDiscriminantAnalysis"),
    "LightGBM": _sklearn("lightgbm", "LGBMClassifier", verbose=-1, n_jobs=1),
    "logistic regression": _sklearn("sklearn.linear_model", "LogisticRegression", max_iter=300),
    "multi-layer perceptron": _sklearn("sklearn.neural_network", "MLPClassifier", max_iter=50, early_stopping=True),
    "random forest": _sklearn("sklearn.ensemble", "RandomForestClassifier"),
    "support vector machine": _sklearn("sklearn.svm", "SVC", probability=True),
    "XGBoost": _sklearn("xgboost", "XGBClassifier", n_jobs=1, verbosity=0),
}
"""The twelve of the DPView paper, with default settings except where speed or quiet asks for others."""
