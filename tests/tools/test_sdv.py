"""SDV: it writes metadata that we read, reads what we export, and its own objects go into our synthesizer."""

import pandas as pd
import pytest
from sdv.metadata import Metadata

from sfumato.errors import SchemaError, SfumatoError
from sfumato.sdv import SfumatoSynthesizer


@pytest.fixture
def guests(visits):
    arrived = pd.date_range("2024-01-01", periods=len(visits), freq="h")
    return visits.assign(guest=[f"g{number}" for number in range(len(visits))], arrived=arrived)


@pytest.fixture
def metadata(guests):
    found = Metadata.detect_from_dataframes({"visits": guests})
    found.set_primary_key(table_name="visits", column_name="guest")
    return found


def test_metadata_that_sdv_detected_and_saved(metadata, bring_in, tmp_path):
    metadata.save_to_json(tmp_path / "metadata.json")
    columns, said = bring_in(tmp_path / "metadata.json", "sdv")
    kinds = {name: column["type"] for name, column in columns.items()}
    assert kinds == {
        "sex": "categorical", "grade": "categorical", "smokes": "boolean", "age": "integer", "weight": "number",
        "born": "date", "arrived": "datetime",
    }  # fmt: skip
    assert sorted(columns["grade"]["categories"]) == ["high", "low", "o'hara"]
    assert (columns["age"]["min"], columns["age"]["max"]) == (0, 99)
    assert columns["weight"]["nullable"]
    assert columns["weight"]["decimals"] == 1
    assert "'guest' is an identifier" in said


def test_sdv_reads_what_we_export_and_finds_that_our_rows_obey_it(send_out, release):
    file, said = send_out("sdv")
    found = Metadata.load_from_json(file, single_table_name="visits")
    found.validate()
    rows = pd.read_csv(release / "synthetic.csv")
    found.validate_data({"visits": rows})
    assert "not carried over: key 'bins' of column 'age'" in said
    columns = found.to_dict()["tables"]["visits"]["columns"]
    assert columns["grade"]["sdtype"] == "ordinal"
    assert columns["smokes"]["range_is_nullable"] is False
    assert columns["age"]["range_max"] == 120


def test_a_synthesizer_made_from_an_object_of_sdv(metadata, guests):
    with pytest.raises(SchemaError, match="'guest' is an identifier"):
        SfumatoSynthesizer(metadata, epsilon=1)
    with pytest.raises(SfumatoError, match="observed"):
        SfumatoSynthesizer(metadata, epsilon=1, method="privbayes", leave_out=["guest"]).fit(guests)
    known = {
        "sex": {}, "grade": {}, "smokes": {}, "age": {"min": 0, "max": 120}, "weight": {"min": 0, "max": 300},
        "born": {"min": "1900-01-01", "max": "2024-12-31"},
        "arrived": {"min": "2024-01-01T00:00:00", "max": "2024-12-31T23:59:59"},
    }  # fmt: skip
    synthesizer = SfumatoSynthesizer(metadata, epsilon=5, method="privbayes", leave_out=["guest"], columns=known)
    synthesizer.fit(guests)
    rows = synthesizer.sample(num_rows=300)
    assert isinstance(rows, pd.DataFrame)
    assert synthesizer.release.ledger.observed == ()
    assert list(rows.columns) == [name for name in guests.columns if name != "guest"]
