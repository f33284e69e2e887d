"""Constraints seen through cliques and codings, against rows written out one by one."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.coding import Coding, Keep, Level, Levels, Merge
from sfumato.data.constraints import Constraint, Constraints
from sfumato.data.domain import Domain

DOMAIN = Domain({"a": 3, "b": 4, "c": 2})
MERGE = Merge((("b", (0, 1, 1, 0)),))
LEVELS = Levels((Level("a", (0, 0, 1)),))
CODINGS = [
    Coding(DOMAIN),
    Coding(DOMAIN, (MERGE,)),
    Coding(DOMAIN, (MERGE, LEVELS)),
    Coding(DOMAIN, (Keep(("a", "c")),)),
]
CLIQUES = [("a",), ("b",), ("c", "a"), ("a", "b"), ("b", "c"), ("a", "b", "c")]


@st.composite
def constraints(draw):
    items = []
    for _ in range(draw(st.integers(1, 3))):
        clique = draw(st.sampled_from(CLIQUES))
        shape = DOMAIN.project(clique).shape
        flags = draw(st.lists(st.booleans(), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
        items.append(Constraint(clique, np.array(flags).reshape(shape)))
    return Constraints(DOMAIN, tuple(items))


@settings(max_examples=100, deadline=None)
@given(held=constraints(), coding=st.sampled_from(CODINGS), data=st.data())
def test_a_cell_that_some_row_obeying_all_lies_in_is_allowed(held, coding, data):
    """Sound: no cell of a row that obeys is lost. Exact for one constraint that lies inside the clique."""
    names = list(coding.domain)
    clique = tuple(data.draw(st.permutations(names)))[: data.draw(st.integers(1, len(names)))]
    allowed = held.allowed(clique, coding)
    if allowed is None:
        allowed = np.ones(coding.domain.project(clique).shape, dtype=np.bool_)
    reached = np.zeros_like(allowed)
    for row in product(*map(range, DOMAIN.shape)):
        codes = {name: np.array([code]) for name, code in zip(DOMAIN, row, strict=True)}
        if not any(item.broken(codes)[0] for item in held.items):
            cell = []
            for name in clique:
                base, lookup = coding.lookup(name)
                cell.append(int(codes[base][0] if lookup is None else lookup[codes[base][0]]))
            reached[tuple(cell)] = True
    assert not (reached & ~allowed).any()
    if len(held.items) == 1 and set(held.items[0].clique) <= set(clique) and not coding.steps:
        assert (allowed == reached).all()


@settings(max_examples=50, deadline=None)
@given(held=constraints(), coding=st.sampled_from(CODINGS), clique=st.sampled_from(CLIQUES))
def test_in_the_codes_of_a_coding_constraints_say_what_they_say_through_it(held, coding, clique):
    if not set(clique) <= set(coding.domain):
        return
    kept = [item for item in held.items if set(item.clique) <= set(coding.domain)]
    wanted = Constraints(DOMAIN, tuple(kept)).allowed(clique, coding)
    found = held.through(coding).allowed(clique, Coding(coding.domain))
    assert (found is None) == (wanted is None)
    assert wanted is None or (found == wanted).all()


@settings(max_examples=50, deadline=None)
@given(held=constraints())
def test_what_may_follow_is_what_the_table_leaves(held):
    rng = np.random.default_rng(0)
    codes = {"a": rng.integers(0, 3, 20), "c": rng.integers(0, 2, 20)}
    for place, table in held.given("b", codes):
        assert table.shape[1] == 4
        assert ((place >= 0) & (place < len(table))).all()
    inside = [item for item in held.items if set(item.clique) == {"a", "b"}]
    found = held.within(("a", "b")).given("b", codes)
    for item, (place, table) in zip(inside, [one for one in found if len(one[1]) == 3], strict=False):
        assert (table[place] == item.allowed[codes["a"]]).all()
