from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers_population import marginals_of, population
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.data.selection import Selection
from sfumato.synthesize.gradual_update import DECAYS, GradualUpdate, Target, moves, update

NONE = Selection(())


def distance(records, other, clique):
    one, two = records.project(clique).counts / len(records), other.project(clique).counts / len(other)
    return np.abs(one - two).sum() / 2


def test_noiseless_tables_are_reproduced():
    real = population()
    cliques = [("a", "b"), ("b", "c"), ("c", "d"), ("c", "e"), ("d", "e")]
    synthetic = GradualUpdate()(marginals_of(real, cliques), NONE, len(real), np.random.default_rng(1))
    for clique in cliques:
        assert distance(real, synthetic, clique) < 0.01
    assert distance(real, synthetic, ("a", "c")) < 0.02  # follows from a - b - c


def test_a_tree_of_tables_is_sampled_exactly_and_what_it_does_not_tie_is_independent():
    real = population()
    cliques = [("a", "b"), ("b", "c"), ("c", "d", "e")]
    synthetic = GradualUpdate()(marginals_of(real, cliques), NONE, len(real), np.random.default_rng(1))
    cells = sum(real.domain.cells(clique) for clique in cliques)
    for clique in cliques:
        off = np.abs(real.project(clique).counts - synthetic.project(clique).counts)
        assert off.sum() <= cells  # a count is off by rounding only
    for name in "abcde":
        pair = synthetic.project((name, "f")).counts / len(real)
        independent = np.outer(pair.sum(axis=1), pair.sum(axis=0))
        assert np.abs(pair - independent).sum() / 2 < 0.015


def test_separate_components_are_joined_independently():
    real = population()
    triangle = list(combinations("cde", 2))
    other = list(combinations("abf", 2))
    synthetic = GradualUpdate(sweeps=20)(
        marginals_of(real, triangle + other), NONE, len(real), np.random.default_rng(2)
    )
    for pair in [("a", "c"), ("b", "d"), ("a", "e")]:
        joint = synthetic.project(pair).counts / len(real)
        assert np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum() / 2 < 0.015


@pytest.mark.parametrize("rows", [0, 1, 2, 1000])
def test_any_number_of_rows_comes_out(rows):
    real = population(1000)
    marginals = marginals_of(real, [("a", "b"), ("b", "c"), ("a", "c")])
    assert len(GradualUpdate(sweeps=3)(marginals, NONE, rows, np.random.default_rng(0))) == rows


def test_equal_seeds_give_equal_rows():
    marginals = marginals_of(population(500), list(combinations("abc", 2)))
    draw = [GradualUpdate(sweeps=5)(marginals, NONE, 300, np.random.default_rng(seed)) for seed in (7, 7, 8)]
    assert all(np.array_equal(x, y) for x, y in zip(draw[0].columns, draw[1].columns, strict=True))
    assert not all(np.array_equal(x, y) for x, y in zip(draw[0].columns, draw[2].columns, strict=True))


@pytest.mark.parametrize("decay", DECAYS)
def test_every_decay_starts_at_one_falls_and_converges(decay):
    factors = [DECAYS[decay](sweep) for sweep in range(200)]
    assert factors[0] == 1
    assert sorted(factors, reverse=True) == factors
    real = population(20_000)
    cliques = list(combinations("cde", 2))
    synthetic = GradualUpdate(decay=decay, sweeps=30)(
        marginals_of(real, cliques), NONE, len(real), np.random.default_rng(1)
    )
    assert max(distance(real, synthetic, clique) for clique in cliques) < 0.02


