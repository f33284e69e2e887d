import numpy as np
import pytest

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.evaluate.ranges import RangeQuery, mean_range_error, random_ranges

DOMAIN = Domain({"a": 3, "b": 2})
TABLE = Marginal(DOMAIN, np.array([[1, 2], [3, 4], [5, 5]]))


def test_a_share_by_hand():
    query = RangeQuery(("b", "a"), (np.array([True, False]), np.array([False, True, True])))
    assert query.share(TABLE) == pytest.approx(8 / 20)
    other = Marginal(DOMAIN, np.full((3, 2), 1))
    assert mean_range_error(TABLE, other, [query]) == pytest.approx(abs(8 / 20 - 2 / 6))


def test_random_queries_have_intervals_in_ordered_columns_and_subsets_elsewhere():
    domain = Domain({"age": 30, "job": 12, "sex": 2, "city": 9})
    queries = random_ranges(domain, frozenset({"age"}), 400, seed=1)
    subsets = 0
    for query in queries:
        assert len(query.clique) == 3
        for name, allowed in zip(query.clique, query.allowed, strict=True):
            assert allowed.shape == (domain[name],)
            assert allowed.any()
            codes = np.flatnonzero(allowed)
            gaps = np.ptp(codes) >= len(codes)
            if name == "age":
                assert not gaps
            subsets += gaps
    assert subsets > 100
    again = random_ranges(domain, frozenset({"age"}), 400, seed=1)
    assert all(one.clique == two.clique for one, two in zip(queries, again, strict=True))
