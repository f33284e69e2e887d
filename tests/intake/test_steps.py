"""Codes of whole numbers that are looked up are those that the codec gives to each number by itself."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.intake.codec import SchemaCodec, codes_or_marks
from sfumato.intake.steps import MOST_BUCKETS, Steps, limits_of
from sfumato.schema.schema import Schema

EDGES = [-(2**63), -(2**40), -3, -1, 0, 1, 2, 99, 100, 2**40, 2**63 - 1]


def schema_of(column):
    return Schema.parse({"name": "test", "on_bad_value": "missing", "columns": [column]})


@st.composite
def columns(draw):
    """Columns of whole numbers with all that may decide upon a code: bins, edges, cuts, lists, special, tokens."""
    low = draw(st.sampled_from([-(10**12), -50, 0, 17]))
    high = low + draw(st.sampled_from([1, 7, 300, 10**6, 10**12]))
    column = {"name": "n", "type": "integer", "min": low, "max": high, "nullable": True}
    inside = st.integers(low, high)
    kind = draw(st.sampled_from(["bins", "edges", "values"]))
    if kind == "bins":
        column["bins"] = draw(st.integers(1, min(40, high - low + 1)))
        column["cuts"] = sorted(draw(st.sets(st.integers(low + 1, high), max_size=2)))
    elif kind == "edges":
        column["edges"] = sorted({low, high, *draw(st.sets(inside, max_size=5))})
    else:
        column["values"] = sorted({low, high, *draw(st.sets(inside, max_size=5))})
    away = st.integers(high + 1, high + 10**6) | st.integers(low - 10**6, low - 1)
    column["special"] = sorted(draw(st.sets(away, max_size=2)))
    tokens = draw(st.sets(away, max_size=2)) - set(column["special"])
    column["null_values"] = ["", *map(str, sorted(tokens))]
    column["outside"] = draw(st.sampled_from(["refuse", "clip"]))
    return column


@given(columns(), st.sampled_from([pa.int8(), pa.int16(), pa.int32(), pa.int64()]), st.data())
def test_every_number_has_the_code_that_it_has_by_itself(column, kind, data):
    schema = schema_of(column)
    codec = SchemaCodec(schema)
    near = [limit + step for limit in limits_of(schema.columns[0]) for step in (-1, 0, 1)]
    numbers = np.array([*near, *EDGES, *data.draw(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))])
    bound = 2 ** (kind.bit_width - 1)
    numbers = numbers[(numbers >= -bound) & (numbers < bound)]
    found = codec.encode(pa.table({"n": pa.array(numbers, kind)}))["n"]
    alone = codes_or_marks(schema.columns[0], pa.chunked_array([pa.array(numbers, kind)]), "missing")
    assert np.array_equal(found, alone)


def test_the_table_is_as_large_as_the_narrowest_bin_asks_for_and_no_larger():
    def looked_up(low, high, bins):
        column = schema_of({"name": "n", "type": "integer", "min": low, "max": high, "bins": bins, "nullable": True})
        return Steps.of(limits_of(column.columns[0]), lambda numbers: numbers * 0)

    assert looked_up(17, 90, 74).shift == 0
    wide = looked_up(12_000, 1_500_000, 32)
    assert wide.shift == 15
    assert len(wide.limit) < 100
    assert looked_up(0, MOST_BUCKETS + 5, MOST_BUCKETS + 6) is None
    assert Steps.of([2**62], lambda numbers: numbers * 0) is None


def test_no_rows_and_rows_in_several_parts_are_coded_too():
    codec = SchemaCodec(schema_of({"name": "n", "type": "integer", "min": 0, "max": 9, "nullable": True}))
    nothing = pa.chunked_array([], pa.int64())
    assert len(codec.encode(pa.table({"n": nothing}))) == 0
    parts = pa.chunked_array([[1, 2], [3]], pa.int64())
    assert codec.encode(pa.table({"n": parts}))["n"].tolist() == [1, 2, 3]
    with_nulls = pa.chunked_array([[1, None], [77]], pa.int64())
    assert codec.encode(pa.table({"n": with_nulls}))["n"].tolist() == [1, 10, 10]


def test_a_bad_number_is_refused_without_its_value():
    schema = Schema.parse({"name": "t", "columns": [{"name": "n", "type": "integer", "min": 0, "max": 9}]})
    with pytest.raises(DataError) as caught:
        SchemaCodec(schema).encode(pa.table({"n": [4, 4711]}))
    assert "'n'" in str(caught.value)
    assert "4711" not in str(caught.value)
