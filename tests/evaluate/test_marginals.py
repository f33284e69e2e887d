import numpy as np
import pytest

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.data.records import Records
from sfumato.errors import MethodError, ModelTooLarge, SchemaError
from sfumato.evaluate.marginals import (
    cliques_of,
    marginal_error,
    mean_total_variation,
    pair_errors,
    total_variation,
    worst_pairs,
)

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


def rows(**columns):
    sizes = dict.fromkeys(columns, 3)
    return Records(Domain(sizes), [np.array(codes) for codes in columns.values()])


# Compared by hand with SDMetrics 0.32: 1 - TVComplement for each column, 1 - ContingencySimilarity for the pair.
REAL = rows(a=[0, 0, 0, 1, 1, 2, 2, 2, 2, 0], b=[0, 1, 1, 1, 0, 0, 0, 1, 0, 0])
SYNTHETIC = rows(a=[0, 1, 1, 1, 2, 2, 0, 0], b=[1, 1, 0, 1, 0, 1, 1, 0])


def test_pair_errors_are_those_of_sdmetrics():
    errors = pair_errors(REAL, SYNTHETIC, ("a", "b"))
    assert errors == pytest.approx(np.array([[0.175, 0.25], [0.25, 0.225]]))
    assert worst_pairs(errors, ("a", "b"), 5) == [(("a", "b"), pytest.approx(0.25))]


def test_errors_of_tables_over_so_many_columns():
    one = marginal_error(REAL, SYNTHETIC, 1)
    assert (one.columns, one.tables, one.worst_clique) == (1, 2, ("b",))
    assert one.mean == pytest.approx(0.2)
    assert one.mean_l1 == pytest.approx(0.4)
    assert one.worst == pytest.approx(0.225)
    two = marginal_error(REAL, SYNTHETIC, 2)
    assert (two.mean, two.worst_clique) == (pytest.approx(0.25), ("a", "b"))
    for columns in (0, 3):
        with pytest.raises(MethodError, match=f"tables over {columns} columns were asked for; give 1 to 2"):
            marginal_error(REAL, SYNTHETIC, columns)


def test_the_worst_pairs_come_worst_first():
    errors = np.array([[0.9, 0.1, 0.3], [0.1, 0.9, 0.2], [0.3, 0.2, 0.9]])
    assert worst_pairs(errors, ("a", "b", "c"), 2) == [(("a", "c"), 0.3), (("b", "c"), 0.2)]


def test_a_table_of_too_many_cells_is_compared_where_there_are_rows():
    rng = np.random.default_rng(0)
    domain = Domain({"a": 100_000, "b": 100_000, "c": 100_000, "d": 100_000})  # 10^20 cells do not fit into 64 bits
    real, synthetic = (Records(domain, [rng.integers(0, 2, 500) * 99_999 for _ in domain]) for _ in range(2))
    small = Domain(dict.fromkeys(domain, 2))
    folded = [Records(small, [column // 99_999 for column in table.columns]) for table in (real, synthetic)]
    for clique in (("a", "b"), ("b", "a", "c"), ("a", "b", "c", "d")):
        wanted = total_variation(*folded, clique)
        assert 0 < wanted < 1
        assert total_variation(real, synthetic, clique) == pytest.approx(wanted)
    with pytest.raises(ModelTooLarge, match="the table over a"):
        total_variation(real, Marginals(domain, ()), ("a", "b"))


def test_tables_in_different_codes_are_refused():
    other = Records(Domain({"a": 4, "b": 3}), [np.zeros(2, int)] * 2)
    with pytest.raises(SchemaError, match="encode both by the same schema"):
        total_variation(REAL, other, ("a",))
    assert total_variation(REAL, other, ("b",)) == pytest.approx(0.4)
