"""Tables: files and frames in and out, without loss, and without a private value in a message or a type."""

import gzip
import os
import warnings
from datetime import date, datetime

import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import tables
from sfumato.data.records import Records
from sfumato.errors import DataError, FileError, IntakeWarning
from sfumato.intake.codec import SchemaCodec
from sfumato.schema.schema import Schema
from sfumato.tables.persons import identifiers
from sfumato.tables.texts import either

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


def read_refusal(source, schema=None):
    with pytest.raises(DataError) as caught:
        tables.read(source, schema)
    assert caught.value.__context__ is None
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
    assert tables.read(path, schema)['a,"b"'].to_pylist() == labels


def test_csv_is_read_as_text_and_nothing_is_missing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes('\ufeffid,x\n007,NA\n1,""\n2,null\n'.encode())
    for schema in (None, SCHEMA):
        assert tables.read(path, schema).to_pydict() == {"id": ["007", "1", "2"], "x": ["NA", "", "null"]}


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
        ("t.sas7bdat", b"4711", "has no known ending; give one of .csv, .csv.gz"),
        ("t.csv", None, "does not exist"),
    ],
)
def test_a_bad_file_is_refused_without_quoting_it(tmp_path, file, content, words):
    if content is not None:
        (tmp_path / file).write_bytes(content)
    for schema in (None, SCHEMA):
        message = read_refusal(tmp_path / file, schema)
        assert words in message
        assert "4711" not in message.replace(str(tmp_path), "")


def test_a_folder_is_refused(tmp_path):
    (tmp_path / "t.csv").mkdir()
    assert "holds no file that ends in" in read_refusal(tmp_path / "t.csv")
    with pytest.raises(FileError, match="is a folder"):
        tables.write(random_table(), tmp_path / "t.csv", SCHEMA)


def test_other_objects_are_refused():
    assert "a table was given as list; give a path" in read_refusal([1, 2])
    assert "a table was given as dict" in read_refusal({"a": [1]})


def test_frames_with_bad_columns_are_refused_without_quoting_them():
    assert "names that are not text" in read_refusal(pandas.DataFrame({1: [2]}))
    assert "several columns named a" in read_refusal(pandas.DataFrame([[1, 2]], columns=["a", "a"]))
    message = read_refusal(polars.DataFrame({"a": polars.Series([4711], dtype=polars.Int128)}))
    assert "a type that Arrow does not know" in message
    assert "4711" not in message


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    with pytest.raises(Exception, match="not in the schema"):
        tables.write(pa.table({"stranger": [1]}), path, SCHEMA)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["t.csv"]
    with pytest.raises(FileError, match="could not be written"):
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
NUMBER = {"type": "number", "min": 0, "max": 1, "decimals": 1}
DAY = {"type": "date", "min": "2020-01-01", "max": "2020-01-09"}
MOMENT = {"type": "datetime", "min": "2020-01-01", "max": "2020-01-09"}
BOOLEAN = {"type": "boolean", "true_values": ["yes"], "false_values": ["no"]}
NULLABLE = {"nullable": True}
US = polars.Datetime("us")


