import numpy as np
import pytest

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.marginals import Marginals
from sfumato.evaluate.stages import StageErrors, stage_errors
from sfumato.models.max_entropy import maximum_entropy

DOMAIN = Domain({"a": 2, "b": 2})
PAIR = ("a", "b")
TWINS = np.array([[50, 0], [0, 50]])


def table(counts, names=PAIR):
    return Marginal(DOMAIN.project(names), np.array(counts))


def errors(measured, reconciled, synthetic):
    measurements = [Measurement(one, 1.0) for one in measured]
    tables = Marginals(DOMAIN, tuple(reconciled))
    return stage_errors(table(TWINS), measurements, tables, table(synthetic), [PAIR], maximum_entropy)


def test_tables_that_miss_the_dependence_cost_accuracy_at_selection():
    ones = [table([50, 50], ("a",)), table([50, 50], ("b",))]
    found = errors(ones, ones, [[25, 25], [25, 25]])
    assert found.selection == pytest.approx(0.5)
    assert found.added == pytest.approx({"selection": 0.5, "noise": 0, "reconcile": 0, "synthesis": 0}, abs=1e-6)


def test_noise_costs_and_reconciling_repairs():
    # Without negative counts the shares are 60, 0, 10, 50 of 120: half of 0 + 0 + 1/12 + 1/12.
    found = errors([table([[60, -10], [10, 50]])], [table(TWINS)], TWINS)
    assert found == StageErrors(0.0, pytest.approx(1 / 12), 0.0, 0.0)
    assert found.added == pytest.approx({"selection": 0, "noise": 1 / 12, "reconcile": -1 / 12, "synthesis": 0})


def test_reconciling_may_do_harm():
    found = errors([table(TWINS)], [table([[40, 10], [10, 40]])], [[40, 10], [10, 40]])
    assert found.added == pytest.approx({"selection": 0, "noise": 0, "reconcile": 0.2, "synthesis": 0})


def test_rows_that_do_not_follow_the_tables_cost_accuracy_at_synthesis():
    found = errors([table(TWINS)], [table(TWINS)], [[70, 0], [0, 30]])
    assert found.added == pytest.approx({"selection": 0, "noise": 0, "reconcile": 0, "synthesis": 0.2})


def test_what_the_stages_add_is_the_error_in_the_end():
    measured = [table([[47, 3], [-2, 55]]), table([51, 44], ("a",))]
    found = errors(measured, [table([[48, 2], [1, 49]])], [[45, 5], [5, 45]])
    assert sum(found.added.values()) == pytest.approx(found.synthesis)
    assert found.synthesis == pytest.approx(0.1)
