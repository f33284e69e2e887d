"""Finer codes: rows keep their coarse ones, and go together as the tables of pairs say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.domain import Domain
from sfumato.models.finer import draw_finer, finer_steps

SIZES = (6, 12, 12, 3)
DOMAIN = Domain({"a": 6, "b": 12, "c": 12, "d": 3})
LOOKUPS = [np.arange(6) // 3, np.arange(12) // 4, np.arange(12) // 4, np.arange(3)]


def coarse_rows(rows, seed=0):
    """Codes of `b` and `c` agree, the others are random."""
    rng = np.random.default_rng(seed)
    found = np.stack([rng.integers(0, int(lookup.max()) + 1, rows) for lookup in LOOKUPS], axis=1).astype(np.uint16)
    found[:, 2] = found[:, 1]
    return found


def made(tables, rows=6000, seed=0):
    columns = [np.full(size, 6000 / size) for size in SIZES]
    coarse = coarse_rows(rows, seed)
    found = coarse.copy()
    steps = finer_steps(DOMAIN, columns, LOOKUPS, tables)
    draw_finer(found, LOOKUPS, steps, np.random.default_rng(seed))
    assert sorted(step.column for step in steps) == [0, 1, 2]
    return coarse, found


@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(0, 200),
    pairs=st.sets(st.sampled_from([(0, 1), (1, 2), (0, 3), (2, 3)])),
)
@settings(max_examples=30, deadline=None)
def test_no_row_leaves_its_coarse_codes(seed, rows, pairs):
    rng = np.random.default_rng(seed)
    tables = [
        ((DOMAIN.names[one], DOMAIN.names[two]), np.maximum(rng.normal(1, 2, (SIZES[one], SIZES[two])), 0))
        for one, two in sorted(pairs)
    ]
    coarse, found = made(tables, rows, seed)
    for place, lookup in enumerate(LOOKUPS):
        assert np.array_equal(lookup[found[:, place]], coarse[:, place])


def test_columns_that_copy_each_other_begin_as_copies():
    _, found = made([(("b", "c"), np.eye(12) * 500)])
    assert np.array_equal(found[:, 1], found[:, 2])


def test_cells_without_rows_stay_empty_and_others_have_their_share():
    table = np.outer([0, 3, 1, 2, 0, 4.0], np.ones(3)) * 200
    table[1, 0], table[2, 0] = 0, 800
    _, found = made([(("a", "d"), table)])
    counts = np.zeros((6, 3))
    np.add.at(counts, (found[:, 0], found[:, 3]), 1)
    assert counts[table == 0].sum() == 0
    for first in (0, 3):
        part, wanted = counts[first : first + 3], table[first : first + 3]
        assert np.abs(part - wanted / wanted.sum(0) * part.sum(0)).max() <= 1


def test_lines_without_rows_follow_the_single_column():
    _, found = made([(("a", "d"), np.zeros((6, 3)))])
    assert np.bincount(found[:, 0], minlength=6).min() > 800


def test_a_column_is_drawn_given_the_one_that_says_most():
    weak = np.ones((12, 3)) * 160
    weak[0, 0] += 20
    steps = finer_steps(
        DOMAIN,
        [np.full(size, 6000 / size) for size in SIZES],
        LOOKUPS,
        [
            (("b", "d"), weak),
            (("c", "d"), weak),
            (("b", "c"), np.eye(12) * 500),
            (("a", "b", "d"), np.ones((6, 12, 3))),
        ],
    )
    given = {step.column: step.given for step in steps}
    assert {given[1], given[2]} in ({3, 1}, {3, 2})
    assert given[0] is None
    assert len(steps) == 3


@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_the_table_within_one(seed):
    rng = np.random.default_rng(seed)
    table = rng.random((6, 3)) * 100
    coarse, found = made([(("a", "d"), table)], seed=seed)
    for first in (0, 3):
        for code in range(3):
            mine = (coarse[:, 0] == first // 3) & (coarse[:, 3] == code)
            wanted = table[first : first + 3, code] / table[first : first + 3, code].sum() * mine.sum()
            assert np.abs(np.bincount(found[mine, 0] - first, minlength=3) - wanted).max() <= 1
