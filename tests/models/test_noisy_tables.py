"""Noisy tables taken together: their mean, and what they say of dependence where there is none."""

from itertools import combinations

import numpy as np
import pytest

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.errors import MethodError
from sfumato.learn.select.gain import Gain, mutual_information
from sfumato.models.noisy_tables import NoisyTables

DOMAIN = Domain({"a": 2, "b": 3, "c": 4})


def measured(clique, counts, variance):
    return Measurement(Marginal(DOMAIN.project(clique), counts), variance)


def test_tables_are_averaged_by_their_precision():
    rng = np.random.default_rng(0)
    fine, coarse = rng.random((2, 3, 4)), rng.random((3, 4))
    tables = NoisyTables(DOMAIN, [measured(("a", "b", "c"), fine, 2.0), measured(("b", "c"), coarse, 1.0)])
    # A cell of the first is a sum of two cells of variance 2: variance 4, against 1.
    table, variance = tables.table(("c", "b"))
    assert table == pytest.approx((fine.sum(axis=0) / 4 + coarse).T / (1 / 4 + 1))
    assert variance == pytest.approx(1 / (1 / 4 + 1))
    assert tables.rows == pytest.approx((fine.sum() / 48 + coarse.sum() / 12) / (1 / 48 + 1 / 12))
    assert tables.cliques_with("a", "c") == [("a", "b", "c")]


def test_a_table_that_nobody_measured_is_refused():
    tables = NoisyTables(DOMAIN, [measured(("a", "b"), np.ones((2, 3)), 1.0)])
    assert not tables.holds(("a", "c"))
    with pytest.raises(MethodError, match="no noisy table has a, c together"):
        tables.table(("a", "c"))


@pytest.mark.parametrize("score", ["R", "I"])
def test_without_noise_the_gain_is_the_score_itself(score):
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 500, (2, 3, 4)).astype(float)
    tables = NoisyTables(DOMAIN, [measured(("a", "b", "c"), counts, 1e-12)])
    joint = counts.transpose(2, 0, 1).reshape(4, 6) / counts.sum()
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    exact = (joint * np.log(joint / product)).sum() if score == "I" else np.abs(joint - product).sum() / 2
    assert Gain(score, 0.0)(tables, "c", ("a", "b")) == pytest.approx(counts.sum() * exact)
    assert Gain(score, 2.0)(tables, "c", ("a", "b")) == pytest.approx(counts.sum() * exact - 2 * 24)
    assert Gain(score, 2.0)(tables, "c", ()) == 0


@pytest.mark.parametrize("score", ["R", "I"])
def test_noise_is_not_taken_for_dependence(score):
    rng = np.random.default_rng(2)
    counts = 10_000 * np.einsum("i,j,k->ijk", [0.5, 0.5], [0.2, 0.3, 0.5], [0.1, 0.2, 0.3, 0.4])
    gains, plain = [], []
    for _ in range(200):
        noisy = counts + rng.laplace(0, 100, counts.shape)
        tables = NoisyTables(DOMAIN, [measured(("a", "b", "c"), noisy, 2 * 100.0**2)])
        gains.append(Gain(score, 0.0)(tables, "c", ("a", "b")))
        table = noisy.transpose(2, 0, 1).reshape(4, 6) / noisy.sum()
        product = np.outer(table.sum(axis=1), table.sum(axis=0))
        plain.append(noisy.sum() * (mutual_information(table) if score == "I" else np.abs(table - product).sum() / 2))
    assert np.median(gains) < 1e-9
    assert np.mean(gains) < np.mean(plain) / 3


def test_pairs_in_no_table_have_no_gain():
    counts = np.array([[50.0, 0.0, 0.0], [0.0, 25.0, 25.0]])
    matrix = Gain("R", 0.0).pairs(NoisyTables(DOMAIN, [measured(("a", "b"), counts, 1e-12)]))
    assert matrix == pytest.approx(matrix.T)
    assert matrix[0, 1] == pytest.approx(50)
    assert all(matrix[x, y] == 0 for x, y in combinations(range(3), 2) if (x, y) != (0, 1))


def test_unknown_scores_are_refused():
    with pytest.raises(MethodError, match="known scores are R and I"):
        Gain("F", 0.0)


def test_tables_without_rows_have_no_information():
    assert mutual_information(np.zeros((2, 3))) == 0
    assert mutual_information(-np.ones((2, 3))) == 0
    tables = NoisyTables(DOMAIN, [measured(("a", "b"), -np.ones((2, 3)), 1.0)])
    assert Gain("I", 0.0)(tables, "a", ("b",)) >= 0
