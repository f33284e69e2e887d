from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.engines import memory


def random_records(sizes, rows, seed=0):
    rng = np.random.default_rng(seed)
    domain = Domain({f"c{i}": size for i, size in enumerate(sizes)})
    return Records(domain, [rng.integers(0, size, rows) for size in sizes])


@given(
    sizes=st.lists(st.sampled_from([1, 2, 3, 7, 300, 70_000]), min_size=1, max_size=6),
    rows=st.integers(0, 50),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_every_table_equals_the_one_counted_row_by_row(sizes, rows, seed, data):
    records = random_records(sizes, rows, seed)
    names = list(records.domain.names)
    small = st.lists(st.sampled_from(names), min_size=0, max_size=3, unique=True).map(tuple)
    cliques = data.draw(st.lists(small.filter(lambda c: records.domain.cells(c) <= 10**6), max_size=5))
    for clique, table in zip(cliques, memory.count(records, cliques), strict=True):
        assert table.clique == clique
        expected = np.zeros(table.domain.shape, dtype=np.int64)
        for row in range(rows):
            expected[tuple(int(records[name][row]) for name in clique)] += 1
        assert np.array_equal(table.counts, expected)


def test_a_plan_covers_every_table_and_stays_small():
    sizes = [85, 9, 100, 16, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2]
    domain = Domain({f"c{i}": size for i, size in enumerate(sizes)})
    pairs = list(combinations(domain.names, 2))
    joints = memory.plan(domain, pairs)
    assert all(set(pair) <= set(joint) for pair, joint in zip(pairs, joints, strict=True))
    assert len(set(joints)) <= 50  # of 105 pairs
    for joint in set(joints):
        assert domain.cells(joint) <= memory.JOINT_CELLS or joint in pairs


def test_no_columns_count_the_rows():
    records = random_records([2, 2], 17)
    assert memory.count(records, [()])[0].counts == 17


@pytest.mark.parametrize("rows", [0, 1, 4095, 4096, 4097, 300_000])
def test_blocks_leave_no_row_out(rows):
    records = random_records([3, 300], rows)
    (table,) = memory.count(records, [("c1", "c0")])
    assert table.total == rows
    assert np.array_equal(table.counts, records.project(("c1", "c0")).counts)
