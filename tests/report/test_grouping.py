import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.report.grouping import grouping
from sfumato.schema.schema import Schema


def column(**keys):
    return Schema.parse({"name": "s", "columns": [{"name": "c", **keys}]})["c"]


def nominal(size, **more):
    return column(type="categorical", categories=[f"v{i}" for i in range(size)], **more)


@given(st.integers(1, 60), st.booleans(), st.booleans(), st.integers(3, 20), st.randoms(use_true_random=False))
def test_groups_keep_every_row_and_are_few(size, ordered, nullable, most, random):
    one = nominal(size, ordered=ordered, nullable=nullable)
    shares = np.array([random.random() for _ in range(size + nullable)])
    groups = grouping(one, shares, most)
    assert len(groups.labels) <= most
    assert groups.sums(shares).sum() == pytest.approx(shares.sum())
    assert set(groups.group) == set(range(len(groups.labels)))


def test_frequent_values_come_first_and_the_rest_together():
    groups = grouping(nominal(5), np.array([0.1, 0.4, 0.05, 0.3, 0.15]), 3)
    assert groups.labels == ("v1", "v3", "(3 others)")
    assert groups.sums(np.array([0.1, 0.4, 0.05, 0.3, 0.15])).tolist() == pytest.approx([0.4, 0.3, 0.3])


def test_neighbours_of_an_ordered_column_stay_in_order_and_missing_stays_apart():
    groups = grouping(column(type="integer", min=0, max=9, nullable=True), np.full(11, 1 / 11), 6)
    assert groups.labels == ("0 – 1", "2 – 3", "4 – 5", "6 – 7", "8 – 9", "(missing)")
    assert groups.group.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5]


def test_sums_along_the_second_axis():
    groups = grouping(nominal(3, ordered=True), np.ones(3), 3)
    table = np.arange(6.0).reshape(2, 3)
    assert groups.sums(table, axis=1).tolist() == table.tolist()
