"""Tables: files and frames in and out, without loss, and without a private value in a message or a type."""

import gzip
import os
from datetime import date, datetime

import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import tables
from sfumato.data.records import Records
from sfumato.data.schema import Schema
from sfumato.encode.codec import SchemaCodec
from sfumato.errors import DataError

COLUMNS = [
    {"name": "sex", "type": "categorical", "categories": ["f", "m"], "nullable": True, "null_values": ["?", ""]},
    {"name": "smokes", "type": "boolean", "true_values": ["yes"], "false_values": ["no"]},
    {"name": "age", "type": "integer", "min": 0, "max": 120, "nullable": True},
    {"name": "weight", "type": "number", "min": -2, "max": 250, "decimals": 2},
    {"name": "height", "type": "number", "min": 0, "max": 2.5},
    {"name": "born", "type": "date", "min": "1950-01-01", "max": "2024-12-31", "format": "%d.%m.%Y"},
    {"name": "seen", "type": "datetime", "min": "2024-01-01", "max": "2024-12-31", "granularity": "minute"},
]
SCHEMA = Schema.parse({"name": "visits", "columns": COLUMNS})


def random_table(schema=SCHEMA, rows=200, seed=0):
    codec, rng = SchemaCodec(schema), np.random.default_rng(seed)
    records = Records(codec.domain, [rng.integers(0, size, rows) for size in codec.domain.shape])
    return codec.decode(records, rng)


def same_codes(first, second, schema=SCHEMA):
    codec = SchemaCodec(schema)
    pairs = zip(codec.encode(first).columns, codec.encode(second).columns, strict=True)
    return all(a.tolist() == b.tolist() for a, b in pairs)


def read_refusal(source):
    with pytest.raises(DataError) as caught:
        tables.read(source)
    return str(caught.value)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "tsv.gz", "parquet"])
def test_what_is_written_is_read_back_with_the_same_codes(tmp_path, ending):
    table = random_table()
    path = tmp_path / f"table.{ending}"
    tables.write(table, path, SCHEMA)
    back = tables.read(path)
    assert back.column_names == list(SCHEMA.names)
    assert same_codes(table, back)
    assert os.listdir(tmp_path) == [path.name]


def test_csv_has_the_texts_of_the_schema(tmp_path):
    table = pa.table(
        {
            "sex": pa.array(["f", None]),
            "smokes": pa.array([True, False]),
            "age": pa.array([7, None]),
            "weight": pa.array([-0.5, 70.1]),
            "height": pa.array([0.1, 2.0]),
            "born": pa.array([date(1999, 1, 2), date(2000, 12, 31)]),
            "seen": pa.array([datetime(2024, 5, 6, 7, 8), datetime(2024, 1, 1)], pa.timestamp("s")),
        }
    )
    tables.write(table, tmp_path / "t.csv", SCHEMA)
    assert (tmp_path / "t.csv").read_text().split("\n") == [
        "sex,smokes,age,weight,height,born,seen",
        "f,yes,7,-0.50,0.1,02.01.1999,2024-05-06 07:08:00",
        "?,no,,70.10,2,31.12.2000,2024-01-01 00:00:00",
        "",
    ]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=5).filter(lambda text: "\0" not in text), min_size=1, unique=True), st.booleans())
def test_any_text_survives_csv(tmp_path_factory, labels, two_columns):
    columns = [{"name": 'a,"b"', "type": "categorical", "categories": labels}]
    columns += [{"name": "b", "type": "boolean"}] if two_columns else []
    schema = Schema.parse({"name": "t", "columns": columns})
    table = pa.table({'a,"b"': labels, **({"b": [True] * len(labels)} if two_columns else {})})
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    tables.write(table, path, schema)
    assert tables.read(path)['a,"b"'].to_pylist() == labels


def test_csv_is_read_as_text_and_nothing_is_missing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes('\ufeffid,x\n007,NA\n1,""\n2,null\n'.encode())
    assert tables.read(path).to_pydict() == {"id": ["007", "1", "2"], "x": ["NA", "", "null"]}


