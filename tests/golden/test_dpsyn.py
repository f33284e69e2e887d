"""The worked examples of the two DPSyn papers."""

import numpy as np
import pytest

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.synthesize.min_cost_flow import flow, transport
from sfumato.synthesize.sorted_views import fill
from sfumato.synthesize.start import Target


class TestMinCostFlow:
    """Figure 3 of the NIST paper: ages before and after; 0.1 moves from adult and 0.1 from elderly to teenager."""

    # The figure itself gives teenager, adult, elderly = 0.3, 0.3, 0.4 now and 0.5, 0.2, 0.3 wanted: the text says that
    # a third of the adults and a fourth of the elderly become teenagers.
    NOW, WANTED = np.array([30, 30, 40]), np.array([50.0, 20.0, 30.0])

    def test_the_flow(self):
        surplus, deficit = np.array([0, 10, 10]), np.array([20, 0, 0])
        source, sink = flow(surplus, deficit, [3], np.random.default_rng(0))
        assert sorted(zip(source.tolist(), sink.tolist(), strict=True)) == [(1, 0)] * 10 + [(2, 0)] * 10

    @pytest.mark.parametrize("cost", ["columns", "cells"])
    def test_a_third_of_the_adults_and_a_fourth_of_the_elderly_become_teenagers_and_keep_the_rest(self, cost):
        rng = np.random.default_rng(1)
        age = np.repeat([0, 1, 2], self.NOW)
        gender, income = rng.integers(0, 2, 100), rng.integers(0, 5, 100)
        table = np.stack([gender, age, income]).astype(np.uint32)
        assert transport(table, Target([1], [3], self.WANTED), cost, rng) == 20
        assert np.bincount(table[1]).tolist() == [50, 20, 30]
        assert (table[1, :30] == 0).all()
        assert np.bincount(table[1, 30:60], minlength=3).tolist() == [10, 20, 0]
        assert np.bincount(table[1, 60:], minlength=3).tolist() == [10, 0, 30]
        assert (table[0] == gender).all()
        assert (table[2] == income).all()


class TestSortedViews:
    """Figure 3 of the concept paper: four binary attributes and the sorted marginals A1, A2 and A3."""

    DOMAIN = Domain({"a1": 2, "a2": 2, "a3": 2, "a4": 2})
    VIEWS = (("a1", "a2"), ("a2", "a3"), ("a3", "a4"))
    BEFORE = ([[3, 2], [4, 1]], [[2, 3], [3, 2]], [[4, 3], [1, 2]])
    AFTER = ([[3, 2], [3, 1]], [[2, 2], [3, 2]], [[4, 3], [1, 1]])

    def rows(self, seed):
        tables = (Marginal(self.DOMAIN.project(v), np.array(c)) for v, c in zip(self.VIEWS, self.BEFORE, strict=True))
        made = fill(Marginals(self.DOMAIN, tuple(tables)), self.VIEWS, 10, np.random.default_rng(seed))
        return np.stack([made[name] for name in self.DOMAIN.names], axis=1)

    @pytest.mark.parametrize("seed", range(10))
    def test_the_first_record_and_what_it_leaves(self, seed):
        first = self.rows(seed)[0]
        assert first.tolist() == [1, 0, 1, 1]
        for view, before, after in zip(self.VIEWS, self.BEFORE, self.AFTER, strict=True):
            left = np.array(before)
            left[tuple(first[self.DOMAIN.index(name)] for name in view)] -= 1
            assert left.tolist() == after

    @pytest.mark.parametrize("seed", range(10))
    def test_all_ten_records_come_out_and_the_first_view_is_used_up(self, seed):
        # The figure's views do not agree (a2 = 0 has 7 rows in A1 and 5 in A2), so only the first can be met exactly.
        rows = self.rows(seed)
        assert np.bincount(rows[:, 0] * 2 + rows[:, 1], minlength=4).tolist() == [3, 2, 4, 1]
