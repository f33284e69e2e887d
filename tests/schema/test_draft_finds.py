"""What a draft recognises: what must not be published, and what would be smeared, misread or lost."""

import random
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pytest

from sfumato import tables
from sfumato.errors import SchemaError
from sfumato.intake.codec import SchemaCodec
from sfumato.schema.draft import draft
from sfumato.schema.draft_dates import covering
from sfumato.schema.draft_numbers import growing_edges, outward


def hospital(path, rows=600):
    """A messy file, as a hospital would export it."""
    rng = random.Random(5)
    places = {"Köln": ("NRW", "0221"), "Bonn": ("NRW", "0228"), "Ulm": ("BW", "0731")}
    surnames = ["Huber", "Çelik", "Müller", "Nowak", "Weiß", "Schmidt", "Groß", "Vogel"]
    lines = ["CaseNo;PatientID;age;city;state;code;admitted;born;at;cost;share;days;income;note"]
    for number in range(rows):
        city = rng.choice(list(places))
        day = date(2020, 1, 1) + timedelta(rng.randrange(900))
        shown = f"{day:%d.%m.%Y}" if rng.random() < 0.9 else f"{day:%Y-%m-%d}"
        days = "999" if rng.random() < 0.9 else str(rng.randrange(28))
        income = "N" if rng.random() < 0.2 else "0" if rng.random() < 0.3 else str(rng.randrange(500, 90_000))
        cost = f"{rng.randrange(1, 9)}.{rng.randrange(100, 999)},{rng.randrange(10, 99)} €"
        note = f"{rng.choice(surnames)} came with {rng.choice(surnames)}, room {rng.randrange(10**6)} was free"
        lines.append(
            f"{100_000 + number};P{rng.randrange(rows // 3):06d};{rng.randrange(18, 95)};{city};{places[city][0]};"
            f"{places[city][1]};{shown};{rng.randrange(1950, 2000)}-{rng.randrange(1, 13):02d};"
            f"{rng.randrange(24):02d}:{rng.randrange(60):02d};{cost};{rng.randrange(100)},5 %;{days};{income};{note}"
        )
    path.write_bytes("\r\n".join(lines).encode("cp1252"))
    return path


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    path = hospital(tmp_path_factory.mktemp("messy") / "visits.csv")
    reading = tables.detect(path)
    return path, draft(tables.read(path, reading=reading), "visits", reading)


def test_a_messy_file_is_read_as_its_draft_states(found):
    path, drafted = found
    schema = drafted.schema
    assert schema.read.model_dump(exclude_defaults=True) == {"separator": ";", "encoding": "cp1252"}
    assert tables.read(path, schema).num_rows == 600
    schema_without_person = tables.read(path, schema).drop_columns([schema.unit.column])
    assert len(SchemaCodec(schema).encode(schema_without_person)) == 600


def test_nothing_that_names_a_person_is_listed(found):
    _, drafted = found
    assert drafted.schema.ignore == ("CaseNo", "note")
    assert drafted.schema.unit.column == "PatientID"
    assert 3 <= drafted.schema.unit.rows <= 8
    assert "Huber" not in str(drafted.schema.to_dict())
    assert "P000" not in str(drafted.schema.to_dict())
    whys = {one.column: one.why for one in drafted.findings}
    assert whys["note"].startswith("free text: 600 different values")
    assert whys["CaseNo"].startswith("an identifier")
    assert not any("Huber" in why for why in whys.values())


def test_columns_are_what_they_are(found):
    columns = {column.name: column.model_dump(exclude_defaults=True) for column in found[1].schema.columns}
    assert columns["code"]["categories"] == ("0221", "0228", "0731")
    assert columns["admitted"]["format"] == ("%d.%m.%Y", "%Y-%m-%d")
    assert (str(columns["admitted"]["min"]), str(columns["admitted"]["max"])) == ("2020-01-01", "2022-12-31")
    assert (columns["born"]["format"], columns["born"]["granularity"]) == ("%Y-%m", "month")
    assert (columns["at"]["format"], columns["at"]["bins"]) == ("%H:%M", 24)
    assert columns["cost"]["written"] == {"decimal": ",", "thousands": ".", "signs": ("€",)}
    assert columns["share"]["written"] == {"decimal": ",", "signs": ("%",)}
    assert (columns["days"]["special"], columns["days"]["max"]) == ((999,), 30)
    assert columns["income"]["null_values"] == ("N",)
    assert columns["income"]["special"] == (0,)
    assert columns["state"]["derived"]["of"] in ("city", "code")


