"""Real files: what a draft finds out about them, what the schema states, and that each row is read by itself."""

import gzip

import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.dataset as dataset
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import tables
from sfumato.errors import DataError, SchemaError
from sfumato.intake.codec import SchemaCodec
from sfumato.schema.reading import Written
from sfumato.schema.schema import Schema
from sfumato.tables.written import UNREADABLE, plain_numbers

EUROS = {"decimal": ",", "thousands": ".", "signs": ["€", "EUR", "%"]}
AMOUNT = {"name": "amount", "type": "number", "min": 0, "max": 5000, "bins": 50, "decimals": 2, "written": EUROS}
PLACE = {"name": "place", "type": "categorical", "categories": ["Köln", "Łódź"], "other": "?"}


def schema_of(*columns, **keys):
    return Schema.parse({"name": "t", "columns": list(columns), **keys})


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("1.234,50 €", "1234.50"),
        ("€ 1.234,50", "1234.50"),
        ("-€3", "-3"),
        ("12,5%", "12.5"),
        ("1234,5", "1234.5"),
        ("1.234", "1234"),
        ("1.234.567", "1234567"),
        (",5", ".5"),
        ("1e3", "1e3"),
        (" 7 ", "7"),
        ("1.5", UNREADABLE),
        ("12.34,5", UNREADABLE),
        ("1,2,3", UNREADABLE),
        ("5 $", UNREADABLE),
        ("€", UNREADABLE),
        ("5 € €", UNREADABLE),
        ("", UNREADABLE),
        ("n/a", "n/a"),
        (None, None),
    ],
)
def test_numbers_as_people_write_them(text, plain):
    found = plain_numbers(pa.array([text], pa.large_string()), Written.model_validate(EUROS), ("n/a",))
    assert found.to_pylist() == [plain]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"decimal": ",", "thousands": ","}, "both ','"),
        ({"signs": ["€", "€"]}, "twice"),
        ({"signs": ["5"]}, "no digits"),
        ({"signs": [" €"]}, "no digits"),
        ({"decimal": ";"}, "decimal"),
    ],
)
def test_what_could_be_misread_is_refused(keys, message):
    with pytest.raises(SchemaError, match=message):
        schema_of(AMOUNT | {"written": keys})


@pytest.mark.parametrize("packed", [False, True])
def test_a_german_file(tmp_path, packed):
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    content = 'place;amount\nKöln;1.234,50 €\n"Köln";7\n'.encode("cp1252")
    path.write_bytes(gzip.compress(content) if packed else content)
    reading = tables.detect(path)
    assert (reading.separator, reading.encoding, reading.line_breaks) == (";", "cp1252", False)
    schema = schema_of(PLACE, AMOUNT, read=reading.model_dump(exclude_defaults=True))
    assert tables.read(path, schema).to_pydict() == {"place": ["Köln", "Köln"], "amount": ["1234.50", "7"]}
    assert Schema.parse(schema.to_dict()) == schema
    assert schema.plain["amount"].written is None
    assert schema.plain.read.separator is None


def test_a_file_says_what_it_looks_like(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("place;amount\nx;1\n")
    with pytest.raises(DataError, match=r"looks separated by ';'.*\"read\": \{\"separator\": \";\"\}"):
        tables.read(path, schema_of(PLACE, AMOUNT))
    path.write_bytes("place,amount\nKöln,1\n".encode("cp1252"))
    with pytest.raises(DataError, match="encoding"):
        tables.read(path, schema_of(PLACE, AMOUNT))
    path.write_bytes("place,amount\n".encode("utf-16"))
    with pytest.raises(DataError, match="UTF-16"):
        tables.detect(path)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"\xef\xbb\xbfa|b\n1|2\n", {"separator": "|"}),
        (b"a,b\n1,2\n", {}),
        (b"a\tb\n1\t2\n", {"separator": "\t"}),
        (b'a,b\n"x;y;z",2\n"x;y;z",3\n', {}),
        (b'a,b\n"one\ntwo",2\n', {"line_breaks": True}),
        (b"one\n1\n", {}),
        (b"a,b\n\x81,\xe9\n", {"encoding": "latin-1"}),
        (b"a,b\n\x80,\xe9\n", {"encoding": "cp1252"}),
        (b"", {}),
    ],
)
def test_what_a_file_is_like(tmp_path, content, found):
    (tmp_path / "t.csv").write_bytes(content)
    assert tables.detect(tmp_path / "t.csv").model_dump(exclude_defaults=True) == found