def test_a_table_without_rows_is_a_table(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n")
    table = tables.read(tmp_path / "t.csv")
    assert (table.num_rows, table.column_names) == (0, ["a", "b"])
    tables.write(random_table(rows=0), tmp_path / "u.csv", SCHEMA)
    assert tables.read(tmp_path / "u.csv").num_rows == 0


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"\n\n", "is empty"),
        ("t.csv", b"a,b\n4711\n", "more or fewer fields than its header"),
        ("t.csv", b"a,b\n1,2\n4711,2,3\n", "more or fewer fields than its header"),
        ("t.csv", b"a,b\n4711,\xff\n", "is not UTF-8"),
        ("t.csv", b"a,\xff\n4711,1\n", "is not UTF-8"),
        ("t.csv", b"a,a\n4711,1\n", "several columns named a"),
        ("t.csv", b"a,\n4711,1\n", "a column without a name"),
        ("t.csv.gz", b"a,b\n4711,1\n", "is damaged or not of the format that its ending says"),
        ("t.csv.gz", gzip.compress(b"a,b\n4711,1\n" * 99, mtime=0)[:-12], "is damaged or not of the format"),
        ("t.parquet", b"a,b\n4711,1\n", "is damaged or not of the format that its ending says"),
        ("t.xlsx", b"4711", "has no known ending; give one of .csv, .csv.gz"),
        ("t.csv", None, "does not exist"),
    ],
)
def test_a_bad_file_is_refused_without_quoting_it(tmp_path, file, content, words):
    if content is not None:
        (tmp_path / file).write_bytes(content)
    message = read_refusal(tmp_path / file)
    assert words in message
    assert "4711" not in message.replace(str(tmp_path), "")


def test_a_folder_is_refused(tmp_path):
    (tmp_path / "t.csv").mkdir()
    assert "is a folder" in read_refusal(tmp_path / "t.csv")
    with pytest.raises(DataError, match="is a folder"):
        tables.write(random_table(), tmp_path / "t.csv", SCHEMA)


def test_other_objects_are_refused():
    assert "a table was given as list; give a path" in read_refusal([1, 2])
    assert "LazyFrame" in read_refusal(polars.LazyFrame({"a": [1]}))


def test_frames_with_bad_columns_are_refused_without_quoting_them():
    assert "names that are not text" in read_refusal(pandas.DataFrame({1: [2]}))
    assert "several columns named a" in read_refusal(pandas.DataFrame([[1, 2]], columns=["a", "a"]))
    message = read_refusal(pandas.DataFrame({"a": ["4711", 4711]}))
    assert "column 'a' mixes values" in message
    assert "4711" not in message


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    with pytest.raises(Exception, match="not in the schema"):
        tables.write(pa.table({"stranger": [1]}), path, SCHEMA)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["t.csv"]
    with pytest.raises(DataError, match="cannot be written"):
        tables.write(random_table(), tmp_path / "missing" / "t.csv", SCHEMA)
    with pytest.raises(DataError, match="has no known ending"):
        tables.write(random_table(), tmp_path / "t.xml", SCHEMA)


def test_equal_tables_give_equal_files(tmp_path):
    for name in ("a.csv.gz", "b.csv.gz"):
        tables.write(random_table(), tmp_path / name, SCHEMA)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_kinds():
    arrow = pa.table({"a": [1]})
    kinds = [tables.kind_of(x) for x in ("t.csv", pandas.DataFrame(), polars.DataFrame(), arrow, arrow.to_batches()[0])]
    assert kinds == ["file", "pandas", "polars", "arrow", "arrow"]


def schema_of(**keys):
    return Schema.parse({"name": "t", "columns": [{"name": "x", **keys}]})


INTEGER = {"type": "integer", "min": 1, "max": 2}
LABELS = {"type": "categorical", "categories": ["1", "2", "3"]}
DAY = {"type": "date", "min": "2020-01-01", "max": "2020-01-09"}
MOMENT = {"type": "datetime", "min": "2020-01-01", "max": "2020-01-09"}
BOOLEAN = {"type": "boolean"}
DAYS = ["2020-01-01", "2020-01-02"]