def test_a_person_may_ask_for_a_column_by_name(found):
    path, drafted = found
    table = tables.read(path, reading=drafted.schema.read)
    kept = draft(table, "visits", drafted.schema.read, keep=["CaseNo"]).schema
    assert kept.ignore == ("note",)
    assert kept["CaseNo"].type == "integer"
    with pytest.raises(SchemaError, match="column 'x' is not in the table"):
        draft(table, "visits", keep=["x"])


def test_a_table_of_identifiers_alone_has_no_draft():
    with pytest.raises(SchemaError, match="every column looks like an identifier") as refused:
        draft(pa.table({"name": [f"person {i}" for i in range(100)]}), "t")
    assert "person 1" not in str(refused.value)


def test_dates_in_order_and_values_missing_together():
    rng = np.random.default_rng(1)
    start = [date(2020, 1, 1) + timedelta(int(day)) for day in rng.integers(0, 300, 200)]
    end = [day + timedelta(int(more)) for day, more in zip(start, rng.integers(0, 30, 200), strict=True)]
    gone = rng.random(200) < 0.3
    one = [None if hidden else "a" if number % 2 else "b" for number, hidden in enumerate(gone)]
    two = [None if hidden else str(number % 7) for number, hidden in enumerate(gone)]
    drafted = draft(pa.table({"start": start, "end": end, "one": one, "two": two}), "t")
    assert list(map(str, drafted.schema.rules)) == ["start <= end", "one and two are missing together"]
    assert any(one.proposal == "rules" and "two" in one.why for one in drafted.findings)


def test_dates_in_formats_of_their_own_are_put_in_order_too():
    rng = np.random.default_rng(2)
    start = [date(2019, 12, 1) + timedelta(int(day)) for day in rng.integers(0, 300, 200)]
    end = [day + timedelta(int(more)) for day, more in zip(start, rng.integers(0, 30, 200), strict=True)]
    forms = ["%d.%m.%Y" if number % 3 else "%Y-%m-%d" for number in range(200)]
    texts = [[day.strftime(form) for day, form in zip(days, forms, strict=True)] for days in (start, end)]
    drafted = draft(pa.table({"start": texts[0], "end": texts[1], "clock": ["12:30", "07:15"] * 100}), "t").schema
    assert len(drafted["start"].format) == 2
    assert list(map(str, drafted.rules)) == ["start <= end"]


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        ([5099.1, 5191.0, 5228.1] * 20, {"values": (5099.1, 5191.0, 5228.1)}),
        ([100, 5000, 90_000] * 20, {"values": (100, 5000, 90_000)}),
        ([-1] * 30 + list(range(0, 3000, 3)), {"special": (-1,), "min": 0, "max": 3000}),
        ([0] * 300 + list(range(1, 3000, 3)), {"special": (0,), "min": 0, "max": 3000}),
        (list(range(2_000, 12_000)), {"bins": 128, "joint_bins": 32}),
        ([number / 4 for number in range(2_000, 12_000)], {"bins": 128, "joint_bins": 32}),
        (["31/12/2020", "01/02/2021"], {"format": "%d/%m/%Y"}),
        (["12/31/2020", "01/02/2021"], {"format": "%m/%d/%Y"}),
        (["20201231", "20210102"], {"format": "%Y%m%d"}),
        (["1 234,5", "12 345,0"], {"written": {"decimal": ",", "thousands": " "}}),
        (["$1,234", "$99"], {"written": {"thousands": ",", "signs": ("$",)}}),
        (["10", "9", "2", "x"], {"categories": ("10", "2", "9", "x")}),
    ],
)
def test_kinds_of_columns(values, keys):
    table = pa.table({"x": values})
    schema = draft(table, "t", keep=["x"]).schema
    column = schema["x"].model_dump(exclude_defaults=True)
    assert {key: column.get(key) for key in keys} == keys
    assert len(SchemaCodec(schema).encode(tables.read(table, schema))) == len(values)


def test_bounds_do_not_tell_who_is_the_oldest():
    assert outward(17, 98) == (10, 100)
    assert outward(0, 1_487_221) == (0, 2_000_000)
    assert outward(0.12, 0.87) == (0.1, 0.9)
    edges = growing_edges(0, 2_000_000, 0)
    assert edges == sorted(set(edges))
    assert (edges[0], edges[-1]) == (0, 2_000_000)


def test_formats_read_all_or_nothing():
    assert covering(["31.12.2020", "2020-01-01"], ("%d.%m.%Y", "%Y-%m-%d")) == ["%d.%m.%Y", "%Y-%m-%d"]
    assert covering(["31.12.2020", "soon"], ("%d.%m.%Y",)) == []