class TestFigureFour:
    """The worked example of appendix A: five records, alpha = 2.0, from which beta = 0.5 follows."""

    # income (low, high), gender (male, female), age (teenager, adult, elderly); v1 … v5 of Figure 4 (A).
    BEFORE = np.array([[1, 1, 1, 1, 1], [0, 0, 0, 0, 1], [0, 1, 1, 0, 2]], dtype=np.uint32)
    TARGET = Target(columns=[0, 1], sizes=[2, 2], wanted=5 * np.array([0.0, 0.0, 0.2, 0.8]))

    def test_two_rows_leave_and_two_enter(self):
        counts = np.array([0, 0, 4, 1])
        leave, enter = moves(counts, self.TARGET.wanted, 2.0, np.random.default_rng(0))
        assert leave.tolist() == [0, 0, 2, 0]  # beta = 0.5 of four
        assert enter.tolist() == [0, 0, 0, 2]  # alpha = 2.0 times one

    @pytest.mark.parametrize("seed", range(20))
    def test_the_table_becomes_two_fifths_and_three_fifths(self, seed):
        table = self.BEFORE.copy()
        update(table, self.TARGET, 2.0, True, np.random.default_rng(seed))
        assert np.bincount(table[0] * 2 + table[1], minlength=4).tolist() == [0, 0, 2, 3]
        assert (table[:, 4] == self.BEFORE[:, 4]).all()  # v5 is in the under-full cell and stays
        changed = np.flatnonzero((table != self.BEFORE).any(axis=0))
        assert len(changed) == 2
        # One row was replaced (it keeps its age) and one was copied from v5 (it becomes elderly), as v4 and v3 in (C).
        ages = sorted(int(table[2, row]) - int(self.BEFORE[2, row]) for row in changed)
        assert 0 in ages
        assert sum(int(table[2, row]) == 2 for row in changed) == 1


quotas = arrays(np.int64, 12, elements=st.integers(0, 50))


@given(quotas, quotas, st.floats(0.05, 2.0), st.integers(0, 1000))
def test_moves_balance_and_never_overshoot(counts, wanted, alpha, seed):
    if counts.sum() == 0 or wanted.sum() == 0:
        return
    target = wanted * (counts.sum() / wanted.sum())
    leave, enter = moves(counts, target, alpha, np.random.default_rng(seed))
    assert leave.sum() == enter.sum()
    assert ((leave == 0) | (enter == 0)).all()
    assert (leave <= counts).all()
    assert (enter[target <= counts] == 0).all()
    assert (leave[target >= counts] == 0).all()
    assert (leave <= np.maximum(counts - target, 0) + 2).all()  # random rounding, of a total rounded at random
    assert (enter <= np.maximum(target - counts, 0) + 2).all()


def test_every_update_brings_its_own_table_nearer():
    rng = np.random.default_rng(5)
    real = population(5000)
    target = Target.of(real.project(("c", "d")), list(real.domain.names), 5000)
    table = np.stack([rng.integers(0, size, 5000) for size in real.domain.shape]).astype(np.uint32)
    errors = [update(table, target, 0.5, sweep % 2 == 0, rng) for sweep in range(12)]
    assert all(later < earlier or later < 10 for earlier, later in pairwise(errors))
    assert errors[-1] < 0.02 * errors[0]


def test_empty_tables_ask_for_uniform_rows():
    domain = Domain({"a": 2, "b": 2, "c": 2})
    empty = [
        Marginal(domain.project(c), np.zeros((2,) * len(c))) for c in [("a",), ("b",), ("c",), *combinations("abc", 2)]
    ]
    records = GradualUpdate(sweeps=3)(Marginals(domain, tuple(empty)), NONE, 400, np.random.default_rng(0))
    assert abs(int(records["a"].sum()) - 200) < 60


def test_few_tables_are_visited_as_often_as_asked_and_thousands_less_often():
    """The last sweep replaces, so a number that is cut is odd."""
    visits = [GradualUpdate()._sweeps(tables) for tables in (1, 82, 500, 501, 1_094, 3_000, 5_000)]
    assert visits == [30, 30, 30, 29, 13, 5, 5]
    assert GradualUpdate(sweeps=4)._sweeps(5_000) == 4
