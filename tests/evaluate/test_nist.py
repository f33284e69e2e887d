"""The scores of the NIST challenge on tables small enough to work out by hand."""

from math import log, sqrt

import numpy as np
import pytest

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.data.records import Records
from sfumato.errors import MethodError, ModelTooLarge, SchemaError
from sfumato.evaluate import marginals
from sfumato.evaluate.nist import (
    WageColumns,
    density_score,
    gini_by_city,
    gini_score,
    matching_share,
    pay_gap_by_city,
    pay_gap_score,
    range_queries,
    range_score,
    wage_score,
)
from sfumato.evaluate.ranges import RangeQuery


def rows(domain, *columns):
    return Records(domain, [np.array(column) for column in columns])


class TestDensity:
    DOMAIN = Domain({"a": 2, "b": 2, "c": 2})
    REAL = rows(DOMAIN, [0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 0, 1])
    # Cells 000, 001, 010, 111 with a quarter each, against 000 and 111 with a half each: L1 distance 4 · 1/4 = 1.
    HALF = rows(DOMAIN, [0, 1], [0, 1], [0, 1])

    def test_by_hand(self):
        assert density_score(self.REAL, self.HALF) == pytest.approx(500_000)

    def test_equal_shares_are_perfect_and_disjoint_tables_are_worth_nothing(self):
        twice = self.REAL.take(np.array([0, 1, 2, 3, 3, 2, 1, 0]))
        assert density_score(self.REAL, twice) == pytest.approx(1_000_000)
        assert density_score(self.REAL, rows(self.DOMAIN, [1], [0], [0])) == pytest.approx(0)

    def test_tables_will_do_in_place_of_rows(self):
        assert density_score(self.REAL.project("abc"), self.HALF.project("cab")) == pytest.approx(500_000)

    def test_the_mean_is_over_the_triples(self):
        domain = Domain({"a": 2, "b": 2, "c": 2, "d": 2})
        real, off = rows(domain, [0], [0], [0], [0]), rows(domain, [0], [0], [0], [1])
        assert density_score(real, off) == pytest.approx(250_000)  # three of the four triples contain d

    def test_fewer_than_three_columns_are_enough(self):
        assert density_score(rows(Domain({"a": 2}), [0, 1]), rows(Domain({"a": 2}), [1, 1])) == pytest.approx(500_000)

    def test_a_seed_chooses_the_tables(self):
        rng = np.random.default_rng(0)
        domain = Domain({f"c{i}": 3 for i in range(12)})
        real, other = (rows(domain, *rng.integers(0, 3, (12, 50))) for _ in range(2))
        scores = [density_score(real, other, tables=20, seed=seed) for seed in (1, 1, 2)]
        assert scores[0] == scores[1] != scores[2]

    def test_tables_of_many_cells_are_counted_where_rows_are(self, monkeypatch):
        rng = np.random.default_rng(0)
        domain = Domain({"a": 5, "b": 6, "c": 7})
        one, two = (rows(domain, *(rng.integers(0, size, n) for size in domain.shape)) for n in (300, 200))
        dense = density_score(one, two)
        monkeypatch.setattr(marginals, "DENSE_CELLS", 100)
        assert density_score(one, two) == pytest.approx(dense)
        with pytest.raises(ModelTooLarge, match="at most 100 are allowed"):
            density_score(one.project("abc"), two)

    def test_columns_of_very_many_values_are_no_trouble(self):
        domain = Domain({"address": 17_704, "box": 2_089, "unit": 742})
        real = rows(domain, [17_703, 5, 5], [2_088, 0, 0], [741, 1, 1])
        assert density_score(real, real.take(np.array([0, 1]))) == pytest.approx(1_000_000 * (1 - 1 / 6))


