"""Distances of tables to public ones: over all small tables, exact, charged before anything is looked at."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from test_sensitivity import DOMAINS, RELATIONS, neighbours, records, tables

from helpers_entropy import ScriptedEntropy
from helpers_holders import Unreadable, holder_of, silence
from sfumato.data.domain import Domain
from sfumato.errors import BudgetExceeded, MethodError, ModelTooLarge
from sfumato.privacy.budget import ZCDP, ApproxDP, PureDP
from sfumato.privacy.holder import LocalHolder
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.neighbours import Neighbours
from sfumato.privacy.scores import GRID, MOST_ROWS, distance_to


def answered(domain, table, expected):
    """Distances of a pair and of both columns, as a holder answers them, on the grid."""
    holder, ledger = holder_of(records(domain, table), ZCDP(1))
    found = holder.distances([("a", "b"), ("a",), ("b",)], iter(expected), ledger.budget.total)
    return np.rint(found.values * GRID)


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.parametrize("level", [0.0, 0.3, 2.0], ids=str)
def test_distances_move_by_at_most_their_sensitivity(relation, domain, level, monkeypatch):
    silence(monkeypatch)
    rng = np.random.default_rng(0)
    expected = [level * rng.random(shape) for shape in (domain.shape, (domain["a"],), (domain["b"],))]
    memo = {table: answered(domain, table, expected) for table in tables(domain, 3)}
    moved = [memo[tuple(sorted(b))] - memo[tuple(sorted(a))] for a, b in neighbours(domain, relation, 3)]
    charged = relation.distance.repeated(3)
    assert max(np.abs(one).sum() for one in moved) <= charged.l1
    assert max((one**2).sum() for one in moved) <= charged.l2_squared
    worst = max(np.abs(one).max() for one in moved)
    assert worst <= relation.distance.l1
    assert worst == relation.distance.l1 or level < 1  # no smaller constant is safe


@given(
    arrays(np.int64, (2, 3), elements=st.integers(0, 10**6)),
    arrays(np.float64, (2, 3), elements=st.floats(-(10.0**6), 10.0**6)),
    st.integers(0, 1),
    st.integers(0, 2),
)
def test_one_row_moves_a_distance_by_a_row_at_most(counts, expected, i, j):
    more = counts.copy()
    more[i, j] += 1
    assert abs(distance_to(more, expected) - distance_to(counts, expected)) <= GRID
    assert distance_to(counts, expected) == pytest.approx(GRID * np.abs(counts - expected).sum(), abs=6)


@pytest.mark.parametrize("budget", [PureDP(1), ZCDP(1), ApproxDP(1, "1e-6")], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_the_whole_part_is_charged_for_the_noise_that_is_drawn(budget, relation):
    domain = DOMAINS[0]
    holder, ledger = holder_of(records(domain, [(0, 1)] * 50), budget, relation, ScriptedEntropy())
    part = ledger.budget.total.part(Fraction(1, 3))
    found = holder.distances([("a", "b"), ("a",)], [np.zeros((2, 2)), np.full(2, 25.0)], part)
    ((_, event),) = ledger.statement().entries
    assert event.sensitivity == relation.distance.repeated(2)
    assert part.amount * (1 - Fraction(1, 10**5)) < event.cost(budget.notion) <= part.amount
    assert ledger.left == ledger.budget.total.amount - event.cost(budget.notion)
    assert found.variance == pytest.approx(event.noise.variance / GRID**2)
    exact = np.array([50.0, 50.0])
    assert (np.abs(found.values - exact) < 60 * np.sqrt(found.variance)).all()  # Laplace: 2 in 10^36


def test_it_charges_before_it_looks_and_refuses_what_it_cannot_count():
    ledger = Ledger(PureDP(1), "test")
    holder = LocalHolder(Unreadable(DOMAINS[0]), Neighbours(), ledger)
    with pytest.raises(BudgetExceeded):
        holder.distances([("a",)], [np.zeros(2)], PureDP(2).total)
    assert ledger.statement().entries == ()
    with pytest.raises(AssertionError, match="looked at"):
        holder.distances([("a",)], [np.zeros(2)], PureDP("1/2").total)
    assert len(ledger.statement().entries) == 1
    large = LocalHolder(Unreadable(Domain({"a": 1 << 20, "b": 1 << 20})), Neighbours(), ledger)
    with pytest.raises(ModelTooLarge):
        large.distances([("a", "b")], [np.zeros(2)], PureDP("1/4").total)
    assert len(ledger.statement().entries) == 1


def test_what_it_is_compared_with_must_fit():
    counts = np.array([1, 2])
    with pytest.raises(MethodError, match="shape"):
        distance_to(counts, np.zeros(3))
    for wrong in (float(MOST_ROWS), np.nan, np.inf):
        with pytest.raises(MethodError, match="64 bits"):
            distance_to(counts, np.array([wrong, 0.0]))
