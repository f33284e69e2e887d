import numpy as np
import pytest

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.evaluate.marginals import cliques_of, mean_total_variation, total_variation

DOMAIN = Domain({"a": 2, "b": 2, "c": 3})


def table(counts):
    return Marginal(DOMAIN.project(("a", "b")), np.array(counts))


def test_distance_by_hand():
    # Shares 0.1 0.2 0.3 0.4 against 0.25 each: half of 0.15 + 0.05 + 0.05 + 0.15.
    one, two = table([[1, 2], [3, 4]]), table([[5, 5], [5, 5]])
    assert total_variation(one, two, ("a", "b")) == pytest.approx(0.2)
    assert total_variation(one, two, ("a",)) == pytest.approx(0.2)
    assert total_variation(one, two, ("b",)) == pytest.approx(0.1)
    assert mean_total_variation(one, two, [("a",), ("b",)]) == pytest.approx(0.15)


def test_distance_is_zero_for_equal_shares_and_one_for_disjoint_tables():
    assert total_variation(table([[1, 2], [3, 4]]), table([[10, 20], [30, 40]]), ("b", "a")) == pytest.approx(0)
    assert total_variation(table([[1, 0], [0, 0]]), table([[0, 0], [0, 7]]), ("a", "b")) == 1


def test_cliques_are_all_or_a_repeatable_choice():
    assert cliques_of(DOMAIN, 2) == [("a", "b"), ("a", "c"), ("b", "c")]
    wide = Domain({f"c{i}": 2 for i in range(20)})
    some = cliques_of(wide, 3, most=50, seed=4)
    assert len(set(some)) == 50
    assert some == cliques_of(wide, 3, most=50, seed=4)
