"""What happens to one row depends on that row alone, whatever kind of table it comes in.

Encoding a table must give what encoding each of its rows by itself gives. That implies that a row more, a row less or
another row changes nothing for the others. A one-row table is built as its library builds it, guessed types and all.
"""

import io
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import duckdb
import numpy as np
import openpyxl
import pandas
import polars
import pyarrow as pa
import pyarrow.dataset as dataset
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers_intake import records_of
from sfumato import tables
from sfumato.errors import DataError
from sfumato.intake.codec import SchemaCodec
from sfumato.intake.intake import Intake
from sfumato.schema.schema import Schema

# Types that may have been guessed are warned of; here they are the point.
pytestmark = pytest.mark.filterwarnings("ignore::sfumato.errors.IntakeWarning")

MISSING = {"nullable": True, "null_values": ["", "-1"]}
LABELS = {"type": "categorical", "categories": ["1", "2", "-3", "True", "x y", "été"]}
BOUNDS = {"min": 0, "max": 9}
DAYS = {"min": "2020-01-01", "max": "2020-12-31"}
COLUMNS = {
    "labels": LABELS | {"other": "?", "on_bad_value": "other"},
    "labels or missing": LABELS | MISSING | {"on_bad_value": "missing"},
    "truth": {"type": "boolean", "on_bad_value": "missing"} | MISSING,
    "zero and one": {
        "type": "boolean",
        "true_values": ["1", "x"],
        "false_values": ["0"],
        "on_bad_value": "missing",
        "nullable": True,
    },
    "integer": {"type": "integer", "on_bad_value": "missing"} | BOUNDS | MISSING,
    "integer, clipped": {"type": "integer", "on_bad_value": "clip"} | BOUNDS | MISSING,
    "number": {"type": "number", "on_bad_value": "missing"} | BOUNDS | MISSING,
    "number, clipped": {"type": "number", "on_bad_value": "missing", "outside": "clip"} | BOUNDS | MISSING,
    "special": {"type": "integer", "special": [10, 20200506], "bins": 2, "on_bad_value": "missing"} | BOUNDS | MISSING,
    "special, clipped": {"type": "number", "special": [-3, 1.5, 0], "on_bad_value": "clip"} | BOUNDS | MISSING,
    "few numbers": {"type": "integer", "min": 1, "max": 9, "values": [1, 2, 9], "on_bad_value": "clip"} | MISSING,
    "date": {"type": "date", "on_bad_value": "missing"} | DAYS | MISSING,
    "date with a format": {"type": "date", "format": "%Y%m%d", "on_bad_value": "clip"} | DAYS | MISSING,
    "datetime": {"type": "datetime", "granularity": "month", "on_bad_value": "clip"} | DAYS | MISSING,
}
TEXTS = [
    *("", " ", "1", "2", "-3", "x y", "True", "TRUE", "true", "-1", "-1.0", "x", "01", "1.0", "+1", "1e0", "1e999"),
    *("inf", "-Infinity", "nan", "NA", "0x1", "9007199254740993", "2020-05-06", "20200506", "2020-05-06T12:00+02:00"),
    *("2020-02-31", "9999-12-31T23:59-05:00", "0001-01-01T00:00+14:00", "2020-13-01", "été", "\ufffd", "\x00", "½"),
]
texts = st.sampled_from(TEXTS) | st.text(max_size=4)
integers = st.sampled_from([0, 1, 2, -3, 9, 10, -1, 20200506, 2**53, 2**53 + 1, -(2**53) - 1, 2**62])
floats = st.sampled_from([0.0, -0.0, 1.0, 2.0, 1.5, -3.0, 9.5, 2.0**53, 1e300, float("inf"), -float("inf"), 20200506.0])
decimals = st.sampled_from([Decimal(text) for text in ("1", "1.0", "2.00", "5.50", "0.5", "-0.0", "12345678901")])
days = st.sampled_from([date(2020, 5, 6), date(2019, 1, 1), date(1, 1, 1), date(9999, 12, 31)])
MOMENTS = [datetime(2020, 5, 6, 23, 59, 59, 999_999), datetime(2021, 1, 1), datetime(1700, 1, 1)]
moments = st.sampled_from(MOMENTS)
STRANGE = [
    *(b"1", 1j, (1,), {"a": 1}, time(1), timedelta(1), 10**30, -(10**5000), Decimal("sNaN")),
    *(Decimal("Infinity"), Decimal("1E+999999"), np.float32(0.5), np.int8(1), np.bool_(True)),
    *(np.datetime64("2020-05-06T01", "h"), pandas.Period("2020-05"), pandas.Interval(0, 1)),
    *(MOMENTS[0].replace(tzinfo=UTC), pandas.Timestamp("2020-05-06T00:00:00.000000001", tz="Asia/Tokyo")),
]
strange = st.sampled_from(STRANGE)
nothing = st.sampled_from([None, float("nan"), pandas.NA, pandas.NaT, Decimal("NaN"), np.datetime64("NaT", "s")])
anything = texts | integers | floats | decimals | days | moments | strange | nothing | st.booleans()

