"""Soft fits: single columns and exact tables are met, noisy ones as far as they are trusted."""

import numpy as np

from sfumato.data.constraints import Constraint
from sfumato.data.domain import Domain
from sfumato.models.soft_tree import Soft, soft_fit

DOMAIN = Domain({"a": 3, "b": 4, "c": 2})


def tables(seed=0):
    joint = 1000 * np.random.default_rng(seed).dirichlet(np.ones(24)).reshape(3, 4, 2)
    return joint.sum((1, 2)), joint.sum((0, 2)), joint.sum((0, 1)), joint.sum(2), joint.sum(0)


def test_tables_with_next_to_no_noise_are_met():
    a, b, c, ab, bc = tables()
    model = soft_fit(DOMAIN, 1000.0, [a, b, c], [Soft(("a", "b"), ab, 0.01), Soft(("b", "c"), bc, 0.01)])
    for clique, wanted in ((("a",), a), (("c",), c), (("a", "b"), ab), (("b", "c"), bc)):
        np.testing.assert_allclose(1000 * model.project(clique).counts, wanted, atol=1.5)
    assert all(np.isclose(table.sum(), 1) for table in model.tables)


def test_a_table_that_is_all_noise_changes_little_and_columns_are_met_all_the_same():
    a, b, c, ab, _ = tables()
    model = soft_fit(DOMAIN, 1000.0, [a, b, c], [Soft(("a", "b"), ab, 1e9)])
    np.testing.assert_allclose(1000 * model.project(("a", "b")).counts, np.outer(a, b) / 1000, rtol=0.05, atol=1)
    np.testing.assert_allclose(1000 * model.project(("a",)).counts, a, atol=1)


def test_tables_that_contradict_each_other_leave_a_distribution_with_nearly_these_columns():
    a, b, c, ab, _ = tables()
    far = ab[::-1].copy()
    model = soft_fit(DOMAIN, 1000.0, [a, b, c], [Soft(("a", "b"), ab, 25.0), Soft(("a", "b"), far, 25.0)])
    assert np.isfinite(model.tables[0]).all()
    np.testing.assert_allclose(1000 * model.project(("b",)).counts, b, atol=15)


def test_without_tables_columns_are_independent():
    a, b, c, *_ = tables()
    model = soft_fit(DOMAIN, 1000.0, [a, b, c], [])
    np.testing.assert_allclose(model.project(("c",)).counts * 1000, c, atol=1e-3)


def test_forbidden_cells_have_nothing_also_where_no_table_was_measured():
    a, b, c, ab, _ = tables()
    zeros = [Constraint(("a", "c"), np.array([[True, False], [True, True], [True, True]]))]
    model = soft_fit(DOMAIN, 1000.0, [a, b, c], [Soft(("a", "b"), ab, 4.0)], zeros, 1000)
    assert model.project(("a", "c")).counts[0, 1] == 0
    np.testing.assert_allclose(1000 * model.project(("a",)).counts, a, atol=1)
    np.testing.assert_allclose(1000 * model.project(("c",)).counts, c, atol=1)
    without = soft_fit(DOMAIN, 1000.0, [a, b, c], [Soft(("a", "b"), ab, 4.0)], zeros, 12)  # no room for the rule
    assert set(map(len, without.tree.cliques)) == {1, 2}
