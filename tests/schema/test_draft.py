"""Drafts: the right kinds, a note on every column, and a schema that fits the table it was drafted from."""

from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.intake.codec import SchemaCodec
from sfumato.schema.draft import draft
from sfumato.schema.schema import Schema


def drafted(values):
    array = values if isinstance(values, pa.Array) else pa.array(values)
    column = draft(pa.table({"x": array}), "t").schema.to_dict()["columns"][0]
    return {key: column[key] for key in column if key not in ("name", "domain_from", "note")}


INTEGER_1_3 = {"type": "integer", "min": 1, "max": 3}


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        (["3", "1", "2"], INTEGER_1_3),
        ([3, 1], INTEGER_1_3),
        ([3.0, 1.0], INTEGER_1_3),
        ([3.0, 1.0, float("nan")], {**INTEGER_1_3, "nullable": True, "null_values": [""]}),
        (["3", "1", "NA", ""], {**INTEGER_1_3, "nullable": True, "null_values": ["", "NA"]}),
        (["0.50", "2"], {"type": "number", "min": 0.5, "max": 2.0, "decimals": 2}),
        (["1e-3", "2"], {"type": "number", "min": 0.001, "max": 2.0}),
        ([0.5, 2.25], {"type": "number", "min": 0.5, "max": 2.25, "decimals": 2}),
        ([Decimal("0.50")], {"type": "number", "min": 0.5, "max": 0.5, "decimals": 1}),
        (["007", "123"], {"type": "categorical", "categories": ["007", "123"]}),
        (["b", "a", "NA"], {"type": "categorical", "categories": ["NA", "a", "b"]}),
        (["a", "?"], {"type": "categorical", "categories": ["a"], "nullable": True, "null_values": ["?"]}),
        (["true", "false"], {"type": "boolean", "true_values": ["true"], "false_values": ["false"]}),
        (["TRUE"], {"type": "boolean", "true_values": ["TRUE"], "false_values": ["FALSE"]}),
        ([True, False], {"type": "boolean"}),
        (["2020-03-01", "2019-01-05"], {"type": "date", "min": "2019-01-05", "max": "2020-03-01"}),
        (["2020-13-01"], {"type": "categorical", "categories": ["2020-13-01"]}),
        ([date(2020, 3, 1)], {"type": "date", "min": "2020-03-01", "max": "2020-03-01"}),
        (
            ["2020-03-01T10:30", "2020-03-01 09:00:00"],
            {"type": "datetime", "min": "2020-03-01T09:00:00", "max": "2020-03-01T10:30:00", "granularity": "minute"},
        ),
        (
            pa.array([datetime(2020, 3, 1, 1)], pa.timestamp("ns", "Asia/Tokyo")),
            {"type": "datetime", "min": "2020-03-01T01:00:00", "max": "2020-03-01T01:00:00", "granularity": "hour"},
        ),
        (pa.array(["b", "a"]).dictionary_encode(), {"type": "categorical", "categories": ["a", "b"]}),
        (
            pa.array([None, None]),
            {"type": "categorical", "categories": ["unknown"], "nullable": True, "null_values": [""]},
        ),
    ],
)
def test_the_kind_and_the_domain_are_guessed(values, keys):
    assert drafted(values) == keys


def test_every_column_says_that_it_was_observed_and_what_was_taken():
    schema = draft(pa.table({"a": ["1", "2"], "b": ["u", "?"], "c": ["0.5", "1"], "d": [None, None]}), "t").schema
    assert schema.observed == ("a", "b", "c", "d")
    assert [column.note for column in schema.columns] == [
        "taken from the data: min and max, whether values are missing",
        "taken from the data: categories, whether values are missing, the texts of missing values",
        "taken from the data: min and max, decimals, whether values are missing",
        "taken from the data: that no value is present; declare the type and the domain",
    ]


def test_a_table_without_rows_has_a_draft():
    table = pa.table({"a": pa.array([], pa.string())})
    assert len(SchemaCodec(draft(table, "t").schema).encode(table)) == 0


texts = st.one_of(
    st.text(max_size=3),
    st.integers(-(10**20), 10**20).map(str),
    st.floats(allow_nan=False).map(repr),
    st.decimals(-1000, 1000, places=3).map(str),
    st.sampled_from(["", " ", "?", "NA", "null", "true", "False", "+5", " 7", "00", "-0", "1e400"]),
    st.dates().map(str),
    st.datetimes().map(str),
)
columns = st.one_of(
    st.lists(texts),
    st.lists(st.sampled_from(["1", "2.5", "NA", "", "-0.0"])),
    st.lists(st.none() | st.floats(allow_infinity=False)),
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)),
    st.lists(st.none() | st.booleans()),
    st.lists(st.none() | st.dates()),
    st.lists(st.none() | st.datetimes()),
)


@settings(max_examples=300, deadline=None)
@given(columns)
def test_a_draft_fits_its_table_and_does_not_depend_on_the_order_of_rows(values):
    table = pa.table({"x": pa.array(values)})
    schema = draft(table, "t", keep=table.column_names).schema
    assert len(SchemaCodec(schema).encode(table)) == len(values)
    assert draft(pa.table({"x": pa.array(values[::-1])}), "t", keep=["x"]).schema == schema
    assert Schema.parse(schema.to_dict()) == schema