SCHEMA = Schema.parse({"name": "t", "columns": [{"name": name, **keys} for name, keys in COLUMNS.items()]})


def codes_of(source):
    """The codes of each row in all columns, for a table in which all columns hold the same."""
    records = SchemaCodec(SCHEMA).encode(tables.read(source, SCHEMA))
    return list(zip(*(column.tolist() for column in records.columns), strict=True))


def check(build, values):
    """The codes of a table are those of its rows."""
    assert codes_of(build(values)) == [row for value in values for row in codes_of(build([value]))]


def frame(values, dtype=None):
    return pandas.DataFrame(dict.fromkeys(COLUMNS, pandas.Series(values, dtype=dtype)))


PANDAS = {
    "guessed": (frame, anything),
    "guessed, numbers": (frame, integers | floats | nothing),
    "guessed, complex numbers": (frame, integers | floats | st.sampled_from([1j, float("nan")])),
    "guessed, truth values": (frame, st.booleans() | nothing),
    "object": (lambda values: frame(values, object), anything | st.just("\ud800")),
    "nullable": (lambda values: frame(values).convert_dtypes(), anything),
    "nullable, numbers": (lambda values: frame(values).convert_dtypes(), integers | nothing),
    # Objects that Python takes for equal, such as 1 and True, are one category: pandas cannot tell them apart.
    "category": (lambda values: frame(values, "category"), texts | integers | nothing),
    "category of days": (lambda values: frame(values, "category"), days | nothing),
}


@pytest.mark.parametrize("kind", PANDAS)
@settings(max_examples=25)
@given(data=st.data())
def test_pandas(kind, data):
    build, values = PANDAS[kind]
    check(build, data.draw(st.lists(values, max_size=4)))


TYPED = {
    "text": (texts, pa.string()),
    "integer": (integers, pa.int64()),
    "float": (floats | st.just(float("nan")), pa.float64()),
    "half": (st.sampled_from([np.float16(number) for number in (0.5, 1, 2)]), pa.float16()),
    "decimal": (decimals, pa.decimal128(30, 5)),
    "truth": (st.booleans(), pa.bool_()),
    "day": (days, pa.date32()),
    "day in milliseconds": (days, pa.date64()),
    "moment": (moments, pa.timestamp("us")),
    "moment in a zone": (moments, pa.timestamp("us", "Asia/Tokyo")),
    "list": (st.just([1]), pa.list_(pa.int64())),
    "bytes": (st.just(b"1"), pa.binary()),
    "duration": (st.just(timedelta(1)), pa.duration("s")),
}


@pytest.mark.parametrize("kind", TYPED)
@settings(max_examples=20)
@given(data=st.data())
def test_arrow_and_parquet_and_polars(tmp_path_factory, kind, data):
    some, arrow_type = TYPED[kind]
    folder = tmp_path_factory.mktemp("table")

    def arrow(values):
        return pa.table(dict.fromkeys(COLUMNS, pa.array(values, arrow_type)))

    def file(values):
        parquet.write_table(arrow(values), folder / "t.parquet")
        return folder / "t.parquet"

    def dictionary(values):
        return pa.table(dict.fromkeys(COLUMNS, pa.array(values, arrow_type).dictionary_encode()))

    builds = [arrow, file, lambda values: polars.DataFrame(arrow(values))]
    builds += [dictionary] if kind not in ("list", "half") else []  # Arrow has none of these
    values = data.draw(st.lists(some | st.none(), max_size=4))
    check(data.draw(st.sampled_from(builds)), values)


def test_a_value_means_the_same_in_every_type():
    """So a reader that guesses types from values changes nothing that we can see."""
    values = ["0", "1", "2", "-3", "9", "10", "-1", "20200506", None]
    wanted = codes_of(pa.table(dict.fromkeys(COLUMNS, values)))
    for kind in (pa.int64(), pa.float64(), pa.decimal128(30, 5), pa.dictionary(pa.int8(), pa.string())):
        assert codes_of(pa.table(dict.fromkeys(COLUMNS, pa.array(values).cast(kind)))) == wanted
    numbers = [value and int(value) for value in values]
    for dtype in (None, object, "Int64", "category", "string", "int64[pyarrow]"):
        assert codes_of(frame(numbers, dtype)) == wanted