class TestRanges:
    DOMAIN = Domain({"age": 10, "job": 4})
    REAL = rows(DOMAIN, [0, 2, 4, 6], [0, 1, 2, 3])

    def query(self, ages, jobs):
        return RangeQuery(("age", "job"), (np.isin(np.arange(10), ages), np.isin(np.arange(4), jobs)))

    def test_shares_are_counted_row_by_row(self):
        assert matching_share(self.REAL, self.query([0, 1, 2, 4], [1, 2, 3])) == 0.5
        assert matching_share(self.REAL, self.query([0], [3])) == 0
        assert matching_share(self.REAL.take(np.array([], dtype=int)), self.query([0], [0])) == 0

    def test_by_hand(self):
        # The queries match 1/2 and 1/4 of the real rows, and 1/4 and 1/4 of the synthetic ones: log-ratios -ln 2 and 0.
        queries = [self.query([0, 2], [0, 1]), self.query([6], [3])]
        synthetic = rows(self.DOMAIN, [0, 6, 9, 9], [0, 3, 0, 0])
        wanted = 1e6 * (1 - sqrt(log(2) ** 2 / 2) / log(1000))
        assert range_score(self.REAL, synthetic, queries) == pytest.approx(wanted)
        assert wanted == pytest.approx(929_046, abs=1)

    def test_a_query_without_synthetic_rows_counts_as_a_millionth_and_no_score_is_below_zero(self):
        nothing = rows(self.DOMAIN, [9], [0])
        easy = self.query([0, 2, 4, 6], [0, 1, 2, 3])  # ln(1e-6 / 1) is twice ln(1e-3)
        assert range_score(self.REAL, nothing, [easy]) == 0
        perfect = self.query(range(10), range(4))
        # Root mean square of ln 1e-6 and 49 zeros: 6 ln 10 / sqrt(50), over 3 ln 10.
        assert range_score(self.REAL, nothing, [easy] + [perfect] * 49) == pytest.approx(1e6 * (1 - 2 / sqrt(50)))

    def test_a_query_without_real_rows_is_refused(self):
        with pytest.raises(MethodError, match="a query over age, job matches no real row"):
            range_score(self.REAL, self.REAL, [self.query([9], [0])])

    def test_queries_are_random_around_real_rows(self):
        rng = np.random.default_rng(0)
        domain = Domain({"age": 30, "pay": 21, "job": 12, "sex": 2} | {f"c{i}": 3 for i in range(36)})
        real = rows(domain, *(rng.integers(0, size, 500) for size in domain.shape))
        ordered, nullable = frozenset({"age", "pay"}), frozenset({"pay", "job"})
        queries = range_queries(real, ordered, nullable, count=400, seed=1)
        assert all(matching_share(real, query) > 0 for query in queries)
        assert np.mean([len(query.clique) for query in queries]) == pytest.approx(0.33 * 40, abs=0.6)
        found = {name: [] for name in domain.names}
        for query in queries:
            for name, allowed in zip(query.clique, query.allowed, strict=True):
                found[name].append(np.flatnonzero(allowed))
        for name in ordered:
            assert all(np.ptp(codes) == len(codes) - 1 for codes in found[name])  # no gaps
        missing = [codes for codes in found["pay"] if 20 in codes]
        assert missing
        assert all(codes.tolist() == [20] for codes in missing)
        assert {len(codes) for codes in found["job"]} == set(range(1, 13))
        again = range_queries(real, ordered, nullable, count=400, seed=1)
        assert all(
            one.clique == two.clique and all(map(np.array_equal, one.allowed, two.allowed))
            for one, two in zip(queries, again, strict=True)
        )

    def test_every_query_has_a_column(self):
        assert all(query.clique for query in range_queries(self.REAL, frozenset({"age"}), count=100))

    def test_a_table_without_rows_is_refused(self):
        with pytest.raises(MethodError, match="the table has none"):
            range_queries(self.REAL.take(np.array([], dtype=int)), frozenset())


