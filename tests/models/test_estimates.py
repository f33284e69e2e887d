"""Pooled estimates: tables in several codes, weighted by how much noise is in each of their cells."""

import numpy as np
import pytest

from sfumato.data.coding import Coding, Merge
from sfumato.data.constraints import Constraint, Constraints
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.models.estimates import Estimates

BASE = Coding(Domain({"a": 4, "b": 2}))
CODING = BASE.then(Merge((("a", (0, 0, 0, 1)),)))


def measured(coding, names, counts, variance):
    return Measurement(Marginal(coding.domain.project(names), np.array(counts)), variance, coding, 0)


def test_a_merged_cell_has_the_noise_of_all_its_parts():
    fine = measured(BASE, ("a",), [10.0, 20.0, 30.0, 40.0], 1.0)
    again = measured(CODING, ("a",), [64.0, 44.0], 1.0)
    b = measured(BASE, ("b",), [50.0, 50.0], 1.0)
    found = Estimates.of(CODING, [fine, again, b])
    # cell 0: 60 with variance 3 and 64 with variance 1; cell 1: 40 and 44 with variance 1 each
    raw = np.array([(60 / 3 + 64) / (1 / 3 + 1), 42.0])
    rows = (100 / 4 + 108 / 2 + 100 / 2) / (1 / 4 + 1 / 2 + 1 / 2)
    assert found.rows == pytest.approx(rows)
    assert found.columns[0].sum() == pytest.approx(rows)
    np.testing.assert_allclose(found.columns[0] - raw, (rows - raw.sum()) / 2)


def test_margins_of_pairs_count_and_pairs_measured_twice_are_one():
    a = measured(BASE, ("a",), [25.0] * 4, 100.0)
    b = measured(BASE, ("b",), [50.0, 50.0], 100.0)
    pair = [[10.0, 20.0], [30.0, 40.0]]
    once = measured(CODING, ("a", "b"), pair, 1.0)
    twice = measured(CODING, ("a", "b"), np.array(pair) + 4, 3.0)
    found = Estimates.of(CODING, [a, b, once, twice])
    assert list(found.tables) == [("a", "b")]
    np.testing.assert_allclose(found.tables["a", "b"].counts, np.array(pair) + 1)
    assert found.tables["a", "b"].variance == pytest.approx(0.75)
    assert found.columns[1][1] / found.columns[1][0] == pytest.approx(62 / 42, rel=0.05)  # the pair says so


def test_no_column_is_negative_or_empty_and_there_is_a_row():
    a = measured(BASE, ("a",), [-5.0, -3.0, -9.0, -2.0], 1.0)
    b = measured(BASE, ("b",), [-1.0, -1.0], 1.0)
    found = Estimates.of(BASE, [a, b])
    assert found.rows == 1
    assert all((column > 0).all() for column in found.columns)


def test_cells_that_rules_leave_empty_have_no_noise():
    """A code of `b` that only two codes of `a` may have is known as if its line had two cells."""
    allowed = np.array([[True, True], [True, False], [True, False], [True, True]])
    a = measured(BASE, ("a",), [25.0] * 4, 1e9)
    b = measured(BASE, ("b",), [50.0, 50.0], 2.0)
    pair = measured(BASE, ("a", "b"), [[10.0, 20.0], [20.0, 900.0], [20.0, -700.0], [10.0, 20.0]], 1.0)
    found = Estimates.of(BASE, [a, b, pair], Constraints(BASE.domain, (Constraint(("a", "b"), allowed),)))
    np.testing.assert_array_equal(found.tables["a", "b"].counts == 0, ~allowed)
    np.testing.assert_array_equal(found.tables["a", "b"].allowed, allowed)
    raw = np.array([(50 / 2 + 60 / 4) / (1 / 2 + 1 / 4), (50 / 2 + 40 / 2) / (1 / 2 + 1 / 2)])
    np.testing.assert_allclose(found.columns[1] - raw, (found.rows - raw.sum()) / 2)
