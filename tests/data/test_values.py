"""Domain, Marginal, Measurement, Records, Marginals: each invariant has a test that breaks it."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.coding import Level
from sfumato.data.constraints import Constraint, Constraints
from sfumato.data.domain import Domain
from sfumato.data.marginal import Marginal, Measurement
from sfumato.data.marginals import Marginals
from sfumato.data.records import Records, code_type
from sfumato.data.selection import Apart, Chain, Family, Network, Selection
from sfumato.errors import ModelTooLarge, SchemaError

DOMAIN = Domain({"a": 2, "b": 3, "c": 4})


def test_a_domain_refuses_double_names_and_empty_columns():
    with pytest.raises(SchemaError, match="columns a occur twice"):
        Domain([("a", 2), ("a", 3)])
    with pytest.raises(SchemaError, match="column 'a' has 0 codes"):
        Domain({"a": 0})


def test_an_unknown_column_is_an_error_that_lists_the_known_ones():
    with pytest.raises(SchemaError, match="column 'aeg' is not in the table; it has a, b, c"):
        DOMAIN.project(("a", "aeg"))


def test_too_many_cells_are_refused_with_the_columns_at_fault():
    DOMAIN.require_cells(("b", "c"), 12)
    with pytest.raises(ModelTooLarge, match=r"over b \(3\), c \(4\) has 12 cells; at most 11 are allowed"):
        DOMAIN.require_cells(("b", "c"), 11)


def test_counts_that_somebody_can_change_are_copied_and_others_are_not():
    counts = np.arange(24).reshape(2, 3, 4)
    view = counts.view()
    view.flags.writeable = False
    tables = [Marginal(DOMAIN, counts), Marginal(DOMAIN, view), Marginal(DOMAIN, counts.tolist())]
    frozen = counts.copy()
    frozen.flags.writeable = False
    counts[:] = 0
    assert all(table.total == 276 for table in tables)
    assert np.shares_memory(Marginal(DOMAIN, frozen).counts, frozen)
    assert np.shares_memory(Marginal(DOMAIN, frozen.reshape(-1).reshape(2, 3, 4)).counts, frozen)


@given(st.permutations(DOMAIN.names), st.sets(st.sampled_from(DOMAIN.names)))
def test_a_question_is_answered_from_the_smallest_table_that_contains_it(order, names):
    tables = [Marginal(DOMAIN.project(c), np.full(DOMAIN.project(c).shape, len(c))) for c in ("a", "ab", "bc", "abc")]
    smallest = min((table for table in tables if names <= set(table.clique)), key=lambda table: table.counts.size)
    asked = [name for name in order if name in names]
    found = Marginals(DOMAIN, tuple(tables)).project(asked)
    assert np.array_equal(found.counts, smallest.project(asked).counts)


def test_canonical_order_is_that_of_the_domain():
    assert DOMAIN.canonical({"c", "a"}) == ("a", "c")
    assert DOMAIN.project(("c", "a")).names == ("c", "a")


def test_a_marginal_refuses_counts_of_another_shape_or_kind():
    with pytest.raises(SchemaError, match=r"shape \(3, 2\)"):
        Marginal(DOMAIN.project(("a", "b")), np.zeros((3, 2)))
    with pytest.raises(SchemaError, match="integers or floats"):
        Marginal(Domain({"a": 1}), np.array(["x"]))


def test_a_marginal_never_changes():
    counts = np.array([1, 2])
    table = Marginal(Domain({"a": 2}), counts)
    counts[0] = 99
    assert table.counts.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        table.counts[0] = 5


@given(st.permutations("abc"), st.integers(0, 3))
def test_projection_sums_the_other_columns_and_orders_axes_as_asked(names, keep):
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 9, DOMAIN.shape)
    asked = tuple(names[:keep])
    table = Marginal(DOMAIN, counts).project(asked)
    assert table.clique == asked
    expected = np.zeros(table.domain.shape, dtype=int)
    for cell in np.ndindex(DOMAIN.shape):
        expected[tuple(cell["abc".index(name)] for name in asked)] += counts[cell]
    assert np.array_equal(table.counts, expected)


def test_a_measurement_needs_noise():
    table = Marginal(Domain({"a": 1}), np.array([3]))
    for variance in (0.0, -1.0, float("nan")):
        with pytest.raises(SchemaError, match="noise variance"):
            Measurement(table, variance)


@pytest.mark.parametrize(("size", "kind"), [(1, np.uint8), (256, np.uint8), (257, np.uint16), (65_537, np.uint32)])
def test_codes_take_as_little_room_as_possible(size, kind):
    assert code_type(size) is kind


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([np.array([0]), np.array([0])], r"too many or too few columns of codes .* wants 3"),
        ([np.array([0])] * 4, r"too many or too few columns of codes .* wants 3"),
        ([np.array([0]), np.array([0, 1]), np.array([0])], "different lengths"),
        ([np.array([2]), np.array([0]), np.array([0])], "column 'a' must lie in 0 … 1"),
        ([np.array([0]), np.array([-1]), np.array([0])], "column 'b' must lie in 0 … 2"),
        ([np.array([0.5]), np.array([0]), np.array([0])], "vector of integers"),
    ],
)
def test_records_refuse_what_is_no_code(columns, message):
    with pytest.raises(SchemaError, match=message):
        Records(DOMAIN, columns)


def test_columns_may_come_one_by_one_and_their_own_errors_come_through():
    def broken():
        yield np.array([0])
        raise ValueError("the third column is on fire")

    assert len(Records(DOMAIN, (np.array([0, 1]) for _ in DOMAIN))) == 2
    with pytest.raises(ValueError, match="on fire"):
        Records(DOMAIN, broken())


def test_records_do_not_print_their_number_and_never_change():
    records = Records(Domain({"a": 2}), [np.array([0, 1] * 60)])
    assert "120" not in repr(records)
    with pytest.raises(ValueError, match="read-only"):
        records["a"][0] = 1


def test_marginals_answer_from_the_smallest_table_and_refuse_what_none_holds():
    one = Marginal(DOMAIN.project(("a",)), np.array([1, 9]))
    two = Marginal(DOMAIN.project(("a", "b")), np.full((2, 3), 2))
    both = Marginals(DOMAIN, (two, one))
    assert both.project(("a",)).counts.tolist() == [1, 9]
    assert both.project(("b",)).counts.tolist() == [4, 4, 4]
    assert both.rows == 11
    with pytest.raises(SchemaError, match="no table contains a, c together"):
        both.project(("a", "c"))
    with pytest.raises(SchemaError, match="does not fit"):
        Marginals(Domain({"a": 3}), (one,))
    with pytest.raises(SchemaError, match="2 noise scales were given; 1 tables want one each"):
        Marginals(DOMAIN, (one,), (1.0, 2.0))
    with pytest.raises(SchemaError, match="in another order"):
        Marginals(DOMAIN, (two.project(("b", "a")),))
    assert Marginals(DOMAIN, ()).rows == 0


@pytest.mark.parametrize("scales", [(), (3.0, 4.0, 5.0)], ids=["noise unknown", "noise known"])
def test_marginals_within_columns_are_those_that_lie_inside_with_their_noise_and_rules(scales):
    one = Marginal(DOMAIN.project(("a",)), np.array([1, 9]))
    two = Marginal(DOMAIN.project(("a", "b")), np.full((2, 3), 2))
    three = Marginal(DOMAIN.project(("b", "c")), np.full((3, 4), 1))
    rules = (
        Constraint(("a", "b"), np.array([[True, False, True], [True, True, True]])),
        Constraint(("b", "c"), np.eye(3, 4, dtype=np.bool_)),
    )
    part = Marginals(DOMAIN, (two, three, one), scales, Constraints(DOMAIN, rules)).within(("a", "b"))
    assert part.domain == DOMAIN.project(("a", "b"))
    assert part.tables == (two, one)
    assert part.scales == scales[::2]
    assert part.constraints.items == rules[:1]


NETWORK = Selection(
    (("sex", "age in 2"),),
    Network((Family("age", ()), Family("sex", ("age in 2",))), (Level("age", (0, 0, 1)),)),
    (1.0,),
)
CHAIN = Selection((("a", "b"), ("c",)), Chain((("a",), ("c",)), (None,), (None,)))


@pytest.mark.parametrize(
    "selection",
    [Selection(()), Selection((("a",), ()), weights=(1.0, 2.5), too_large=7), NETWORK, CHAIN,
     Selection((*NETWORK.cliques, *CHAIN.cliques), Apart((("sex", "age"), ("a", "b", "c")), (NETWORK, CHAIN)))],
    ids=["none", "weights", "network", "chain", "apart"],
)  # fmt: skip
def test_a_selection_survives_json(selection):
    assert Selection.from_dict(json.loads(json.dumps(selection.to_dict()))) == selection


def test_a_selection_knows_the_levels_of_all_its_groups():
    level = Level("age", (0, 0, 1))
    assert NETWORK.levels == (level,)
    assert Selection((), Apart((("a",), ("age",)), (CHAIN, NETWORK))).levels == (level,)
    assert CHAIN.levels == Selection(()).levels == ()


def test_a_structure_that_is_not_known_is_refused():
    record = NETWORK.to_dict() | {"structure": {"kind": "web"}}
    with pytest.raises(SchemaError, match="kind 'web' is unknown; it is chain, network, layers or apart"):
        Selection.from_dict(record)


def test_a_measurement_keeps_what_paid_for_it_when_its_axes_are_ordered():
    one = Measurement(Marginal(Domain({"b": 3, "a": 2}), np.arange(6).reshape(3, 2)), 2.0, event=4)
    ordered = one.ordered(DOMAIN)
    assert ordered.clique == ("a", "b")
    assert ordered.marginal.counts.tolist() == [[0, 2, 4], [1, 3, 5]]
    assert (ordered.variance, ordered.event) == (2.0, 4)
    assert ordered.ordered(DOMAIN) is ordered