def test_line_breaks_are_stated(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('place,note\nKöln,"one\ntwo"\nKöln,three\n', encoding="utf-8")
    with pytest.raises(DataError, match="more or fewer fields"):
        tables.read(path, schema_of(PLACE, ignore=["note"]))
    schema = schema_of(PLACE, ignore=["note"], read={"line_breaks": True})
    assert tables.read(path, schema).to_pydict() == {"place": ["Köln", "Köln"]}


def test_sources_of_every_kind_are_the_same_table(tmp_path):
    table = pa.table({"place": ["Köln", "x", "Köln"], "amount": [1.5, 20.0, 4999.0]})
    schema = schema_of(PLACE, AMOUNT)
    (tmp_path / "parts").mkdir()
    for number in range(3):
        parquet.write_table(table.slice(number, 1), tmp_path / "parts" / f"part-{number}.parquet")
    feather.write_feather(table, tmp_path / "t.feather")
    table.to_pandas().to_excel(tmp_path / "t.xlsx", sheet_name="data", index=False)
    import duckdb

    relation = duckdb.from_arrow(table)
    sources = [
        *(table, tmp_path / "parts", tmp_path / "parts" / "part-*.parquet", str(tmp_path / "parts" / "*.parquet")),
        *(tmp_path / "t.feather", tmp_path / "t.xlsx", dataset.dataset(tmp_path / "parts"), relation),
        *(polars.from_arrow(table).lazy(), table.to_pandas()),
    ]
    wanted = SchemaCodec(schema).encode(tables.read(table, schema))
    for source in sources:
        parts = [SchemaCodec(schema).encode(part) for part in tables.batches(source, schema)]
        for name in wanted.domain:
            found = np.concatenate([part[name] for part in parts])
            np.testing.assert_array_equal(found, wanted[name], err_msg=str(type(source)))


def test_folders_that_are_no_table_are_refused(tmp_path):
    schema = schema_of(PLACE)
    with pytest.raises(DataError, match="holds no file"):
        tables.read(tmp_path, schema)
    (tmp_path / "a.csv").write_text("place\nx\n")
    (tmp_path / "b.csv").write_text("place,more\nx,1\n")
    with pytest.raises(DataError, match="other columns or types"):
        tables.read(tmp_path, schema)
    (tmp_path / "b.tsv").write_text("place\n")
    with pytest.raises(DataError, match=r"files that end in .csv, .tsv"):
        tables.read(tmp_path, schema)


def test_an_excel_sheet_is_named(tmp_path):
    with pandas.ExcelWriter(tmp_path / "t.xlsx") as file:
        pandas.DataFrame({"note": ["not this"]}).to_excel(file, sheet_name="read me", index=False)
        pandas.DataFrame({"place": ["Köln", None]}).to_excel(file, sheet_name="data", index=False)
    schema = schema_of(PLACE | {"nullable": True}, read={"sheet": "data"})
    assert tables.read(tmp_path / "t.xlsx", schema).num_rows == 1  # a row without any value is none
    with pytest.raises(DataError, match="has no sheet 'old'; it has read me, data"):
        tables.read(tmp_path / "t.xlsx", schema_of(PLACE, read={"sheet": "old"}))
    (tmp_path / "bad.xlsx").write_bytes(b"PK nothing")
    with pytest.raises(DataError, match="damaged"):
        tables.read(tmp_path / "bad.xlsx", schema)


MISSING = {"nullable": True, "null_values": ["", "k.A."], "on_bad_value": "missing"}
MESSY = Schema.parse(
    {
        "name": "t",
        "on_bad_value": "missing",
        "read": {"separator": ";", "encoding": "cp1252"},
        "columns": [
            AMOUNT | MISSING | {"special": [0]},
            {"name": "day", "type": "date", "min": "2020-01-01", "max": "2020-12-31", **MISSING}
            | {"format": ["%d.%m.%Y", "%Y-%m-%d"]},
            {"name": "clock", "type": "datetime", "min": "1900-01-01T00:00:00", "max": "1900-01-01T23:59:59", **MISSING}
            | {"format": ["%H:%M", "%H:%M:%S"], "granularity": "minute", "bins": 24},
        ],
    }
)
FIELDS = [
    *("1.234,50 €", "1234.5", "1.234", "7", "0", "0,00 €", "k.A.", "", "€", "x", '"1,5"', "1,5;", "é", "\ufffd"),
    *("31.12.2020", "2020-05-06", "06.05.2020", "5/6/2020", "12:30", "12:30:15", "24:00", "23:59", "12:30 Uhr"),
]
LINES = [f"{a};{b};{c}".encode("cp1252", "replace") for a in FIELDS[:14] for b in FIELDS[14:17] for c in FIELDS[18:]]


@settings(max_examples=100)
@given(st.lists(st.sampled_from(LINES) | st.binary(max_size=8).map(lambda line: line.replace(b"\n", b"")), max_size=5))
def test_a_line_is_read_by_itself_however_numbers_and_dates_are_written(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("lines")

    def rows(lines):
        (folder / "t.csv").write_bytes(b"amount;day;clock\n" + b"\n".join(lines))
        records = SchemaCodec(MESSY).encode(tables.read(folder / "t.csv", MESSY))
        return list(zip(*(column.tolist() for column in records.columns), strict=True))

    assert rows(lines) == [row for line in lines for row in rows([line])]


anything = st.sampled_from([*FIELDS, 1.5, 1.234, 7, 0, None, True, float("nan"), np.int8(3)])


@pytest.mark.filterwarnings("ignore::sfumato.errors.IntakeWarning")
@settings(max_examples=60)
@given(st.lists(anything, min_size=1, max_size=5), st.booleans())
def test_a_text_among_numbers_changes_nothing_for_the_others(values, guessed):
    """A float is no text: 1.234 stays that number, whatever thousands are written with."""
    schema = schema_of(AMOUNT | MISSING, on_bad_value="missing")

    def codes(values):
        frame = pandas.DataFrame({"amount": pandas.Series(values, dtype=None if guessed else object)})
        return SchemaCodec(schema).encode(tables.read(frame, schema))["amount"].tolist()

    assert codes(values) == [codes([value])[0] for value in values]


def test_a_float_is_not_taken_for_thousands():
    schema = schema_of(AMOUNT | MISSING, on_bad_value="missing")
    frame = pandas.DataFrame({"amount": pandas.Series([1.234, "1.234"], dtype=object)})
    bins = SchemaCodec(schema).encode(tables.read(frame, schema))["amount"].tolist()
    assert bins == [0, 12]


def test_a_time_of_day_is_written_as_it_was_read(tmp_path):
    rng = np.random.default_rng(1)
    table = pa.table({"amount": ["0"], "day": ["06.05.2020"], "clock": ["12:30"]})
    decoded = SchemaCodec(MESSY).decode(SchemaCodec(MESSY).encode(tables.read(table, MESSY)), rng)
    tables.write(decoded, tmp_path / "t.csv", MESSY)
    _, line = (tmp_path / "t.csv").read_text().split()
    amount, day, clock = line.split(",")
    assert (float(amount), day[-5:], clock[:3]) == (0, ".2020", "12:")
    typed = pa.table({"amount": [0], "day": ["06.05.2020"], "clock": pa.array([45_000], pa.time32("s"))})
    assert SchemaCodec(MESSY).encode(tables.read(typed, MESSY))["clock"].tolist() == [12]
