"""Tables that were measured twice become one: the best linear mean, in every cell by itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.recoding import Merging, Recoding
from sfumato.reconcile.pooling import pooled

FINE = Domain({"a": 4, "b": 3})
RECODING = Recoding(FINE, (Merging(np.array([0, 1, 1, 1]), np.ones(4)), Merging.identity(3)))


def measured(domain, names, counts, variance):
    return Measurement(Marginal(domain.project(names), np.array(counts, dtype=float)), variance)


def test_tables_of_different_cliques_stay_as_they_are():
    fine = measured(FINE, ["a"], [5, 1, 2, 3], 2.0)
    pair = measured(RECODING.domain, ["a", "b"], np.arange(6).reshape(2, 3), 7.0)
    one, two = pooled(RECODING, [fine], [pair])
    assert one.marginal.counts.tolist() == [5, 6]
    assert one.variance == 2.0
    assert two is pair


@given(st.floats(0.1, 50), st.floats(0.1, 50))
def test_a_cell_that_absorbed_others_is_trusted_less(fine_variance, variance):
    fine = measured(FINE, ["a"], [10, 1, 2, 3], fine_variance)
    again = measured(RECODING.domain, ["a"], [14, 9], variance)
    (one,) = pooled(RECODING, [fine], [again])
    expected, spread = [], []
    for first, second, cells in ((10, 14, 1), (6, 9, 3)):  # the second cell has the noise of three
        weight = variance / (variance + cells * fine_variance)
        expected.append(weight * first + (1 - weight) * second)
        spread.append(weight**2 * cells * fine_variance + (1 - weight) ** 2 * variance)
    assert one.marginal.counts == pytest.approx(np.array(expected))
    assert one.variance == pytest.approx(max(spread))
    assert one.variance <= min(3 * fine_variance, variance) * (1 + 1e-9)


@given(st.lists(st.floats(0.1, 9), min_size=1, max_size=5))
def test_many_tables_of_one_clique_are_their_mean_by_precision(variances):
    rng = np.random.default_rng(0)
    tables = [measured(RECODING.domain, ["a", "b"], rng.normal(size=(2, 3)), variance) for variance in variances]
    (one,) = pooled(RECODING, [], tables)
    weights = 1 / np.array(variances)
    mean = sum(w * table.marginal.counts for w, table in zip(weights, tables, strict=True)) / weights.sum()
    assert one.marginal.counts == pytest.approx(mean)
    assert one.variance == pytest.approx(1 / weights.sum())
    assert one.domain == RECODING.domain.project(["a", "b"])