LINES = [
    *(
        b"1,2",
        b"x y,-3",
        b"1",
        b"1,2,3",
        b"",
        b",",
        b'"1","2"',
        b'"1,2',
        b'1","2',
        b'"1"2,2',
        b'"x""y",1',
        b'"',
        b'1,"',
    ),
    *(b"\xff,1", b"1,\xff\xfe", b"\x00,1", "été,été".encode(), b"1,2\r", b"a\rb,1", b' "1",2', b"'1','2'"),
]


@settings(max_examples=150)
@given(st.lists(st.sampled_from(LINES) | st.binary(max_size=6).map(lambda line: line.replace(b"\n", b"")), max_size=6))
def test_lines_of_a_text_file(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("lines")
    schema = Schema.parse(
        {
            "name": "t",
            "on_bad_value": "missing",
            "columns": [
                {"name": "a", **LABELS, "other": "?", "nullable": True},
                {"name": "b", "type": "integer", **BOUNDS, "nullable": True},
            ],
        }
    )

    def rows(lines):
        path = folder / "t.csv"
        path.write_bytes(b"a,b\n" + b"\n".join(lines))
        records = SchemaCodec(schema).encode(tables.read(path, schema))
        return list(zip(*(column.tolist() for column in records.columns), strict=True))

    assert rows(lines) == [row for line in lines for row in rows([line])]


def test_lines_are_the_same_in_blocks_of_any_size(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf\r\n\r\na,b\r\n" + b'1,2\r\n"x y",3\r\n4\r\n"5,6\r\n' * 20 + b"7,8")
    schema = Schema.parse(
        {"name": "t", "on_bad_value": "missing", "columns": [{**COLUMNS["integer"], "name": name} for name in "ab"]}
    )
    whole = tables.read(path, schema)
    assert whole.num_rows == 41
    for size in (1, 2, 3, 7, 64):
        monkeypatch.setattr("sfumato.tables.lines._BLOCK", size)
        assert tables.read(path, schema).to_pydict() == whole.to_pydict()


@settings(max_examples=30)
@given(values=st.lists(st.sampled_from(["1", "2", "-3", "x y", "1.5", "", "2020-05-06", "word"]), max_size=4))
def test_a_reader_that_guesses_types_changes_no_plain_value(values):
    def guessed(values):
        read = pandas.read_csv(io.StringIO("x,y\n" + "".join(f"{value},0\n" for value in values)))
        return pandas.DataFrame(dict.fromkeys(COLUMNS, read["x"]))

    check(guessed, values)


PERSONS = [
    *[(value, "one") for value in ("1", 1, 1.0, Decimal("1.0"), np.int8(1))],
    *[("01", "zero-one"), ("1.0", "text"), ("p", "p"), ("P", "P"), (" p", "blank p"), (2, "two"), (2.0, "two")],
    *[(value, None) for value in (None, float("nan"), "", " ", "\t\u00a0", pandas.NA, True, b"1", date(2020, 1, 1))],
]


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(PERSONS), max_size=12),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from(["first", "latest", "random"]),
)
def test_persons_do_not_touch_each_other(rows, most, guessed, keep):
    """Of each person some rows stay, whoever else is there; a row of nobody is left out."""
    unit = {"column": "id", "rows": most} | ({"keep": keep, "order_by": "place"} if keep != "random" else {})
    schema = Schema.parse(
        {
            "name": "t",
            "unit": unit,
            "on_bad_value": "missing",
            "columns": [{"name": "place", "type": "integer", "min": 0, "max": 11, "nullable": True}],
        }
    )
    ids = pandas.Series([value for value, _ in rows], dtype=None if guessed else object)
    found = records_of(pandas.DataFrame({"id": ids, "place": range(len(rows))}), schema)["place"].tolist()
    assert found == sorted(found)
    for person in {person for _, person in rows}:
        own = [place for place, (_, other) in enumerate(rows) if other == person]
        stay = [place for place in found if place in own]
        if person is None:
            assert stay == []
        elif keep == "random":
            assert len(stay) == min(most, len(own))
        else:
            assert stay == (own[:most] if keep == "first" else own[-most:])


