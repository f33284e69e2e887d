from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from sfumato.synthesize.appending import peel

cliques = st.lists(
    st.sets(st.sampled_from("abcdefg"), min_size=1, max_size=4).map(lambda c: tuple(sorted(c))),
    max_size=8,
    unique=True,
)


def test_a_chain_is_peeled_completely_and_drawn_from_its_end():
    fitted, appended = peel([("a", "b"), ("b", "c"), ("c", "d")])
    assert fitted == ()
    assert [step.column for step in appended] == ["c", "b", "a"]  # d starts; each column follows its parent
    assert appended[0].given == ("d",)


def test_a_cycle_is_left_for_fitting_and_its_leaf_is_not():
    cycle = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
    fitted, appended = peel([*cycle, ("d", "e")])
    assert set(fitted) == set(cycle)
    assert [(step.column, step.given) for step in appended] == [("e", ("d",))]


def test_a_lonely_column_of_a_larger_clique_leaves_the_rest_for_fitting():
    fitted, appended = peel([("a", "b", "x"), ("b", "c"), ("a", "c")])
    assert set(fitted) == {("a", "b"), ("b", "c"), ("a", "c")}
    assert [(step.column, step.given) for step in appended] == [("x", ("a", "b"))]


@given(cliques)
def test_every_column_is_drawn_after_what_it_is_given(some):
    fitted, appended = peel(some)
    known = {name for clique in fitted for name in clique}
    columns = {name for clique in some for name in clique}
    later = {step.column for step in appended}
    assert not known & later
    ready = columns - later
    for step in appended:
        assert set(step.given) <= ready
        assert set(step.given) | {step.column} <= set(step.source)
        assert step.source in some
        ready.add(step.column)
    assert ready == columns


@given(cliques)
def test_what_is_left_for_fitting_has_no_column_in_only_one_table(some):
    fitted, _ = peel(some)
    for clique in fitted:
        assert all(sum(name in other for other in fitted) > 1 for name in clique)
        assert any(set(clique) <= set(given) for given in some)
    for one, other in combinations(fitted, 2):
        assert not set(one) <= set(other)
