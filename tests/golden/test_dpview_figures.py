"""The worked examples of the DPView paper on post-processing and synthesis, recomputed by hand.

The numbers of Figure 5 and of the weighted consistency are not in the text that we have, only the procedures; those
examples are ours. The examples of IV-E3, IV-F1, IV-F2 and IV-G are the paper's own.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.marginals import Marginals
from sfumato.data.records import Records
from sfumato.data.selection import Chain, Selection
from sfumato.models.nonnegative import norm_sub
from sfumato.reconcile.consistency import ConsistentNormSub, Overlaps
from sfumato.synthesize.linking import Linking, extend
from sfumato.synthesize.matching import Graph, maximum_links, priority_links
from sfumato.synthesize.normalizing import conform, largest_remainder, normalize


def iterative_nonnegativity(counts):
    """Figure 5 word for word: the sum q of all negative counts is added, in equal parts, to the o positive counts."""
    counts = counts.copy()
    while (counts < -1e-12).any():
        negative, positive = counts < 0, counts > 0
        q, o = counts[negative].sum(), positive.sum()
        counts[negative] = 0
        counts[positive] += q / o
    return counts.clip(min=0)


def test_figure_5_two_rounds_by_hand():
    # Round 1: q = -3 - 2 = -5, o = 3, so 6, 4, 1 become 13/3, 7/3, -2/3.
    # Round 2: q = -2/3, o = 2, so 13/3, 7/3 become 4, 2. No count is negative any more.
    counts = np.array([6.0, 4.0, 1.0, -3.0, -2.0])
    assert iterative_nonnegativity(counts) == pytest.approx([4, 2, 0, 0, 0])
    assert norm_sub(counts) == pytest.approx([4, 2, 0, 0, 0])


@given(arrays(np.float64, st.integers(1, 30), elements=st.integers(-40, 60)).filter(lambda a: a.sum() > 0))
def test_figure_5_ends_where_norm_sub_does(counts):
    assert np.allclose(norm_sub(counts), iterative_nonnegativity(counts), atol=1e-9)


def test_equations_5_to_7_two_views_by_hand():
    # v1 = {a, b} with P1 = 1/3, v2 = {b, c} with P2 = 2/3; they share b. xi1 = dom(a) = 2 and xi2 = dom(c) = 4.
    # P1²/xi1 = (1/9)/2 = 1/18 and P2²/xi2 = (4/9)/4 = 2/18, so the weights are 1/3 and 2/3.
    domain = Domain({"a": 2, "b": 2, "c": 4})
    epsilon = 0.5
    one = Marginal(domain.project(("a", "b")), np.array([[10.0, 4.0], [2.0, 8.0]]))
    two = Marginal(domain.project(("b", "c")), np.array([[6.0, 4.0, 5.0, 3.0], [1.0, 2.0, 1.0, 2.0]]))
    measured = [Measurement(one, 2 / (epsilon / 3) ** 2), Measurement(two, 2 / (epsilon * 2 / 3) ** 2)]
    # T1(b) = (12, 12), T2(b) = (18, 6): together 12/3 + 2·18/3 = 16 and 12/3 + 2·6/3 = 8.
    # Equation 7: v1 changes by (16 - 12)/2 = 2 and (8 - 12)/2 = -2; v2 by (16 - 18)/4 = -0.5 and (8 - 6)/4 = 0.5.
    wanted = [[12, 2], [4, 6]], [[5.5, 3.5, 4.5, 2.5], [1.5, 2.5, 1.5, 2.5]]
    tables = [np.array(one.counts), np.array(two.counts)]
    Overlaps.of(measured).agree(tables)
    assert np.allclose(tables[0], wanted[0])
    assert np.allclose(tables[1], wanted[1])
    # Nothing is negative, so the whole stage ends there.
    for table, right in zip(ConsistentNormSub()(domain, measured).tables, wanted, strict=True):
        assert np.allclose(table.counts, right)


def test_section_iv_e3_largest_remainder():
    assert largest_remainder(np.array([0.4, 3.3, 1.3]), 5, np.random.default_rng(0)).tolist() == [1, 3, 1]


def test_section_iv_e3_footnote_a_tie_is_broken_at_random():
    found = {tuple(largest_remainder(np.array([0.3, 3.3, 1.3]), 5, np.random.default_rng(s))) for s in range(60)}
    assert found == {(1, 3, 1), (0, 4, 1), (0, 3, 2)}


def test_section_iv_e3_propagation_from_b1_to_c1():
    # b1 = {a1, a2} is [0.4, 3.3], [1.3, 0]: 5 rows, rounded to [1, 3], [1, 0]. So a2 has (2, 3) rows.
    # c1 = {a2, a3}: the slice of a2 = 0 is (1.2, 0.6), scaled by 2/1.8 to (4/3, 2/3), rounded to (1, 1);
    # that of a2 = 1 is (3.2, 0.1), scaled by 3/3.3 to (2.91, 0.09), rounded to (3, 0).
    domain = Domain({"a1": 2, "a2": 2, "a3": 2})
    base = Marginal(domain.project(("a1", "a2")), np.array([[0.4, 3.3], [1.3, 0.0]]))
    cross = Marginal(domain.project(("a2", "a3")), np.array([[1.2, 0.6], [3.2, 0.1]]))
    rng = np.random.default_rng(0)
    first = conform(base, Marginal(Domain({}), np.array(5)), rng)
    assert first.counts.tolist() == [[1, 3], [1, 0]]
    assert conform(cross, first.project(("a2",)), rng).counts.tolist() == [[1, 1], [3, 0]]
    chain = Chain((("a1", "a2"), ("a2", "a3")), (None,))
    views = normalize(Marginals(domain, (base, cross), (0.1, 9.0)), chain, 5, rng)  # b1 stands out, c1 does not
    assert [view.counts.tolist() for view in views] == [[[1, 3], [1, 0]], [[1, 1], [3, 0]]]


def section_iv_f1():
    """One record [a2 = 0, a3 = 0] may be linked to a4 = 3 and to a4 = 4; two [a2 = 0, a3 = 1] to a4 = 3 only."""
    return Graph(np.array([1, 2]), np.array([1, 1]), source=np.array([0, 0, 1]), target=np.array([0, 1, 0]))


@pytest.mark.parametrize("seed", range(20))
def test_section_iv_f2_priority_links_the_frequent_record_first(seed):
    # [0, 1] occurs twice and goes first: one is paired with a4 = 3, the other with none, and [0, 0] with a4 = 4.
    assert priority_links(section_iv_f1(), np.ones(3), np.random.default_rng(seed)).tolist() == [0, 1, 1]


def test_section_iv_f1_a_maximum_matching_has_two_records():
    assert maximum_links(section_iv_f1(), np.random.default_rng(0)).tolist() == [0, 1, 1]


@pytest.mark.parametrize("matching", ["priority", "maximum"])
@pytest.mark.parametrize("seed", range(10))
def test_figure_6_type_i_the_upper_view_decides_who_is_paired(matching, seed):
    # b1 = {a1, a2, a3}, b2 = {a4, a5, a6}, c1 = {a2, a3, a4}, u1 = {a1, a5, a6}. Two linked records have a4 = 0, one of
    # them (4, 9, 4, 0), and b2 offers (0, 5, 3) and (0, 2, 1). u1 has (4, 5, 3): so (4, 9, 4, 0) goes with (0, 5, 3).
    sizes = Domain({"a4": 1, "a5": 6, "a6": 4})
    view = np.zeros(sizes.shape, dtype=np.int64)
    view[0, 5, 3] = view[0, 2, 1] = 1
    above = Domain({"a1": 5, "a5": 6, "a6": 4})
    upper = np.zeros(above.shape)
    upper[4, 5, 3] = 1
    records = {"a1": (1, 4), "a2": (7, 9), "a3": (2, 4), "a4": (0, 0)}
    linked = {name: np.array(codes, dtype=np.uint32) for name, codes in records.items()}
    rng = np.random.default_rng(seed)
    added = extend(linked, Marginal(sizes, view), 2, rng, Marginal(above, upper), matching)
    assert added["a5"].tolist() == [2, 5]
    assert added["a6"].tolist() == [1, 3]


FIGURE_2_AND_6 = {
    # Upper views by Definition 8: what is in the two base views and not in the cross view.
    "Type I": Chain(
        (("a1", "a2", "a3"), ("a4", "a5", "a6"), ("a7", "a8", "a9")),
        (("a2", "a3", "a4"), ("a5", "a7", "a8")),
        (("a1", "a5", "a6"), ("a4", "a6", "a9")),
    ),
    "Type II: the last upper view is smaller": Chain(
        (("a1", "a2", "a3"), ("a4", "a5", "a6"), ("a7", "a8")),
        (("a2", "a3", "a4"), ("a5", "a6", "a7")),
        (("a1", "a5", "a6"), ("a4", "a8")),
    ),
    "Type III: the last upper view is vacant": Chain(
        (("a1", "a2", "a3"), ("a4", "a5", "a6"), ("a5", "a6", "a7")),
        (("a2", "a3", "a4"), None),
        (("a1", "a5", "a6"), None),
    ),
}


@pytest.mark.parametrize("chain", FIGURE_2_AND_6.values(), ids=FIGURE_2_AND_6)
def test_figure_6_every_type_is_linked_and_follows_its_upper_views(chain):
    names = sorted({name for view in chain.base for name in view})
    rng = np.random.default_rng(0)
    same = rng.integers(0, 2, 2000)  # a1, a5 and all others are copies of one bit, each wrong in a tenth of the rows
    domain = Domain(dict.fromkeys(names, 2))
    real = Records(domain, [same ^ (rng.random(2000) < 0.1) for _ in names])
    views = [view for view in (*chain.base, *chain.cross, *chain.upper) if view is not None]
    marginals = Marginals(domain, tuple(real.project(view) for view in views))

    def distances(chain):
        records = Linking()(marginals, Selection(tuple(views), chain), 2000, np.random.default_rng(1))
        assert len(records) == 2000
        return {view: np.abs(records.project(view).counts - real.project(view).counts).sum() for view in views}

    guided, plain = distances(chain), distances(Chain(chain.base, chain.cross))
    uppers = [view for view in chain.upper if view is not None]
    assert all(guided[view] == plain[view] == 0 for view in views if view not in uppers)
    assert all(guided[view] < 0.5 * plain[view] for view in uppers)