@pytest.mark.parametrize(
    ("series", "keys"),
    [
        (pandas.Series([1, 2], dtype="int32"), INTEGER),
        (pandas.Series([1, 2], dtype="uint8"), INTEGER),
        (pandas.Series([1, 2], dtype="float32"), INTEGER),
        (pandas.Series([1, None], dtype="Int16"), {**INTEGER, "nullable": True}),
        (pandas.Series([1, None], dtype="int64[pyarrow]"), {**INTEGER, "nullable": True}),
        (pandas.Series(["1", "2"], dtype=object), INTEGER),
        (pandas.Series(["1", "2"], dtype="str"), INTEGER),
        (pandas.Series(["1", None], dtype="string[python]"), {**INTEGER, "nullable": True}),
        (pandas.Series(["1", None], dtype="string[pyarrow]"), {**INTEGER, "nullable": True}),
        (pandas.Series([1, 2]), LABELS),
        (pandas.Series([1, 2], dtype="category"), LABELS),
        (pandas.Series(["1", None], dtype="category"), {**LABELS, "nullable": True}),
        (pandas.Series(pandas.Categorical(["1"], ["1", "2", "3"], ordered=True)), {**LABELS, "ordered": True}),
        (pandas.Series([True, False]), BOOLEAN),
        (pandas.Series([True, None], dtype="boolean"), {**BOOLEAN, "nullable": True}),
        (pandas.Series([1.5, 2]), {"type": "number", "min": 1, "max": 2}),
        (pandas.Series(DAYS).astype("datetime64[ns]"), DAY),
        (pandas.Series(DAYS).astype("datetime64[s]"), MOMENT),
        (pandas.Series(DAYS).astype("datetime64[ns]").dt.tz_localize("UTC"), MOMENT),
        (pandas.Series([date(2020, 1, 1), None]), {**DAY, "nullable": True}),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
def test_pandas_types_stay(series, keys):
    frame, schema = pandas.DataFrame({"x": series}), schema_of(**keys)
    types = tables.types_of(frame, schema)
    back = tables.convert(SchemaCodec(schema).decode(*coded(frame, schema)), "pandas", types, schema)
    if isinstance(series.dtype, pandas.CategoricalDtype):
        assert back["x"].cat.categories.dtype == series.cat.categories.dtype
        assert list(map(str, back["x"].cat.categories)) == ["1", "2", "3"]
        assert back["x"].cat.ordered == series.cat.ordered
        back["x"] = back["x"].cat.set_categories(series.cat.categories)
    if keys["type"] == "number":
        assert back["x"].dtype == series.dtype
    else:
        pandas.testing.assert_frame_equal(back, frame)


def coded(frame, schema):
    return SchemaCodec(schema).encode(tables.read(frame)), np.random.default_rng(0)


@pytest.mark.parametrize(
    ("series", "keys"),
    [
        (polars.Series([1, None], dtype=polars.Int8), {**INTEGER, "nullable": True}),
        (polars.Series(["1", None]), {**INTEGER, "nullable": True}),
        (polars.Series(["1", "2"], dtype=polars.Categorical), LABELS),
        (polars.Series(["1", "2"], dtype=polars.Enum(["1", "2", "3"])), LABELS),
        (polars.Series(["1", "2"], dtype=polars.Categorical), INTEGER),
        (polars.Series([1, 2], dtype=polars.UInt64), LABELS),
        (polars.Series([True, None]), {**BOOLEAN, "nullable": True}),
        (polars.Series([date(2020, 1, 2)]), DAY),
        (polars.Series([datetime(2020, 1, 2)], dtype=polars.Datetime("ms")), MOMENT),
        (polars.Series([datetime(2020, 1, 2)], dtype=polars.Datetime("us", "Europe/Paris")), MOMENT),
        (polars.Series([1, 2], dtype=polars.Decimal(9, 2)), INTEGER),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
def test_polars_types_stay(series, keys):
    frame, schema = polars.DataFrame({"x": series}), schema_of(**keys)
    types = tables.types_of(frame, schema)
    back = tables.convert(SchemaCodec(schema).decode(*coded(frame, schema)), "polars", types, schema)
    assert back.schema == frame.schema
    assert back["x"].to_list() == frame["x"].to_list()


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        (pa.int8(), INTEGER),
        (pa.large_string(), INTEGER),
        (pa.string_view(), INTEGER),
        (pa.decimal128(9, 2), INTEGER),
        (pa.dictionary(pa.int16(), pa.string()), LABELS),
        (pa.dictionary(pa.int8(), pa.int64()), LABELS),
    ],
    ids=str,
)
def test_arrow_types_stay(kind, keys):
    values = pa.array(["1", "2"]) if "string" in str(kind) or "decimal" in str(kind) else pa.array([1, 2])
    table = pa.table(
        {"x": values.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else values.cast(kind)}
    )
    schema = schema_of(**keys)
    types = tables.types_of(table, schema)
    assert types == {"x": str(kind)}
    assert tables.convert(SchemaCodec(schema).decode(*coded(table, schema)), "arrow", types, schema) == table


def test_a_time_zone_stays_and_the_moment_with_it():
    moment = pa.array([datetime(2020, 1, 2)], pa.timestamp("us", "Asia/Tokyo"))
    table, schema = pa.table({"x": moment}), schema_of(**MOMENT)
    back = tables.convert(
        SchemaCodec(schema).decode(*coded(table, schema)), "arrow", tables.types_of(table, schema), schema
    )
    assert back == table


def test_column_order_is_that_of_the_input_and_the_person_is_gone(tmp_path):
    table = random_table()
    turned = table.select(list(reversed(table.column_names))).append_column("person", pa.array(range(200)))
    schema = Schema.parse({"name": "t", "unit": {"column": "person"}, "columns": COLUMNS})
    for source in (turned, turned.to_pandas(), polars.from_arrow(turned)):
        types = tables.types_of(source, schema)
        back = tables.convert(table, tables.kind_of(source), types, schema)
        names = list(back.columns if hasattr(back, "columns") and not isinstance(back, pa.Table) else back.column_names)
        assert names == list(reversed(SCHEMA.names))
    parquet.write_table(turned, tmp_path / "t.parquet")
    assert list(tables.types_of(tmp_path / "t.parquet", schema)) == list(reversed(SCHEMA.names))


def test_csv_files_have_no_types(tmp_path):
    tables.write(random_table(), tmp_path / "t.csv", SCHEMA)
    assert tables.types_of(tmp_path / "t.csv", SCHEMA) == {}
    assert tables.convert(random_table(), "file", {}, SCHEMA) == random_table()


@pytest.mark.parametrize(
    ("without", "with_one", "keys"),
    [
        ([1, 2], [1, None], {**INTEGER, "nullable": True}),
        ([1, 2], [1, 1.5], {"type": "number", "min": 1, "max": 2}),
        ([1, 2], [1, None], {**LABELS, "nullable": True}),
        ([True, False], [True, None], {**BOOLEAN, "nullable": True}),
        (["1", "2"], [None, None], {**LABELS, "nullable": True}),
    ],
)
def test_a_published_pandas_type_does_not_tell_whether_a_value_is_missing_or_broken(without, with_one, keys):
    schema = schema_of(**keys)
    frames = [pandas.DataFrame({"x": pandas.Series(x)}) for x in (without, with_one)]
    if isinstance(without[0], str):
        frames = [frame.astype(object) for frame in frames]
    first, second = (tables.types_of(frame, schema) for frame in frames)
    assert first == second
    table = random_table(schema, rows=50)
    no_gap = table.filter(table["x"].is_valid())
    dtypes = [tables.convert(t, "pandas", first, schema).dtypes["x"] for t in (table, no_gap)]
    assert dtypes[0] == dtypes[1]


def test_an_all_missing_arrow_column_is_published_with_its_declared_type():
    schema = schema_of(**INTEGER, nullable=True)
    assert tables.types_of(pa.table({"x": pa.nulls(3)}), schema) == {"x": "int64"}


def test_types_and_metadata_do_not_carry_categories_of_the_input():
    schema = schema_of(**LABELS, other="3")
    frames = [
        polars.DataFrame({"x": polars.Series(["1"], dtype=polars.Enum(["1", "4711"]))}),
        pandas.DataFrame({"x": pandas.Categorical(["1"], ["1", "4711"])}),
    ]
    for frame in frames:
        types = tables.types_of(frame, schema)
        assert "4711" not in str(types)
        assert all(field.metadata is None for field in tables.read(frame).schema)
        back = tables.convert(random_table(schema), tables.kind_of(frame), types, schema)
        assert "4711" not in str(back.schema if hasattr(back, "schema") else back["x"].cat.categories)


def test_a_type_too_narrow_for_the_schema_gives_way():
    schema = schema_of(type="integer", min=0, max=10**6, bins=1)
    table = pa.table({"x": pa.array([10**6])})
    assert tables.convert(table, "arrow", {"x": "int8"}, schema) == table
    assert tables.convert(table, "arrow", {"x": "a type of the future"}, schema) == table
