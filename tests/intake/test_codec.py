"""The codec: the same codes after a round trip, exact bins, every input type, and refusals that tell no value."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.records import Records
from sfumato.errors import DataError, SchemaError
from sfumato.intake.codec import SchemaCodec
from sfumato.schema.bins import RealBins, TickBins
from sfumato.schema.periods import period_of, seconds_of, start_of
from sfumato.schema.schema import Schema

GRANULARITIES = ["second", "minute", "hour", "day", "week", "month", "quarter", "year"]
NULLS = st.sampled_from([{}, {"nullable": True}, {"nullable": True, "null_values": ["?", "n/a"]}])
floats = st.floats(-1e6, 1e6, allow_nan=False)


@st.composite
def integer_keys(draw):
    low = draw(st.integers(-(2**62), 2**62))
    high = draw(st.integers(low, min(low + draw(st.sampled_from([0, 5, 200, 2**62])), 2**62)))
    keys = {"type": "integer", "min": low, "max": high}
    how = draw(st.sampled_from(["default", "bins", "edges"]))
    if how == "bins":
        keys["bins"] = draw(st.integers(1, min(high - low + 1, 300)))
    if how == "edges" and high > low:
        inner = draw(st.sets(st.integers(low, high), max_size=6)) - {low, high}
        keys["edges"] = [low, *sorted(inner), high]
    return keys


@st.composite
def number_keys(draw):
    decimals = draw(st.none() | st.integers(0, 6))
    low, high = sorted([draw(floats), draw(floats)])
    if decimals is not None:
        low, high = round(low, decimals), round(high, decimals)
    keys = {"type": "number", "min": low, "max": high}
    if decimals is not None:
        keys["decimals"] = decimals
    how = draw(st.sampled_from(["default", "bins", "edges"]))
    if how == "bins":
        keys["bins"] = draw(st.integers(1, 40))
    if how == "edges" and high > low:
        inner = draw(st.sets(st.floats(low, high), max_size=6)) - {low, high}
        keys["edges"] = [low, *sorted(inner), high]
    return keys


@st.composite
def dated_keys(draw):
    kind = draw(st.sampled_from(["date", "datetime"]))
    first = datetime(1600, 1, 1) + timedelta(seconds=draw(st.integers(0, 86400 * 365 * 600)))
    last = first + timedelta(seconds=draw(st.integers(0, 86400 * draw(st.sampled_from([1, 30, 4000])))))
    granularity = draw(st.sampled_from(GRANULARITIES[3:] if kind == "date" else GRANULARITIES))
    if kind == "date":
        first, last = first.date(), last.date()
    keys = {"type": kind, "min": first.isoformat(), "max": last.isoformat(), "granularity": granularity}
    if draw(st.booleans()):
        keys["bins"] = draw(st.integers(1, 20))
    return keys


label_keys = st.lists(st.text(max_size=4), min_size=1, max_size=8, unique=True).flatmap(
    lambda names: st.fixed_dictionaries(
        {"type": st.just("categorical"), "categories": st.just(names)},
        optional={"other": st.sampled_from([*names, "elsewhere"])},
    )
)
KINDS = {
    "categorical": label_keys,
    "boolean": st.just({"type": "boolean"}),
    "integer": integer_keys(),
    "number": number_keys(),
    "dated": dated_keys(),
}


def codec_of(**keys):
    return SchemaCodec(Schema.parse({"name": "t", "columns": [{"name": "x", **keys}]}))


def codes_of(values, **keys):
    """The codes of one column, given as an Arrow array or as plain values."""
    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    return codec_of(**keys).encode(pa.table({"x": array}))["x"].tolist()


def refusal(values, **keys):
    with pytest.raises(DataError) as caught:
        codes_of(values, **keys)
    return str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_encoding_a_decoded_table_gives_back_the_codes(kind, data):
    keys = data.draw(KINDS[kind]) | data.draw(NULLS)
    try:
        codec = codec_of(**keys)
    except SchemaError:  # a null token that is a category, or a bin without a value: rightly refused
        return
    size = codec.domain["x"]
    codes = np.array([*data.draw(st.lists(st.integers(0, size - 1), max_size=30)), 0, size - 1])
    records = Records(codec.domain, [codes])
    decoded = codec.decode(records, np.random.default_rng(data.draw(st.integers(0, 9))))
    assert codec.encode(decoded)["x"].tolist() == codes.tolist()
    column = codec.schema["x"]
    drawn = [value for value in decoded["x"].to_pylist() if value is not None]
    if kind in ("integer", "number", "dated"):
        assert all(column.min <= value <= column.max for value in drawn)
    if kind == "number" and column.decimals is not None:
        assert all(value == float(f"{value:.{column.decimals}f}") for value in drawn)


@given(st.integers(-(2**62), 2**62), st.integers(0, 10**6), st.integers(1, 50), st.floats(0, 1))
def test_integer_bins_are_those_of_exact_arithmetic(low, width, count, place):
    count = min(count, width + 1)
    value = low + int(width * place)
    code = TickBins.equal(low, low + width, count).code(np.array([value]))[0]
    assert code == (value - low) * count // (width + 1)


@given(st.integers(1, 60), st.data())
def test_a_decimal_on_an_edge_falls_into_the_bin_that_starts_there(count, data):
    bins = RealBins.equal(0, 1, count)
    index = data.draw(st.integers(0, count - 1))
    assert bins.code(np.array([float(Fraction(index, count))]))[0] == index


def test_bins_are_half_open_and_the_last_is_closed():
    keys = {"type": "number", "min": 0, "max": 1, "edges": [0, 0.5, 1]}
    assert codes_of([0.0, 0.49, 0.5, 1.0], **keys) == [0, 0, 1, 1]
    whole = {"type": "integer", "min": 0, "max": 10, "edges": [0, 5, 10]}
    assert codes_of([0, 4, 5, 10], **whole) == [0, 0, 1, 1]


@pytest.mark.parametrize("granularity", GRANULARITIES)
@given(seconds=st.integers(seconds_of(date(1, 1, 1)), seconds_of(date(9998, 12, 31))))
def test_a_moment_lies_in_its_period(granularity, seconds):
    period = period_of(np.array([seconds]), granularity)
    start, following = start_of(np.array([period[0], period[0] + 1]), granularity)
    assert start <= seconds < following
    assert period_of(np.array([start]), granularity)[0] == period[0]


@given(st.dates())
def test_weeks_and_months_agree_with_the_calendar(day):
    seconds = np.array([seconds_of(day)])
    monday = start_of(period_of(seconds, "week"), "week")[0]
    assert monday == seconds_of(day) - day.weekday() * 86400
    first = start_of(period_of(seconds, "month"), "month")[0]
    assert first == seconds_of(day.replace(day=1))


def test_a_decoded_date_is_the_start_of_its_period_inside_the_bounds():
    codec = codec_of(type="date", min="2020-01-15", max="2020-03-10", granularity="month")
    decoded = codec.decode(Records(codec.domain, [np.arange(3)]), np.random.default_rng(0))
    assert decoded["x"].to_pylist() == [date(2020, 1, 15), date(2020, 2, 1), date(2020, 3, 1)]


def test_draws_cover_a_bin_evenly():
    codec = codec_of(type="integer", min=0, max=9, bins=1)
    values = codec.decode(Records(codec.domain, [np.zeros(20000, int)]), np.random.default_rng(0))["x"]
    counts = np.bincount(values.to_numpy(), minlength=10)
    assert counts.min() > 1800
    assert counts.max() < 2200


def test_decoded_columns_have_the_types_of_the_schema():
    schema = Schema.parse(
        {
            "name": "t",
            "columns": [
                {"name": "a", "type": "categorical", "categories": ["u", "v"]},
                {"name": "b", "type": "boolean"},
                {"name": "c", "type": "integer", "min": 0, "max": 1},
                {"name": "d", "type": "number", "min": 0, "max": 1},
                {"name": "e", "type": "date", "min": "2020-01-01", "max": "2020-01-02"},
                {"name": "f", "type": "datetime", "min": "2020-01-01", "max": "2020-01-02"},
            ],
        }
    )
    codec = SchemaCodec(schema)
    zeros = Records(codec.domain, [np.zeros(3, int)] * 6)
    types = [str(kind) for kind in codec.decode(zeros, np.random.default_rng(0)).schema.types]
    assert types == ["string", "bool", "int64", "double", "date32[day]", "timestamp[s]"]


def test_decoding_codes_of_another_domain_is_refused():
    other = codec_of(type="boolean", nullable=True)
    with pytest.raises(DataError, match="the codes are over"):
        codec_of(type="boolean").decode(Records(other.domain, [np.zeros(1, int)]), np.random.default_rng(0))


INTEGER = {"type": "integer", "min": 0, "max": 20, "nullable": True, "null_values": ["?", "-1"]}
LABEL = {"type": "categorical", "categories": ["1", "2"], "nullable": True}
WORDS = {"type": "categorical", "categories": ["true", "false"]}
DAYS = {"type": "date", "min": "2020-01-01", "max": "2020-01-31", "nullable": True, "null_values": ["", "9999-12-31"]}
HOURS = {"type": "datetime", "min": "2020-01-01", "max": "2020-01-01T23:00", "granularity": "hour"}
NOON = datetime(2020, 1, 1, 12, 30)


@pytest.mark.parametrize(
    ("values", "keys", "codes"),
    [
        (["3", "3.0", " 3 ", "+3", "3e0", "003", "?", " ? ", "-1", "-1.0"], INTEGER, [3] * 6 + [21] * 4),
        ([3, None, -1], INTEGER, [3, 21, 21]),
        ([3.0, float("nan"), None, -1.0], INTEGER, [3, 21, 21, 21]),
        (pa.array([3, None], pa.uint64()), INTEGER, [3, 21]),
        (pa.array([3, None], pa.int8()), INTEGER, [3, 21]),
        ([Decimal("3.00"), None], INTEGER, [3, 21]),
        (pa.array([None, None]), INTEGER, [21, 21]),
        (pa.array(["3", None, "3"]).dictionary_encode(), INTEGER, [3, 21, 3]),
        (pa.chunked_array([["3"], ["4", "3"]]).dictionary_encode(), INTEGER, [3, 4, 3]),
        (pa.chunked_array([["3"], ["4", "3"]], pa.large_string()), INTEGER, [3, 4, 3]),
        (pa.chunked_array([], pa.string()), INTEGER, []),
        (pa.chunked_array([], pa.int64()), INTEGER, []),
        (pa.chunked_array([], pa.bool_()), {"type": "boolean"}, []),
        (pa.chunked_array([], pa.dictionary(pa.int8(), pa.string())), INTEGER, []),
        (["0.25", "1e-1", ".9", "1."], {"type": "number", "min": 0, "max": 1, "bins": 4}, [1, 0, 3, 3]),
        ([Decimal("0.25"), Decimal("0.10")], {"type": "number", "min": 0, "max": 1, "bins": 4}, [1, 0]),
        ([0, 1], {"type": "number", "min": 0, "max": 1, "bins": 4}, [0, 3]),
        (["1", "2", "", None], LABEL, [0, 1, 2, 2]),
        ([1, 2, None], LABEL, [0, 1, 2]),
        ([1.0, 2.0, float("nan"), None], LABEL, [0, 1, 2, 2]),
        ([True, False], WORDS, [0, 1]),
        ([True, False], {"type": "categorical", "categories": ["True", "False"]}, [0, 1]),
        ([date(2020, 1, 1)], {"type": "categorical", "categories": ["2020-01-01"], "other": "x"}, [1]),
        (["a", "z"], {"type": "categorical", "categories": ["a", "b"], "other": "b"}, [0, 1]),
        (["a", "z", "rest"], {"type": "categorical", "categories": ["a", "b"], "other": "rest"}, [0, 2, 2]),
        (["true", "False", "True"], {"type": "boolean"}, [1, 0, 1]),
        ([True, None], {"type": "boolean", "nullable": True}, [1, 2]),
        ([1, 0], {"type": "boolean", "true_values": ["1"], "false_values": ["0"]}, [1, 0]),
        (["2020-01-02", "", "9999-12-31", " 2020-01-03"], DAYS, [1, 31, 31, 2]),
        ([date(2020, 1, 2), None, date(9999, 12, 31)], DAYS, [1, 31, 31]),
        ([datetime(2020, 1, 2, 23, 59)], DAYS, [1]),
        (["02.01.20"], {**DAYS, "format": "%d.%m.%y"}, [1]),
        (["2020-01-01T12:30:00", "2020-01-01 12:30", "2020-01-01T12:30:00.999999999"], HOURS, [12] * 3),
        (["2020-01-01T12:30:00Z", "2020-01-01T13:30:00+01:00", "2020-01-01"], HOURS, [12, 12, 0]),
        (pa.array([NOON], pa.timestamp("ns")), HOURS, [12]),
        (pa.array([NOON.replace(tzinfo=UTC)], pa.timestamp("us", "Asia/Tokyo")), HOURS, [12]),
        ([date(2020, 1, 1)], HOURS, [0]),
        (["-5", "99", "1e400"], {"type": "integer", "min": 0, "max": 9, "outside": "clip"}, [0, 9, 9]),
        (["99999999999999999999"], {"type": "integer", "min": 0, "max": 9, "outside": "clip"}, [9]),
        (["1e999999999"], {"type": "integer", "min": 0, "max": 9, "outside": "clip"}, [9]),
        (pa.array([2**64 - 1], pa.uint64()), {"type": "integer", "min": 0, "max": 9, "outside": "clip"}, [9]),
        ([1e300, -5.0], {"type": "integer", "min": 0, "max": 9, "outside": "clip"}, [9, 0]),
        (["1e999", "-7"], {"type": "number", "min": 0, "max": 1, "bins": 2, "outside": "clip"}, [1, 0]),
        (["1999-01-01", "2030-01-01"], {**DAYS, "outside": "clip"}, [0, 30]),
        (["inf", "-Infinity"], {"type": "number", "min": 0, "max": 1, "bins": 2, "outside": "clip"}, [1, 0]),
        (["inf", "-INF"], {"type": "integer", "min": 0, "max": 9, "outside": "clip"}, [9, 0]),
        ([float("inf"), -float("inf")], {"type": "integer", "min": 0, "max": 9, "outside": "clip"}, [9, 0]),
        ([20200102, None], {**DAYS, "format": "%Y%m%d"}, [1, 31]),
        ([Decimal("2.00"), Decimal("5.5")], {"type": "categorical", "categories": ["2", "5.5"]}, [0, 1]),
        ([True], {"type": "categorical", "categories": ["TRUE", "FALSE"]}, [0]),
    ],
)
def test_text_and_typed_values_have_the_same_codes(values, keys, codes):
    assert codes_of(values, **keys) == codes


SECRET = "4711"


@pytest.mark.parametrize(
    ("values", "keys", "words"),
    [
        ([SECRET + "x"], {"type": "integer", "min": 0, "max": 9}, "not a whole number"),
        ([SECRET + ".5"], {"type": "integer", "min": 0, "max": 9999}, "not a whole number"),
        ([4711.5], {"type": "integer", "min": 0, "max": 9999}, "not a whole number"),
        (["0x1267"], {"type": "integer", "min": 0, "max": 9999}, "not a whole number"),
        (["4_711"], {"type": "integer", "min": 0, "max": 9999}, "not a whole number"),
        ([SECRET], {"type": "integer", "min": 0, "max": 9}, "outside min 0 and max 9"),
        ([4711], {"type": "integer", "min": 0, "max": 9}, "outside min 0 and max 9"),
        (["1e999999999"], {"type": "integer", "min": 0, "max": 9}, "outside min 0 and max 9"),
        ([""], {"type": "integer", "min": 0, "max": 9}, "not a whole number"),
        ([None], {"type": "integer", "min": 0, "max": 9}, "a value is missing"),
        ([None], {"type": "boolean"}, "a value is missing"),
        ([None], {"type": "categorical", "categories": ["a"]}, "a value is missing"),
        ([float("nan")], {"type": "number", "min": 0, "max": 9}, "a value is missing"),
        (["inf"], {"type": "number", "min": 0, "max": 9}, "outside min 0.0 and max 9.0"),
        (["nan"], {"type": "number", "min": 0, "max": 9}, "not a finite number"),
        ([float("inf")], {"type": "number", "min": 0, "max": 9}, "outside min 0.0 and max 9.0"),
        ([SECRET + "abc"], {"type": "number", "min": 0, "max": 9}, "not a finite number"),
        ([SECRET], {"type": "categorical", "categories": ["a"]}, "not among those declared"),
        ([SECRET], {"type": "boolean"}, "not among those declared"),
        ([SECRET], DAYS, "not a date in ISO form"),
        (["2020-02-31"], DAYS, "not a date in ISO form"),
        ([SECRET], {**DAYS, "format": "%d.%m.%Y"}, "not a date in the format '%d.%m.%Y'"),
        (["4711-01-01"], DAYS, "outside min 2020-01-01 and max 2020-01-31"),
        ([4711], DAYS, "Arrow type int64"),
        ([True], {"type": "integer", "min": 0, "max": 9}, "Arrow type bool"),
        ([[4711]], {"type": "categorical", "categories": ["a"]}, "Arrow type list"),
        ([b"4711"], {"type": "categorical", "categories": ["a"]}, "Arrow type binary"),
    ],
)
def test_a_refusal_names_the_column_and_no_value(values, keys, words):
    message = refusal(values, **keys)
    assert message.startswith("column 'x': ")
    assert words in message
    assert SECRET not in message


def test_the_columns_of_the_table_must_be_those_of_the_schema():
    schema = Schema.parse(
        {
            "name": "t",
            "unit": {"column": "person"},
            "columns": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}],
        }
    )
    codec, truth = SchemaCodec(schema), pa.array([True])
    swapped = codec.encode(pa.table({"b": pa.array([False]), "person": pa.array([7]), "a": truth}))
    assert [column.tolist() for column in swapped.columns] == [[1], [0]]
    with pytest.raises(DataError, match="lacks the columns b;"):
        codec.encode(pa.table({"a": truth}))
    with pytest.raises(DataError, match="has the columns c, d, which the schema does not declare"):
        codec.encode(pa.table({"a": truth, "b": truth, "c": truth, "d": truth}))
    with pytest.raises(DataError, match="several columns named a;"):
        codec.encode(pa.table([truth, truth, truth], names=["a", "b", "a"]))


def test_missing_has_the_last_code():
    codec = codec_of(type="categorical", categories=["a", "b"], other="c", nullable=True)
    assert codec.domain["x"] == 4
    assert codec.encode(pa.table({"x": ["", "zzz", "a"]}))["x"].tolist() == [3, 2, 0]
