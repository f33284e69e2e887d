import numpy as np
import pytest

from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.errors import MethodError
from sfumato.evaluate import classifiers
from sfumato.evaluate.classifiers import CLASSIFIERS, features, majority, majority_score, scores

DOMAIN = Domain({"age": 20, "job": 4, "constant": 1, "label": 2})
ORDERED = frozenset({"age"})


def records(rows, seed, relation=True):
    rng = np.random.default_rng(seed)
    age, job = rng.integers(0, 20, rows), rng.integers(0, 4, rows)
    label = ((age > 11) ^ (rng.random(rows) < 0.05)) if relation else rng.random(rows) < 0.5
    return Records(DOMAIN, [age, job, np.zeros(rows, int), label.astype(int)])


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_learns_what_can_be_learned_and_nothing_else(name):
    (learned,) = scores(records(1500, 0), records(1500, 1), "label", ORDERED, [name])
    (nothing,) = scores(records(1500, 2, relation=False), records(1500, 1), "label", ORDERED, [name])
    # Bernoulli naive Bayes sees only whether a number is zero: of an ordered column it learns next to nothing.
    least = 0.5 if name == "Bernoulli naive Bayes" else 0.85
    assert learned.accuracy >= least
    assert learned.auc >= least
    assert nothing.auc < 0.75
    assert 0 <= learned.f1 <= 1


def test_there_are_twelve():
    assert len(CLASSIFIERS) == 12


def test_features_are_numbers_and_indicators():
    matrix = features(records(50, 0), "label", ORDERED)
    assert matrix.shape == (50, 1 + 4)  # age, four jobs; neither the constant nor the label
    assert matrix.min() == 0
    assert matrix.max() == 1
    assert (matrix[:, 1:].sum(axis=1) == 1).all()


def test_a_table_with_one_label_is_scored_as_a_constant_guess():
    only = Records(DOMAIN, [np.arange(20), np.zeros(20, int), np.zeros(20, int), np.ones(20, int)])
    (score,) = scores(only, records(500, 1), "label", ORDERED, ["decision tree"])
    assert score.accuracy == pytest.approx(1 - majority(records(500, 1), "label"), abs=0.2)
    assert score.auc == 0.5


def test_labels_with_gaps_and_more_than_two_classes():
    rng = np.random.default_rng(0)
    domain = Domain({"x": 9, "label": 5})
    x = rng.integers(0, 9, 900)
    table = Records(domain, [x, np.array([0, 3, 4])[x // 3]])
    for name in ("decision tree", "XGBoost", "LightGBM"):
        (score,) = scores(table, table, "label", frozenset({"x"}), [name])
        assert score.accuracy > 0.99
        assert score.auc > 0.99


def test_an_unknown_classifier_is_refused():
    with pytest.raises(MethodError, match="classifier 'oracle' is unknown"):
        scores(records(50, 0), records(50, 1), "label", ORDERED, ["oracle"])


def test_the_majority_baseline_is_a_constant_guess():
    from sklearn.metrics import accuracy_score, f1_score

    domain = Domain({"x": 2, "label": 4})
    label = np.repeat([0, 1, 3], [2, 5, 3])
    test = Records(domain, [np.zeros(10, int), label])
    guess = np.ones(10, int)
    score = majority_score(test, "label")
    assert score.accuracy == pytest.approx(accuracy_score(label, guess))
    assert score.f1 == pytest.approx(f1_score(label, guess, average="macro", zero_division=0))
    assert score.auc == 0.5


def test_scores_are_those_of_scikit_learn():
    from sklearn.metrics import f1_score, roc_auc_score
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(3)
    domain = Domain({"x": 6, "label": 3})

    def noisy(rows):
        x = rng.integers(0, 6, rows)
        return Records(domain, [x, np.where(rng.random(rows) < 0.6, x // 2, rng.integers(0, 3, rows))])

    train, test = noisy(300), noisy(300)
    (score,) = scores(train, test, "label", frozenset({"x"}), ["decision tree"])
    model = DecisionTreeClassifier(random_state=0).fit(train["x"][:, None], train["label"])
    guess, chance = model.predict(test["x"][:, None]), model.predict_proba(test["x"][:, None])
    assert score.f1 == pytest.approx(f1_score(test["label"], guess, average="macro"))
    assert score.auc == pytest.approx(roc_auc_score(test["label"], chance, multi_class="ovr", average="macro"))
    assert score.accuracy == pytest.approx((guess == test["label"]).mean())


def test_nothing_to_learn_from_is_refused():
    with pytest.raises(MethodError, match="needs rows to learn from"):
        scores(records(0, 0), records(50, 1), "label", ORDERED, ["decision tree"])
    with pytest.raises(MethodError, match="needs rows to learn from"):
        scores(records(50, 0), records(0, 1), "label", ORDERED, ["decision tree"])
    lonely = Records(Domain({"label": 2}), [np.array([0, 1])])
    with pytest.raises(MethodError, match="no other column varies"):
        scores(lonely, lonely, "label", ORDERED, ["decision tree"])


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setattr(classifiers, "find_spec", lambda name: None)
    with pytest.raises(MethodError, match=r"install sfumato\[evaluate\]"):
        scores(records(50, 0), records(50, 1), "label", ORDERED, ["decision tree"])


def test_a_library_that_the_system_lacks_is_named(monkeypatch):
    def unloadable(seed):
        raise OSError("libgomp.so.1: cannot open shared object file")

    monkeypatch.setitem(classifiers.CLASSIFIERS, "LightGBM", unloadable)
    with pytest.raises(MethodError, match=r"'LightGBM' is installed and cannot be loaded \(libgomp"):
        classifiers._fitted("LightGBM", np.zeros((4, 1), dtype=np.float32), np.array([0, 1, 0, 1]), 0)