class TestWages:
    DOMAIN = Domain({"city": 3, "sex": 2, "income": 4})
    COLUMNS = WageColumns("city", "sex", "income", (30.0, float("nan"), 0.0, 10.0))  # codes in no order; 1 is "none"
    # City 0: men 10 and 30, women 0 and 0, and a man without income. City 1: a man and a woman with 10. City 2: nobody.
    REAL = rows(DOMAIN, [0, 0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 0, 0, 1], [3, 0, 2, 2, 1, 3, 3])

    def test_gini_by_hand(self):
        # 0, 0, 10, 30: the six differences are 0, 10, 30, 10, 30, 20, so the mean over all 16 pairs is 200/16 = 12.5,
        # and half of that over the mean income of 10 is 0.625.
        gini = gini_by_city(self.REAL, self.COLUMNS)
        assert gini[:2] == pytest.approx([0.625, 0.0])
        assert np.isnan(gini[2])

    def test_gini_is_the_mean_difference_over_twice_the_mean(self):
        rng = np.random.default_rng(0)
        domain = Domain({"city": 1, "sex": 2, "income": 6})
        income = rng.integers(0, 6, 80)
        midpoints = rng.random(6) * 50
        table = rows(domain, np.zeros(80, int), rng.integers(0, 2, 80), income)
        paid = midpoints[income]
        wanted = np.abs(paid[:, None] - paid).mean() / (2 * paid.mean())
        columns = WageColumns("city", "sex", "income", tuple(midpoints))
        assert gini_by_city(table, columns) == pytest.approx([wanted])
        scaled = Marginal(domain, table.project(domain.names).counts * 0.25)
        assert gini_by_city(scaled, columns) == pytest.approx([wanted])

    def test_where_nobody_has_anything_all_are_equal(self):
        assert gini_by_city(rows(self.DOMAIN, [0, 0], [0, 1], [2, 2]), self.COLUMNS)[0] == 0

    def test_pay_gap_by_hand(self):
        gap = pay_gap_by_city(self.REAL, self.COLUMNS)
        assert gap[:2] == pytest.approx([20.0, 0.0])  # (10 + 30)/2 - 0 and 10 - 10
        assert np.isnan(gap[2])
        turned = WageColumns("city", "sex", "income", self.COLUMNS.midpoints, sexes=(1, 0))
        assert pay_gap_by_city(self.REAL, turned)[0] == pytest.approx(-20)

    def test_the_mean_of_an_absent_sex_is_zero(self):
        assert pay_gap_by_city(rows(self.DOMAIN, [2], [1], [0]), self.COLUMNS)[2] == pytest.approx(-30)

    def test_equal_tables_have_the_best_score(self):
        assert wage_score(self.REAL, self.REAL, self.COLUMNS) == pytest.approx(1_000_000)

    def test_scores_by_hand(self):
        # City 0: two men with 10 and 30: Gini |10 - 30| · 2/4 / (2 · 20) = 0.25, gap 20. City 1: a man with 30, a woman
        # with 0: Gini 0.5, gap 30. So Gini indices are off by 0.375 and 0.5, and the cities change places.
        other = rows(self.DOMAIN, [0, 0, 1, 1], [0, 0, 0, 1], [3, 0, 0, 2])
        gini = 1e6 * sqrt((0.625**2 + 0.5**2) / 2)
        assert gini_score(self.REAL, other, self.COLUMNS) == pytest.approx(gini)
        assert pay_gap_score(self.REAL, other, self.COLUMNS) == pytest.approx(0)  # both moved by 1 of c - 1 = 1
        assert wage_score(self.REAL, other, self.COLUMNS) == pytest.approx(gini / 2)

    def test_ranks_move_in_parts_of_the_number_of_cities(self):
        domain = Domain({"city": 4, "sex": 2, "income": 4})
        columns = WageColumns("city", "sex", "income", (1.0, 2.0, 3.0, 4.0))
        men = [0, 0, 0, 0]
        real = rows(domain, [0, 1, 2, 3], men, [3, 2, 1, 0])  # ranks 0, 1, 2, 3
        moved = rows(domain, [0, 1, 2, 3], men, [3, 1, 2, 0])  # cities 1 and 2 change places: 1/3 each
        assert pay_gap_score(real, moved, columns) == pytest.approx(1e6 * sqrt((1 + 4 / 9 + 4 / 9 + 1) / 4))

    def test_a_city_that_is_lost_counts_as_nothing_and_a_new_one_shifts_ranks(self):
        lost = rows(self.DOMAIN, [1, 1], [0, 1], [3, 3])  # city 1 as in the real table, now first instead of second
        assert gini_score(self.REAL, lost, self.COLUMNS) == pytest.approx(1e6 * sqrt(1 / 2))
        assert pay_gap_score(self.REAL, lost, self.COLUMNS) == pytest.approx(0)
        added = rows(self.DOMAIN, [0, 0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 0, 1, 0], [3, 0, 2, 2, 3, 3, 0])
        assert gini_score(self.REAL, added, self.COLUMNS) == pytest.approx(1e6)
        assert pay_gap_score(self.REAL, added, self.COLUMNS) == 0  # city 2 with a gap of 30 comes before both
        assert pay_gap_score(lost, lost, self.COLUMNS) == pytest.approx(1e6)  # one city only

    def test_a_table_without_incomes_is_worth_nothing(self):
        nobody = self.REAL.take(np.array([], dtype=int))
        assert wage_score(self.REAL, nobody, self.COLUMNS) == 0
        assert wage_score(nobody, self.REAL, self.COLUMNS) == 0

    def test_wrong_midpoints_are_refused(self):
        with pytest.raises(SchemaError, match="2 midpoints were given; column 'income' has 4 codes"):
            gini_by_city(self.REAL, WageColumns("city", "sex", "income", (1.0, 2.0)))
        with pytest.raises(SchemaError, match="no code of column 'income' has a midpoint"):
            gini_by_city(self.REAL, WageColumns("city", "sex", "income", (float("nan"),) * 4))
