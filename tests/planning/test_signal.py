"""What a classifier keeps of a planted signal, and when there is nothing to keep."""

import numpy as np
import pytest

from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.planning.plan import plan
from sfumato.planning.signal import Signal, planted, signal_forecast, signal_words

DOMAIN = Domain({"a": 200, "b": 3, "label": 2})


def rows(size, seed, strength):
    rng = np.random.default_rng(seed)
    label = rng.random(size) < 0.3
    other = np.where(rng.random(size) < strength, label, rng.random(size) < 0.3)
    return Records(DOMAIN, [rng.integers(0, 200, size), 2 * other, label.astype(np.int64)])


def test_rows_with_the_signal_keep_it_and_rows_without_lose_it():
    real, test = rows(5000, 1, 0.8), rows(5000, 2, 0.8)
    same, noise = planted(real, rows(5000, 3, 0.8), test, "label"), planted(real, rows(5000, 4, 0.0), test, "label")
    assert same.guess == pytest.approx(0.7, abs=0.03)
    assert same.real > 0.85
    assert same.kept == pytest.approx(1, abs=0.1)
    assert noise.kept == pytest.approx(0, abs=0.1)


def test_nothing_is_said_where_there_is_no_label_or_no_signal():
    assert signal_forecast(None, [Signal(0.5, 0.8, 0.7)]) is None
    assert signal_forecast("label", [None, Signal(0.5, 0.505, 0.5)]) is None
    found = signal_forecast("label", [Signal(0.5, 0.7, 0.6), Signal(0.6, 0.9, 0.9)])
    assert found.kept == (pytest.approx(0.5), pytest.approx(1))
    assert "keep 50 to 100 %" in signal_words(found)


def test_a_plan_says_what_a_classifier_of_the_label_would_keep():
    columns = [{"name": name, "type": "categorical", "categories": ["x", "y", "z"]} for name in "abc"]
    schema = {"name": "t", "rows_guess": 3000, "columns": columns}
    assert plan(schema, epsilon=5, method="priview").signal is None
    found = plan({**schema, "label": "c"}, epsilon=5, method="priview").signal
    assert found.label == "c"
    assert found.guess[0] < found.real[1]
    assert 0.5 < found.kept[1] < 1.5