@pytest.mark.parametrize(
    ("keys", "arrow", "in_pandas", "in_polars"),
    [
        (LABELS, pa.string(), "str", polars.String),
        (LABELS | {"dtype": "int8"}, pa.int8(), "int8", polars.Int8),
        (LABELS | {"dtype": "int16"} | NULLABLE, pa.int16(), "Int16", polars.Int16),
        (LABELS | {"dtype": "category"}, None, "category", polars.Enum(["1", "2", "3"])),
        (LABELS | {"dtype": "category"} | NULLABLE, None, "category", polars.Enum(["1", "2", "3"])),
        (BOOLEAN, pa.bool_(), "bool", polars.Boolean),
        (BOOLEAN | NULLABLE, pa.bool_(), "boolean", polars.Boolean),
        (BOOLEAN | {"dtype": "string"}, pa.string(), "str", polars.String),
        (
            {"type": "boolean", "true_values": ["1"], "false_values": ["0"], "dtype": "int8"},
            *(pa.int8(), "int8", polars.Int8),
        ),
        (INTEGER, pa.int64(), "int64", polars.Int64),
        (INTEGER | NULLABLE, pa.int64(), "Int64", polars.Int64),
        (INTEGER | {"dtype": "int32"}, pa.int32(), "int32", polars.Int32),
        (INTEGER | {"dtype": "float64"} | NULLABLE, pa.float64(), "float64", polars.Float64),
        (INTEGER | {"dtype": "string"}, pa.string(), "str", polars.String),
        (NUMBER, pa.float64(), "float64", polars.Float64),
        (NUMBER | {"dtype": "decimal(5,2)"}, pa.decimal128(5, 2), "object", polars.Decimal(5, 2)),
        (NUMBER | {"dtype": "string"}, pa.string(), "str", polars.String),
        (DAY, pa.date32(), "datetime64[ms]", polars.Date),
        (DAY | {"dtype": "timestamp[us]"}, pa.timestamp("us"), "datetime64[us]", US),
        (DAY | {"dtype": "string", "format": "%d.%m.%Y"}, pa.string(), "str", polars.String),
        (MOMENT, pa.timestamp("s"), "datetime64[s]", polars.Datetime("ms")),
        (MOMENT | {"dtype": "timestamp[ns]"} | NULLABLE, pa.timestamp("ns"), "datetime64[ns]", polars.Datetime("ns")),
    ],
    ids=lambda value: f"{value['type']} {value.get('dtype', '')}" if isinstance(value, dict) else "",
)
def test_types_follow_from_the_schema(tmp_path, keys, arrow, in_pandas, in_polars):
    schema = schema_of(**keys)
    decoded = random_table(schema)
    if keys.get("nullable"):
        assert decoded["x"].null_count
    frames = {kind: tables.convert(decoded, kind, schema) for kind in ("arrow", "pandas", "polars", "file")}
    arrow = arrow or pa.dictionary(pa.int32(), pa.string())
    assert frames["arrow"].schema.types == [arrow]
    assert frames["file"].equals(frames["arrow"])
    assert str(frames["pandas"]["x"].dtype) == in_pandas
    assert frames["polars"].schema["x"] == in_polars
    for frame in frames.values():  # with the same values, missing ones too
        assert same_codes(decoded, tables.read(frame), schema)
    tables.write(decoded, tmp_path / "t.parquet", schema)
    assert same_codes(decoded, tables.read(tmp_path / "t.parquet", schema), schema)
    if arrow != pa.timestamp("s"):  # Parquet has no seconds
        assert parquet.read_schema(tmp_path / "t.parquet").types == [arrow]
    # A sample without a missing value has the same types.
    full = decoded.filter(decoded["x"].is_valid())
    for kind, frame in frames.items():
        again = tables.convert(full, kind, schema)
        assert again["x"].dtype == frame["x"].dtype if hasattr(frame["x"], "dtype") else again.schema == frame.schema


def test_categories_of_a_frame_are_those_of_the_schema():
    schema = schema_of(**LABELS, dtype="category", ordered=True)
    one = pa.table({"x": ["2"]})
    categories = tables.convert(one, "pandas", schema)["x"].cat
    assert categories.categories.tolist() == ["1", "2", "3"]
    assert categories.ordered
    assert tables.convert(one, "arrow", schema)["x"].chunk(0).dictionary.to_pylist() == ["1", "2", "3"]


def test_columns_come_in_the_order_of_the_schema_and_the_person_is_gone():
    table = random_table()
    turned = table.select(list(reversed(table.column_names))).append_column("person", pa.array(range(200)))
    schema = Schema.parse({"name": "t", "unit": {"column": "person"}, "columns": COLUMNS})
    codes = SchemaCodec(schema).encode(turned)
    back = SchemaCodec(schema).decode(codes, np.random.default_rng(0))
    assert tables.convert(back, "arrow", schema).column_names == list(SCHEMA.names)


