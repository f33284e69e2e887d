import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers_holders import holder_of
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.records import Records
from sfumato.encode.rare_values import RareValues, merge_rare
from sfumato.privacy.budget import ZCDP, PureDP
from sfumato.schema.features import Compress
from sfumato.schema.schema import Schema


def merged(counts, sigma=10.0, ordered=0):
    table = Marginal(Domain({"x": len(counts)}), np.array(counts))
    return merge_rare(Measurement(table, sigma**2), Compress(sigmas=3.0), ordered)


def test_frequent_values_stay_and_rare_ones_become_one():
    merging = merged([500, 29, 300, 28, 27])  # below 30 is rare; 84 together is not
    assert merging.to.tolist() == [0, 2, 1, 2, 2]
    assert merging.weight[[1, 3, 4]].tolist() == [29, 28, 27]  # and is split again by the noisy counts


def test_rare_values_that_do_not_stand_out_together_are_given_up():
    merging = merged([500, 5, 900, -8])
    assert merging.to.tolist() == [0, 1, 1, 1]  # counted with the most frequent value
    assert merging.weight.tolist() == [500, 0, 900, 0]  # and never drawn


def test_a_negative_count_is_never_drawn_again():
    assert merged([500, 29, -20, 28, 27]).weight.tolist() == [500, 29, 0, 28, 27]


def test_nothing_but_noise_becomes_one_value():
    merging = merged([3, -5, -1])
    assert merging.to.tolist() == [0, 0, 0]
    assert merging.weight.tolist() == [3, 0, 0]
    assert merged([-3, -5, -1]).weight.tolist() == [1, 1, 1]


def test_rare_values_of_an_ordered_column_join_their_neighbours():
    merging = merged([100, 29, 28, 200, 20, 25, 10, 9, 3], ordered=9)
    # 29 + 28 stands out (42); 200 by itself; 20 + 25 = 45 stands out; 10 + 9 + 3 does not and joins them.
    assert merging.to.tolist() == [0, 1, 1, 2, 3, 3, 3, 3, 3]


def test_a_weak_start_joins_what_follows():
    assert merged([1, 2, 100, 100], ordered=4).to.tolist() == [0, 0, 0, 1]


def test_missing_is_not_a_neighbour_of_the_largest_value():
    merging = merged([100, 29, 28, 60], ordered=3)  # the last code is `missing`
    assert merging.to.tolist() == [0, 1, 1, 2]
    assert merged([100, 100, 1], ordered=2).to.tolist() == [0, 1, 0]


tables = st.lists(st.integers(-60, 400), min_size=1, max_size=40)


@given(tables, st.integers(0, 40), st.floats(1, 50))
def test_every_merging_is_a_partition_with_weights(counts, ordered, sigma):
    ordered = min(ordered, len(counts))
    merging = merged(counts, sigma, ordered)
    assert set(merging.to) == set(range(merging.size))
    frequent = [code for code, count in enumerate(counts) if count >= 3 * sigma]
    assert len({merging.to[code] for code in frequent}) == len(frequent)  # no two frequent values are merged
    for group in range(merging.size):
        members = np.flatnonzero(merging.to[:ordered] == group)
        silent = merging.weight[members] == 0
        if ordered == len(counts) and len(members):
            assert np.ptp(members) == len(members) - 1 or silent.any()  # contiguous


@pytest.mark.parametrize(("budget", "shares"), [(ZCDP(1), [1 / 5, 4 / 5]), (PureDP(1), [1 / 3, 2 / 3])])
def test_one_way_noise_is_shared_by_size(budget, shares):
    domain = Domain({"a": 8, "b": 64})
    kinds = [{"name": n, "type": "categorical", "categories": [str(i) for i in range(k)]} for n, k in domain.items()]
    holder, ledger = holder_of(Records(domain, [np.zeros(5, int)] * 2), budget)
    encoded = RareValues(sigmas=3.0)(holder, Schema.parse({"name": "t", "columns": kinds}), budget.total)
    costs = [float(event.cost(budget.notion)) for _, event in ledger.statement().entries]
    assert costs == pytest.approx(shares, rel=1e-6)  # 8^(2/3) : 64^(2/3) = 4 : 16, and 8^(1/3) : 64^(1/3) = 2 : 4
    assert [table.clique for table in encoded.tables] == [("a",), ("b",)]  # what was paid for is handed on
    assert [table.event for table in encoded.tables] == [0, 1]
