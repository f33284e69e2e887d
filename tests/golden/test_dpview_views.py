"""DPView's worked examples of views. The text of the paper has the sets of Figures 2 and 6 and of section IV-G, but no
sizes; sizes here are chosen so that Algorithms 1 and 2, by hand, give these sets."""

import pytest

from sfumato.data.domain import Domain
from sfumato.learn.select.chains import Layout, base_views, chain_of, views_of


def domain(**sizes):
    return Domain(sizes)


NINE = {"a1": 6, "a2": 10, "a3": 4, "a4": 3, "a5": 9, "a6": 5, "a7": 2, "a8": 3, "a9": 8}


def first(columns):
    return Domain({name: NINE[name] for name in list(NINE)[:columns]})


def test_figure_2_type_one():
    # Orders: 10, 9, 8. c1: a2 (10) with a4 (3); a6 (5) would join, but 10 ≤ 3 · 5, so a3 (4), the smallest of b1, does.
    # c2: a5 (9) with a7 (2); a8 (3) joins, since 9 > 2 · 3.
    chain = chain_of(first(9), [("a7", "a8", "a9"), ("a1", "a2", "a3"), ("a4", "a5", "a6")], 3)
    assert chain.base == (("a1", "a2", "a3"), ("a4", "a5", "a6"), ("a7", "a8", "a9"))
    assert chain.cross == (("a2", "a3", "a4"), ("a5", "a7", "a8"))
    assert chain.upper == ()


def test_figure_2_type_two():
    # The figure's c2 = {a5, a6, a7} keeps Definition 6, but Algorithm 2 cannot give it with c1 = {a2, a3, a4}: a4 is
    # then the smallest column of b2, and so the one that joins a5 and a7. It joins, since 7 ≤ 2 · 4.
    chain = chain_of(
        domain(a1=6, a2=10, a3=4, a4=3, a5=7, a6=5, a7=2, a8=4),
        [("a7", "a8"), ("a1", "a2", "a3"), ("a4", "a5", "a6")],
        3,
    )
    assert chain.base == (("a1", "a2", "a3"), ("a4", "a5", "a6"), ("a7", "a8"))
    assert chain.cross == (("a2", "a3", "a4"), ("a4", "a5", "a7"))


def test_figure_2_type_three():
    # One column is left, at most 3/2: two columns of b2 join it, and b2 and b3 need no cross view.
    chain = chain_of(first(7), [("a1", "a2", "a3"), ("a4", "a5", "a6"), ("a7",)], 3, copied=(1, 2))
    assert chain.base == (("a1", "a2", "a3"), ("a4", "a5", "a6"), ("a5", "a6", "a7"))
    assert chain.cross == (("a2", "a3", "a4"), None)
    assert len(views_of(chain)) == 3 + 2 - 1


def test_figure_3_base_views_are_numbered_by_their_largest_columns():
    # As in the figure there are four base views, and the largest of the products of floor(4/2) = 2 sizes is 42: 7 · 6.
    # The others are 8 · 5 = 40, 20 · 2 = 40 and 9 · 3 = 27; of the two 40s the one with the smaller sizes comes first.
    sizes = {"a": 3, "b": 9, "c": 2, "d": 2, "e": 7, "f": 6, "g": 5, "h": 4}
    sizes |= {"i": 8, "j": 5, "k": 3, "l": 2, "m": 20, "n": 2, "o": 1, "p": 1}
    groups = [("a", "b", "c", "d"), ("e", "f", "g", "h"), ("i", "j", "k", "l"), ("m", "n", "o", "p")]
    table = Domain(sizes)
    assert base_views(table, groups, 4) == (
        ("h", "g", "f", "e"),
        ("o", "p", "n", "m"),
        ("l", "k", "j", "i"),
        ("c", "d", "a", "b"),
    )
    # High to low: e, f (7 · 6) with o, p (1 · 1); then m, n with l, k; then i, j with c, d.
    chain = chain_of(table, groups, 4)
    assert chain.cross == (("e", "f", "o", "p"), ("k", "l", "m", "n"), ("c", "d", "i", "j"))
    cells = [table.cells(view) for view in views_of(chain)]
    assert cells == [840, 42, 40, 240, 240, 160, 108]


def test_figure_6_type_one():
    # Section IV-G: b1 = {a1, a2, a3}, b2 = {a4, a5, a6}, c1 = {a2, a3, a4}, so u1 = {a1, a5, a6}.
    chain = chain_of(first(9), [("a1", "a2", "a3"), ("a4", "a5", "a6"), ("a7", "a8", "a9")], 3, upper=True)
    assert chain.cross[0] == ("a2", "a3", "a4")
    assert chain.upper == (("a1", "a5", "a6"), ("a4", "a6", "a9"))
    assert views_of(chain) == (
        ("a1", "a2", "a3"),
        ("a2", "a3", "a4"),
        ("a1", "a5", "a6"),
        ("a4", "a5", "a6"),
        ("a5", "a7", "a8"),
        ("a4", "a6", "a9"),
        ("a7", "a8", "a9"),
    )


def test_figure_6_type_two_has_a_smaller_last_upper_view():
    chain = chain_of(
        domain(a1=6, a2=10, a3=4, a4=3, a5=7, a6=5, a7=2, a8=4),
        [("a1", "a2", "a3"), ("a4", "a5", "a6"), ("a7", "a8")],
        3,
        upper=True,
    )
    assert chain.upper == (("a1", "a5", "a6"), ("a6", "a8"))


def test_an_upper_view_inside_one_base_view_ties_nothing_and_is_left_out():
    # 9 > 2 · 3, so c2 takes both columns of b3, and u2 would be {a4, a6}, a part of b2.
    chain = chain_of(first(8), [("a1", "a2", "a3"), ("a4", "a5", "a6"), ("a7", "a8")], 3, upper=True)
    assert chain.cross[1] == ("a5", "a7", "a8")
    assert chain.upper == (("a1", "a5", "a6"), None)


def test_figure_6_type_three_has_a_vacant_upper_view():
    chain = chain_of(first(7), [("a1", "a2", "a3"), ("a4", "a5", "a6"), ("a7",)], 3, copied=(1, 2), upper=True)
    assert chain.upper == (("a1", "a5", "a6"), None)


@pytest.mark.parametrize(
    ("columns", "width", "kind", "views", "with_upper"),
    [(15, 5, "I", 5, 7), (41, 6, "II", 13, 19), (40, 5, "I", 15, 22), (42, 5, "III", 16, 23), (42, 4, "III", 20, 29)],
)
def test_the_number_of_views_of_section_v(columns, width, kind, views, with_upper):
    # The first three are the paper's figures for Adult, Census-Income and KDDCup99 (with 41 and 40 columns).
    layout = Layout(columns, width)
    assert (layout.kind, layout.views(False), layout.views(True)) == (kind, views, with_upper)
