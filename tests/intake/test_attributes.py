"""What stewards know: recoded, derived and moving columns, and the codes of attributes that they become."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.records import Records
from sfumato.errors import SchemaError
from sfumato.intake.attributes import Attributes
from sfumato.schema.schema import Schema

TIME = {"type": "integer", "min": 0, "max": 9}
LATE = {**TIME, "nullable": True, "null_values": [""]}
COLUMNS = [
    {"name": "unit", "type": "categorical", "categories": ["engine", "truck", "medic"]},
    {"name": "call", "type": "categorical", "categories": ["fire", "alarm"], "nullable": True, "null_values": [""]},
    {"name": "received", **TIME},
    {"name": "arrived", **LATE},
    {"name": "left", **LATE},
    {"name": "als", "type": "boolean"},
    {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 10},
    {
        "name": "band",
        "type": "categorical",
        "categories": ["old", "young"],
        "derived": {"of": "age", "edges": [0, 30, 99], "values": ["young", "old"]},
    },
    {
        "name": "group",
        "type": "integer",
        "min": 5,
        "max": 7,
        "nullable": True,
        "derived": {"of": "call", "values": {"fire": "7", "alarm": "5"}},
    },
]
SCHEMA = {
    "name": "calls",
    "columns": COLUMNS,
    "recode": [{"name": "unit info", "columns": ["unit", "als"]}],
    "together": [{"name": "moment", "columns": ["received", "arrived", "left"]}],
    "missing_patterns": [{"name": "reached", "columns": ["arrived", "left"]}],
    "apart": [["call", "age"]],
}


def attributes(**changes):
    return Attributes(Schema.parse({**SCHEMA, **changes}))


def test_each_attribute_stands_where_its_first_column_stands():
    assert attributes().domain.items() == (("unit info", 6), ("call", 3), ("moment", 10), ("reached", 4), ("age", 10))


def test_groups_that_are_apart_and_the_rest():
    assert attributes().parts == (("call", "age"), ("unit info", "moment", "reached"))
    assert attributes(apart=[]).parts == (attributes().domain.names,)


@st.composite
def rows(draw):
    """Rows in which columns move together and derived columns follow: those that attributes can say exactly."""
    size = draw(st.integers(0, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    made = {name: rng.integers(0, k, size) for name, k in attributes().columns.items()}
    made["arrived"] = np.where(rng.random(size) < 0.3, 10, made["received"])
    made["left"] = np.where(rng.random(size) < 0.3, 10, made["received"])
    made["band"] = np.where(made["age"] < 3, 1, 0)
    made["group"] = np.array([2, 0, 3])[made["call"]]
    return Records(attributes().columns, list(made.values()))


@given(rows())
def test_rows_that_obey_the_schema_come_back(records):
    coded = attributes().encode(records)
    back = attributes().decode(coded)
    for name in records.domain:
        assert (back[name] == records[name]).all(), name


@given(st.integers(0, 2**32))
def test_any_codes_of_attributes_survive_columns(seed):
    rng = np.random.default_rng(seed)
    kinds = attributes()
    coded = Records(kinds.domain, [rng.integers(0, size, 20) for size in kinds.domain.shape])
    again = kinds.encode(kinds.decode(coded))
    for name in kinds.domain:
        assert (again[name] == coded[name]).all(), name


def test_a_row_is_read_by_its_first_value_that_is_not_missing():
    late = {
        "columns": [{"name": "a", **LATE}, {"name": "b", **LATE}],
        "recode": [],
        "together": [{"name": "t", "columns": ["a", "b"]}],
        "missing_patterns": [{"name": "p", "columns": ["a", "b"]}],
        "apart": [],
    }
    kinds = attributes(**late)
    records = Records(kinds.columns, [np.array([3, 10, 10]), np.array([4, 4, 10])])
    coded = kinds.encode(records)
    assert coded["t"].tolist() == [3, 4, 10]  # the last row has no value at all
    assert coded["p"].tolist() == [0b00, 0b01, 0b11]
    assert kinds.decode(coded)["b"].tolist() == [3, 4, 10]


def test_columns_become_binary_digits_and_come_back():
    kinds = attributes(bitwise=True, recode=[], together=[], missing_patterns=[], apart=[["call", "age"]])
    assert kinds.domain.shape == (2,) * len(kinds.domain)
    assert kinds.needed(["band"]) == ("age bit 3", "age bit 2", "age bit 1", "age bit 0")
    assert kinds.parts[0] == ("call bit 1", "call bit 0", "age bit 3", "age bit 2", "age bit 1", "age bit 0")
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, size, 500) for name, size in kinds.columns.items()}
    columns["band"] = np.where(columns["age"] < 3, 1, 0)
    columns["group"] = np.array([2, 0, 3])[columns["call"]]
    records = Records(kinds.columns, list(columns.values()))
    back = kinds.decode(kinds.encode(records))
    assert all((back[name] == records[name]).all() for name in records.domain)


def test_levels_are_coarser_versions_of_a_column():
    calls = {"levels": [{"hot": ["fire"], "cold": ["alarm"]}]}
    columns = [{**one, **calls} if one["name"] == "call" else one for one in column("age", levels=[4])]
    levels = attributes(columns=columns).levels
    assert levels["age"][0].tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
    assert levels["call"][0].tolist() == [0, 1, 2]  # missing stays by itself


def test_columns_tell_which_attributes_they_need():
    assert attributes().needed(["band", "als", "left"]) == ("unit info", "moment", "reached", "age")
    assert attributes().needed(["received", "group"]) == ("call", "moment")


def column(name, **changes):
    return [{**one, **changes} if one["name"] == name else one for one in COLUMNS]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"recode": [{"name": "age", "columns": ["unit", "als"]}]}, "'recode.name' is 'age', which is taken"),
        ({"recode": [{"name": "x", "columns": ["unit", "als"]}] * 2}, "'recode.name' is 'x', which is taken"),
        ({"recode": [{"name": "x", "columns": ["unit"]}]}, "give a longer list, with 2 or more in it"),
        ({"recode": [{"name": "x", "columns": ["unit", "town"]}]}, "holds 'town', which is not a column; give one of"),
        ({"recode": [{"name": "x", "columns": ["unit", "band"]}]}, "holds 'band', which is derived"),
        ({"recode": [{"name": "x", "columns": ["unit", "received"]}]}, "'received' is in several groups of recode or"),
        ({"columns": column("unit", compress={"count": 9})}, "is part of 'unit info'; remove 'joint_bins', and give"),
        ({"together": [{"name": "moment", "columns": ["received", "age"]}]}, "whose codes differ; declare the same"),
        ({"missing_patterns": []}, "'arrived', which may be missing; put it into 'missing_patterns' as well"),
        (
            {"together": [], "missing_patterns": [{"name": "p", "columns": ["age"]}]},
            "holds 'age', which is never missing; remove it",
        ),
        ({"apart": [["unit", "age"]]}, "parts the columns of 'unit info' in 'recode'; put them into one group"),
        ({"apart": [["call"], ["call"]]}, "column 'call' is in several groups of apart; it may be in one"),
        ({"columns": column("call", levels=[2])}, "it needs a column with an order, or groups of values"),
        ({"columns": column("age", levels=[{"a": ["1"]}])}, "a column of numbers needs a number of neighbours"),
        ({"columns": column("call", levels=[{"a": ["fire"]}])}, "'levels' lacks 'alarm'; put every value into a group"),
        ({"columns": column("call", levels=[{"a": ["fire", "alarm", "flood"]}])}, "'flood', which is no value of the"),
        ({"columns": column("age", levels=[1])}, "a number that is at least 2"),
        ({"bitwise": True}, "'bitwise' makes digits of columns; remove 'recode', 'together' and 'missing_patterns'"),
        ({"columns": column("age", joint_bins=11)}, "'joint_bins' is 11; the column has 10 codes"),
        ({"columns": column("call", joint_bins=2)}, "'joint_bins' merges neighbouring values; it needs a column with"),
        ({"columns": column("band", compress={})}, "'derived' makes the column cost nothing; remove 'compress'"),
        ({"columns": column("band", derived={"of": "group", "values": {}})}, "give another column, which is not deri"),
        ({"columns": column("band", derived={"of": "age", "values": {}})}, "a column of numbers; give 'edges' and a"),
        (
            {"columns": column("band", derived={"of": "age", "edges": [0, 35, 99], "values": ["old", "young"]})},
            "holds 35, which cuts a bin of 'age'; give edges of its bins",
        ),
        (
            {"columns": column("band", derived={"of": "age", "edges": [0, 30, 90], "values": ["old", "young"]})},
            "must go from 0 to 99, the bounds of 'age'",
        ),
        (
            {"columns": column("band", derived={"of": "age", "edges": [0, 30, 99], "values": ["old", "babe"]})},
            "holds 'babe', which is not a value of the column",
        ),
        (
            {"columns": column("group", derived={"of": "call", "values": {"fire": "7"}})},
            "lacks 'alarm'; map every value of 'call'",
        ),
        ({"columns": column("group", nullable=False)}, "'call', which may be missing; set nullable to true here"),
        ({"columns": column("group", bins=2)}, "needs a column of labels, or of numbers with one code each"),
    ],
)
def test_declarations_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(SchemaError) as refused:
        attributes(**changes)
    assert message in str(refused.value)
