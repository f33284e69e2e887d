from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.marginals import Marginals
from sfumato.errors import SchemaError
from sfumato.models.nonnegative import norm_sub
from sfumato.reconcile.consistency import ConsistentNormSub, Overlaps
from sfumato.reconcile.ripple import ConsistentRipple

DOMAIN = Domain({"a": 2, "b": 3, "c": 4, "d": 2, "e": 1})


@st.composite
def measurements(draw, widths=(0.5, 2.0, 10.0), rows=(0.2, 60)):
    """Noisy tables of one random population over overlapping cliques: singles, pairs, triples, everything."""
    some = [c for k in (1, 2, 3, 5) for c in combinations(DOMAIN.names, k)]
    cliques = draw(st.lists(st.sampled_from(some), min_size=1, max_size=7, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    truth = Marginal(DOMAIN, rng.poisson(draw(st.floats(*rows)), DOMAIN.shape))
    made = []
    for clique in cliques:
        sigma = draw(st.sampled_from(widths))
        exact = truth.project(clique)
        made.append(
            Measurement(Marginal(exact.domain, exact.counts + rng.normal(0, sigma, exact.domain.shape)), sigma**2)
        )
    return made


def agree(tables, tolerance):
    for one, other in combinations(tables, 2):
        shared = [name for name in one.clique if name in other.clique]
        assert np.abs(one.project(shared).counts - other.project(shared).counts).max() <= tolerance


@given(measurements())
def test_one_pass_makes_all_tables_agree_on_everything_they_share(measured):
    tables = [np.array(one.marginal.counts, dtype=float) for one in measured]
    overlaps = Overlaps.of(measured)
    overlaps.agree(tables)
    agree([Marginal(one.domain, table) for one, table in zip(measured, tables, strict=True)], 1e-6)
    assert overlaps.disagreement(tables) < 1e-6


@given(measurements(), st.randoms(use_true_random=False))
@pytest.mark.parametrize("reconcile", [ConsistentNormSub(), ConsistentRipple()], ids=["norm-sub", "ripple"])
def test_tables_may_come_with_their_axes_in_any_order(reconcile, measured, shuffler):
    """(b, a) beside (a, b, c): cells were mixed up without a word (defect B7)."""
    turned = []
    for one in measured:
        clique = shuffler.sample(one.clique, len(one.clique))
        turned.append(Measurement(one.marginal.project(clique), one.variance))
    agreed, expected = (reconcile(DOMAIN, tables) for tables in (turned, measured))
    assert agreed.cliques == expected.cliques
    for one, other in zip(agreed.tables, expected.tables, strict=True):
        assert np.array_equal(one.counts, other.counts)


@given(measurements())
def test_overlaps_are_all_that_several_tables_have_in_common(measured):
    """By the definition, table by table: the sets of columns that are the intersection of some tables."""
    sets = [frozenset(one.clique) for one in measured]
    common = {frozenset[str]()} | {one & other for one, other in combinations(sets, 2)}
    for _ in measured:
        common |= {one & other for one in common for other in sets}
    members = {names: tuple(i for i, columns in enumerate(sets) if names <= columns) for names in common}
    expected = [members[names] for names in sorted(common, key=lambda names: (len(names), sorted(names)))]
    assert [part.members for part in Overlaps.of(measured).shared] == [
        some for some in expected if len(some) > 1 or some == expected[0]
    ]


@given(measurements())
def test_a_table_whose_cells_may_all_hold_rows_is_corrected_as_one_without_such_a_list(measured):
    tables = [[np.array(one.marginal.counts, dtype=np.float64) for one in measured] for _ in range(2)]
    every = [one.knowing(np.ones(one.domain.shape, dtype=np.bool_)) for one in measured]
    Overlaps.of(measured).agree(tables[0])
    Overlaps.of(every).agree(tables[1])
    assert all(np.allclose(one, other, rtol=1e-12, atol=1e-9) for one, other in zip(*tables, strict=True))


def test_tables_whose_axes_are_in_different_orders_have_no_overlaps():
    one = Measurement(Marginal(DOMAIN.project(("a", "b")), np.zeros((2, 3))), 1.0)
    turned = Measurement(one.marginal.project(("b", "a")), 1.0)
    with pytest.raises(SchemaError, match="tables over a, b and over b, a have columns in different orders"):
        Overlaps.of([one, turned])
    assert turned.ordered(DOMAIN).clique == ("a", "b")
    assert one.ordered(DOMAIN) is one


def test_a_set_of_tables_has_their_axes_in_the_order_of_its_domain():
    turned = Marginal(DOMAIN.project(("b", "a")), np.zeros((3, 2)))
    with pytest.raises(SchemaError, match="has its columns in another order"):
        Marginals(DOMAIN, (turned,))


@given(measurements())
def test_after_the_first_pass_a_table_over_shared_columns_leads_and_does_not_follow(measured):
    """Norm-sub lifts rare values, in large and sparse tables most; smaller tables must not take that over from them."""
    overlaps = Overlaps.of(measured)
    tables = [np.array(one.marginal.counts, dtype=float) for one in measured]
    total = overlaps.total(tables)
    overlaps.agree(tables)
    agreed = ConsistentNormSub()(DOMAIN, measured)
    for one, table, found in zip(measured, tables, agreed.tables, strict=True):
        if len(one.clique) == 1:
            assert np.abs(found.counts - norm_sub(table, total)).max() <= 1e-6 * max(total, 1)


@given(measurements())
def test_a_later_set_never_breaks_what_an_earlier_one_has_settled(measured):
    tables = [np.array(one.marginal.counts, dtype=float) for one in measured]
    shared = Overlaps.of(measured).shared
    for done, part in enumerate(shared, start=1):
        Overlaps((part,)).agree(tables)
        assert Overlaps(shared[:done]).disagreement(tables) < 1e-6


@given(measurements())
def test_tables_that_agree_already_are_left_alone(measured):
    tables = [np.array(one.marginal.counts, dtype=float) for one in measured]
    overlaps = Overlaps.of(measured)
    overlaps.agree(tables)
    again = [table.copy() for table in tables]
    overlaps.agree(again)
    assert all(np.allclose(a, b, atol=1e-6) for a, b in zip(tables, again, strict=True))


@settings(deadline=None, max_examples=40, derandomize=True)
@given(measurements(widths=(0.5, 2.0), rows=(3, 60)))
def test_reconciled_tables_agree_are_not_negative_and_have_one_total(measured):
    # Alternating projections come as near as one likes, but slowly: most are done in 50 passes, some need thousands.
    marginals = ConsistentNormSub(tolerance=1e-5, passes=200)(DOMAIN, measured)
    totals = [table.total for table in marginals.tables]
    assert np.ptp(totals) < 1e-6 * max(1, max(totals))
    assert all(table.counts.min() >= 0 for table in marginals.tables)
    agree(marginals.tables, 1e-2 * max(1.0, totals[0]))


def test_two_tables_meet_at_their_inverse_variance_mean():
    # a is known from its own table with variance 1, and from the table over a and b (3 cells for each a) with 3 · 2 =
    # 6.
    one = Measurement(Marginal(DOMAIN.project(("a",)), np.array([10.0, 20.0])), 1.0)
    two = Measurement(Marginal(DOMAIN.project(("a", "b")), np.array([[6.0, 6, 5], [4, 4, 5]])), 2.0)
    tables = [np.array(m.marginal.counts) for m in (one, two)]
    Overlaps.of([one, two]).agree(tables)
    # Totals: 30 with variance 2 and 30 with variance 12 agree. Then a: (10 · 6 + 17 · 1) / 7 = 11 and (20 · 6 + 13) /
    # 7 = 19.
    assert tables[0].tolist() == pytest.approx([11, 19])
    assert tables[1][0].tolist() == pytest.approx([4, 4, 3])
    assert tables[1][1].tolist() == pytest.approx([6, 6, 7])


def test_agreeing_brings_the_tables_nearer_to_the_truth():
    rng = np.random.default_rng(3)
    truth = Marginal(DOMAIN, rng.poisson(30, DOMAIN.shape))
    before = after = 0.0
    for _ in range(40):
        measured = []
        for clique in combinations(DOMAIN.names[:4], 2):
            exact = truth.project(clique)
            noisy = Marginal(exact.domain, exact.counts + rng.normal(0, 20, exact.domain.shape))
            measured.append(Measurement(noisy, 400.0))
        marginals = ConsistentNormSub()(DOMAIN, measured)
        before += sum(((m.marginal.counts - truth.project(m.clique).counts) ** 2).sum() for m in measured)
        after += sum(((t.counts - truth.project(t.clique).counts) ** 2).sum() for t in marginals.tables)
    assert after < 0.8 * before