RULED = Schema.parse(
    {
        "name": "t",
        "on_bad_value": "missing",
        "unit": {"column": "id", "rows": 1, "keep": "latest", "order_by": "second"},
        "columns": [
            {"name": "first", "type": "integer", "min": 0, "max": 9, "nullable": True},
            {"name": "second", "type": "integer", "min": 0, "max": 9, "nullable": True},
            {"name": "half", "type": "boolean", "nullable": True, "true_values": ["y"], "false_values": ["n"]},
            {"name": "part", "type": "integer", "min": 0, "max": 39, "bins": 4, "nullable": True},
            {"name": "total", "type": "integer", "min": 0, "max": 80, "bins": 5, "nullable": True,
             "written": {"decimal": ",", "thousands": "."}},
        ],
        "together": [{"name": "both", "columns": ["first", "second"]}],
        "missing_patterns": [{"name": "gaps", "columns": ["first", "second"]}],
        "rules": [
            {"if": {"half": ["y"]}, "then": {"first": {"min": 3}}},
            {"if": {"first": {"max": 1}}, "then": {"part": {"max": 20}}},
            {"less_or_equal": ["part", "total"]},
        ],
    }
)  # fmt: skip
ruled_rows = st.fixed_dictionaries(
    {
        "first": st.sampled_from([None, 0, 1, 2, 5, 9]),
        "second": st.sampled_from([None, 0, 3, 9]),
        "half": st.sampled_from([None, "y", "n", "x"]),
        "part": st.sampled_from([None, 0, 15, 25, 39, 40]),
        "total": st.sampled_from([None, "0", "20", "70", "8.0", "1.000"]),
    }
)


def attributes_of(rows, schema=RULED):
    """For each row its codes of attributes, or None if it is left out, with what orders it."""
    table = pa.table({name: [row[name] for row in rows] for name in rows[0]}) if rows else None
    if table is None:
        return []
    found = Intake(schema).encode(tables.read(table, schema))
    return list(zip(*(column.tolist() for column in found.records.columns), found.order.tolist(), strict=True))


@settings(max_examples=60)
@given(st.lists(ruled_rows, max_size=6))
def test_rows_that_break_rules_change_nothing_for_the_others(rows):
    rows = [{"id": str(place), **row} for place, row in enumerate(rows)]
    assert attributes_of(rows) == [row for one in rows for row in attributes_of([one])]


@settings(max_examples=100)
@given(
    st.lists(
        st.sampled_from([b"1,2", b'x,"3"', b'"a\nb",1', b'"2",""', b'1,", "', b'"a,""b",2', b'"\n",","']),
        max_size=6,
    ),
    st.integers(0, 6),
    st.sampled_from([b'1,"5', b'1"', b'"1,2', b'1,"2"3', b'1,2"', b'"', b'"",",', b'1,"2""']),
)
def test_a_quote_too_many_hides_nobody_where_rows_may_have_line_breaks(tmp_path_factory, lines, place, bad):
    """Rows that are rows by themselves are read as they are, and one line among them that is none is refused."""
    folder = tmp_path_factory.mktemp("quoted")
    keys = {"type": "categorical", "categories": ["1", "2"], "other": "?"}
    schema = Schema.parse(
        {"name": "t", "read": {"line_breaks": True}, "columns": [{"name": name, **keys} for name in "ab"]}
    )

    def rows(lines):
        path = folder / "t.csv"
        path.write_bytes(b"a,b\n" + b"\n".join(lines))
        try:
            records = SchemaCodec(schema).encode(tables.read(path, schema))
        except DataError:
            return None
        return list(zip(*(column.tolist() for column in records.columns), strict=True))

    assert rows(lines) == [row for line in lines for row in rows([line])]
    assert rows([bad]) is None
    assert rows([*lines[:place], bad, *lines[place:]]) is None


def test_every_other_way_in_gives_the_same_codes(tmp_path):
    """Excel, feather, data sets, lazy frames and DuckDB: each by itself as in one table."""
    values = ["1", None, "x y", "-3", "True"]
    wanted = codes_of(pa.table(dict.fromkeys(COLUMNS, pa.array(values))))

    def excel(values):
        book = openpyxl.Workbook()
        book.active.append(list(COLUMNS))
        for value in values:
            book.active.append([value] * len(COLUMNS))
        book.save(tmp_path / "t.xlsx")
        return tmp_path / "t.xlsx"

    def arrow(values):
        return pa.table(dict.fromkeys(COLUMNS, pa.array(values, pa.string())))

    def feathered(values):
        feather.write_feather(arrow(values), tmp_path / "t.feather")
        return tmp_path / "t.feather"

    def split(values):
        for file in tmp_path.glob("p*.parquet"):
            file.unlink()
        for place, value in enumerate(values):
            parquet.write_table(arrow([value]), tmp_path / f"p{place}.parquet")
        return dataset.dataset(sorted(tmp_path.glob("p*.parquet")))

    def relation(values):
        shown = arrow(values)
        return duckdb.from_arrow(shown)

    for build in (feathered, split, relation, lambda values: polars.DataFrame(arrow(values)).lazy()):
        assert codes_of(build(values)) == wanted, build
        check(build, values)
    check(excel, [1, "x", 2.5, True, date(2020, 5, 6), datetime(2020, 5, 6, 1), time(1), "1", "=1+1"])