def test_metadata_does_not_carry_categories_of_the_input():
    frames = [
        polars.DataFrame({"x": polars.Series(["1"], dtype=polars.Enum(["1", "4711"]))}),
        pandas.DataFrame({"x": pandas.Categorical(["1"], ["1", "4711"])}),
    ]
    for frame in frames:
        assert all(field.metadata is None for field in tables.read(frame).schema)


@pytest.mark.parametrize(
    ("keys", "doubtful"),
    [
        ({"x": pandas.Series([1, 2])}, True),
        ({"x": pandas.Series([1, None])}, True),
        ({"x": pandas.Series([1, 2], dtype="Int64")}, True),
        ({"x": pandas.Series([1, 2], dtype="category")}, True),
        ({"x": pandas.Series([True, False])}, True),
        ({"x": pandas.Series([1, 2], dtype=object)}, False),
        ({"x": pandas.Series(["1", "2"])}, False),
        ({"x": pandas.Series(["1", "2"], dtype="category")}, False),
    ],
)
def test_labels_that_may_have_been_guessed_to_be_numbers_are_warned_of(keys, doubtful):
    frame, schema = pandas.DataFrame(keys), schema_of(**LABELS)
    for source in (frame, polars.from_pandas(frame) if frame["x"].dtype != object else frame):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tables.read(source, schema)
        assert [one.category for one in caught] == [IntakeWarning] * doubtful
        assert all("dtype=str" in str(one.message) for one in caught)


def test_no_warning_where_nothing_can_be_lost(tmp_path):
    whole = pandas.DataFrame({"x": [1, 2], "y": [True, False]})
    schema = Schema.parse(
        {"name": "t", "columns": [{"name": "x", **INTEGER}, {"name": "y", "type": "boolean"}]},
    )
    tables.read(whole, schema)
    parquet.write_table(pa.table({"x": [1]}), tmp_path / "t.parquet")  # a file has types of its own
    tables.read(tmp_path / "t.parquet", schema_of(**LABELS))


def test_a_column_of_which_nothing_can_be_read_is_warned_of_if_it_is_not_refused():
    table = pa.table({"x": pa.array([1, 2])})
    with pytest.warns(IntakeWarning, match=r"no value of x \(int64\) can be read"):
        tables.read(table, schema_of(**DAY, nullable=True, on_bad_value="missing"))
    tables.read(table, schema_of(**DAY))  # its values will be refused


@given(
    texts=st.lists(st.sampled_from(["", "a", "bcd", "\ufffd", None]), min_size=1, max_size=20),
    start=st.integers(0, 8),
    scalar_first=st.booleans(),
)
def test_a_slice_of_texts_may_be_mixed_with_one_text(texts, start, scalar_first):
    part = pa.array(texts, pa.large_string()).slice(start)
    for text in (None, "xyz"):
        arms = (pa.scalar(text, pa.large_string()), part)
        mask = pc.fill_null(pc.equal(part, "a"), False)
        mixed = either(mask, *arms) if scalar_first else either(pc.invert(mask), *reversed(arms))
        mixed.validate(full=True)
        assert mixed.to_pylist() == [text if each == "a" else each for each in texts[start:]]


@given(start=st.integers(0, 5), length=st.integers(1, 5))
def test_persons_of_a_slice_are_those_of_its_rows(start, length):
    texts = ["p1", "p22", None, "p\ufffd", "", "p4", "p55", "p6", "\ufffd", "p7"]
    part = pa.chunked_array([pa.array(texts, pa.large_string()).slice(start, length)])
    found = identifiers(part)
    found.validate(full=True)
    assert found.to_pylist() == [
        None if text is None or "\ufffd" in text else text for text in texts[start : start + length]
    ]
