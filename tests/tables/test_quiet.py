"""What libraries say when a table fails may quote rows: none of it is passed on, not even inside an exception."""

import re
import traceback
import zipfile

import duckdb
import openpyxl
import polars
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import SfumatoError
from sfumato.tables.quiet import quiet

SECRET = "Semiramide"
SCHEMA = {
    "name": "t",
    "on_bad_value": "missing",
    "columns": [{"name": "a", "type": "integer", "min": 0, "max": 9, "nullable": True}],
}


def scanned(tmp_path):
    (tmp_path / "t.csv").write_text("a\n" + "1\n" * 300 + SECRET + "\n")
    return polars.scan_csv(tmp_path / "t.csv", infer_schema_length=10)


def stream(_):
    def batches():
        yield pa.record_batch({"a": [1]})
        raise ValueError(SECRET)

    return pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), batches())


LAZY = {
    "polars, cast": lambda _: polars.LazyFrame({"a": ["1", SECRET]}).with_columns(polars.col("a").cast(polars.Int64)),
    "polars, file": scanned,
    "duckdb": lambda _: duckdb.sql(f"select cast(x as integer) a from (values ('1'), ('{SECRET}')) t(x)"),  # noqa: S608
    "arrow": stream,
}


def refused(data):
    with pytest.raises(SfumatoError) as caught:
        sfumato.fit(data, SCHEMA, epsilon=1, method="dpview")
    said = "".join(traceback.format_exception_only(caught.value)) + repr((caught.value.__context__, caught.value))
    assert SECRET not in said
    return said


@pytest.mark.parametrize("kind", LAZY)
def test_a_table_that_fails_when_it_is_computed_is_refused_without_its_values(tmp_path, kind):
    assert "failed when it was computed" in refused(LAZY[kind](tmp_path))


def sheet(tmp_path, change):
    """An Excel file whose sheet was changed as no program writes it."""
    path = tmp_path / "t.xlsx"
    book = openpyxl.Workbook()
    for row in (["a"], [1], [2], [3]):
        book.active.append(row)
    book.save(path)
    with zipfile.ZipFile(path) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    name = "xl/worksheets/sheet1.xml"
    files[name] = change(files[name].decode()).encode()
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<v>2</v>", f"<v>{SECRET}</v>"),
        ("</row>", f"</{SECRET}>"),
        ('r="A3"', f'r="{SECRET}3"'),
        ('t="n"><v>2</v>', f't="d"><v>{SECRET}</v>'),
        ('t="n"><v>2</v>', f't="b"><v>{SECRET}</v>'),
        ('t="n"><v>2</v>', 't="s"><v>99</v>'),
        ('<row r="3"', f'<row r="{SECRET}"'),
    ],
)
def test_a_damaged_sheet_is_refused_without_its_values(tmp_path, old, new):
    assert "is damaged or not an Excel file" in refused(sheet(tmp_path, lambda text: text.replace(old, new)))


def test_what_a_sheet_says_of_its_size_does_not_count(tmp_path):
    path = sheet(tmp_path, lambda text: re.sub('<dimension ref="[^"]*"', '<dimension ref="A1"', text))
    assert sfumato.check(path, SCHEMA) == ()


def test_any_other_fault_while_a_table_is_read_keeps_its_words_to_itself(monkeypatch):
    def fail(*_):
        raise RuntimeError(SECRET)

    monkeypatch.setattr("sfumato.intake.intake.Intake.encode", fail)
    assert "a fault in Sfumato (RuntimeError at test_quiet.py" in refused(pa.table({"a": [1]}))


def test_an_interruption_is_no_fault():
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quiet("the table failed", stop)
