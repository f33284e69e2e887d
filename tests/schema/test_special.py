"""Special values and short lists of numbers: codes of their own, through encoding and decoding, and nothing smeared."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.errors import DataError, SchemaError
from sfumato.evaluate.correlations import numbers_of
from sfumato.intake.codec import SchemaCodec
from sfumato.intake.labels import labels
from sfumato.schema.columns import places_of
from sfumato.schema.conditions import allowed_codes
from sfumato.schema.derived import level_codes
from sfumato.schema.schema import Schema


def schema_of(**keys):
    return Schema.parse({"name": "t", "columns": [{"name": "x", **keys}]})


def codes(schema, values):
    return SchemaCodec(schema).encode(pa.table({"x": values}))["x"].tolist()


DAYS = {"type": "integer", "min": 0, "max": 29, "bins": 3, "special": [999, 0, -1]}


def test_special_values_have_codes_after_the_bins_wherever_they_lie():
    schema = schema_of(**DAYS, nullable=True)
    assert codes(schema, ["5", "29", "999", "0", "-1", ""]) == [0, 2, 3, 4, 5, 6]
    assert codes(schema, pa.array([5.0, 999.0, 0.0, None])) == [0, 3, 4, 6]
    assert labels(schema["x"]) == ["0 … 9", "10 … 19", "20 … 29", "999", "0", "-1", "(missing)"]
    assert places_of(schema["x"]).tolist() == [0, 1, 2, -1, 0, -1, -1]
    assert level_codes(schema["x"], 2).tolist() == [0, 0, 1, 2, 3, 4, 5]
    np.testing.assert_array_equal(numbers_of(schema.columns)["x"], [5, 15, 25, np.nan, 0, np.nan, np.nan])


def test_clipping_does_not_touch_special_values():
    schema = schema_of(**DAYS, outside="clip")
    assert codes(schema, ["1000", "999", "-1", "-2"]) == [2, 3, 5, 0]


def test_values_outside_that_are_not_special_are_refused():
    with pytest.raises(DataError, match="outside min 0 and max 29"):
        codes(schema_of(**DAYS), ["998"])


def test_a_short_list_of_numbers_stays_one():
    rates = [0.634, 1.25, 4.857]
    schema = schema_of(type="number", min=0.634, max=4.857, values=rates, nullable=True, on_bad_value="missing")
    assert codes(schema, ["4.857", "0.634", "1.250", "1.3", "9", ""]) == [2, 0, 1, 3, 3, 3]
    table = SchemaCodec(schema).decode(SchemaCodec(schema).encode(pa.table({"x": rates * 9})), np.random.default_rng(1))
    assert sorted(set(table["x"].to_pylist())) == rates
    assert labels(schema["x"]) == ["0.634", "1.25", "4.857", "(missing)"]
    with pytest.raises(DataError, match="not among those declared"):
        codes(schema_of(type="integer", min=1, max=5, values=[1, 5]), ["3"])


specials = st.lists(st.sampled_from([999, -1, 0, 3, 7, 50]), unique=True, max_size=4)


@settings(max_examples=60)
@given(
    special=specials,
    keys=st.sampled_from(
        [
            {"type": "integer", "min": 0, "max": 99, "bins": 7},
            {"type": "number", "min": 0, "max": 99, "bins": 5},
            {"type": "number", "min": 0, "max": 99, "bins": 9, "decimals": 1},
            {"type": "integer", "min": 1, "max": 98, "values": [1, 2, 98]},
        ]
    ),
    nullable=st.booleans(),
    seed=st.integers(0, 9),
)
def test_decoded_codes_are_encoded_again_as_they_were(special, keys, nullable, seed):
    schema = schema_of(**keys, special=special, nullable=nullable)
    codec = SchemaCodec(schema)
    size = codec.domain["x"]
    rng = np.random.default_rng(seed)
    wanted = rng.integers(0, size, 300)
    from sfumato.data.records import Records

    table = codec.decode(Records(codec.domain, [wanted]), rng)
    np.testing.assert_array_equal(codec.encode(table)["x"], wanted)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"type": "integer", "min": 0, "max": 9, "special": [3]}, "all numbers of some bin"),
        ({"type": "integer", "min": 0, "max": 9, "bins": 5, "special": [2, 3]}, "all numbers of some bin"),
        ({"type": "number", "min": 0, "max": 1, "bins": 5, "decimals": 1, "special": [0.0, 0.1]}, "some bin"),
        ({"type": "integer", "min": 0, "max": 99, "bins": 5, "special": [3, 3]}, "holds '3' twice"),
        ({"type": "number", "min": 0, "max": 1, "decimals": 1, "special": [9.99]}, "more than 1 decimals"),
        ({"type": "integer", "min": 0, "max": 99, "dtype": "int8", "special": [999]}, "does not hold 0 to 999"),
        ({"type": "integer", "min": 0, "max": 9, "values": [0, 9], "bins": 2}, "remove 'bins' and 'edges'"),
        ({"type": "integer", "min": 0, "max": 9, "values": [9, 0]}, "must grow"),
        ({"type": "integer", "min": 0, "max": 9, "values": [1, 9]}, "'min' and 'max' must be these two"),
        ({"type": "integer", "min": 0, "max": 9, "values": [0, 9], "special": [9]}, "both hold 9"),
        ({"type": "integer", "min": 0, "max": 99, "special": [999], "nullable": True, "null_values": ["999"]}, "999"),
    ],
)
def test_what_could_not_be_kept_is_refused(keys, message):
    with pytest.raises(SchemaError, match=message):
        schema_of(**keys)


def test_conditions_know_special_values():
    schema = schema_of(**DAYS)
    assert allowed_codes(schema, {"x": 999})["x"].tolist() == [3]
    assert allowed_codes(schema, {"x": {"min": 0, "max": 9}})["x"].tolist() == [0, 4]
    assert allowed_codes(schema, {"x": {"min": 10}})["x"].tolist() == [1, 2]


def test_a_spike_comes_back_as_a_spike():
    rng = np.random.default_rng(1)
    values = np.where(rng.random(4_000) < 0.96, 999, rng.integers(0, 28, 4_000))
    schema = schema_of(type="integer", min=0, max=30, special=[999])
    sampled = sfumato.fit(pa.table({"x": values}), schema, epsilon=10, method="dpview").sample_arrow(4_000, seed=1)
    share = np.mean(sampled["x"].to_numpy() == 999)
    assert abs(share - 0.96) < 0.02
    assert set(sampled["x"].to_pylist()) <= {*range(31), 999}


def test_columns_that_move_together_may_be_written_and_described_in_their_own_ways():
    one = {"name": "a", "type": "integer", "min": 0, "max": 99, "bins": 5, "special": [999]}
    two = {**one, "name": "b", "description": "the second", "written": {"signs": ["€"]}}
    together = [{"name": "both", "columns": ["a", "b"]}]
    assert Schema.parse({"name": "t", "columns": [one, two], "together": together})
    with pytest.raises(SchemaError, match="whose codes differ"):
        Schema.parse({"name": "t", "columns": [one, {**two, "special": [998]}], "together": together})
