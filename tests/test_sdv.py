"""The synthesizer for users of SDV: what it takes, what it refuses, and whom it protects."""

import json
from pathlib import Path

import pandas as pd
import pytest

from sfumato.errors import SchemaError, SfumatoError
from sfumato.sdv import SfumatoSynthesizer

METADATA = {
    "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
    "primary_key": "guest",
    "columns": {
        "guest": {"sdtype": "id"},
        "room": {"sdtype": "categorical"},
        "nights": {"sdtype": "numerical", "computer_representation": "Int64"},
        "loyal": {"sdtype": "boolean"},
    },
}
KNOWN = {"room": {"categories": ["basic", "suite"]}, "nights": {"min": 1, "max": 30}, "loyal": {}}


class Metadata:
    def to_dict(self):
        return METADATA


def guests(rows=600):
    return pd.DataFrame(
        {
            "guest": [f"g{number}" for number in range(rows)],
            "room": ["suite" if number % 4 == 0 else "basic" for number in range(rows)],
            "nights": [1 + number % 7 for number in range(rows)],
            "loyal": [number % 3 == 0 for number in range(rows)],
        }
    )


def test_metadata_of_sdv_leads_to_rows_with_a_guarantee(tmp_path):
    synthesizer = SfumatoSynthesizer(Metadata(), epsilon=2, method="privbayes", columns=KNOWN, leave_out=["guest"])
    with pytest.raises(SfumatoError, match="call fit"):
        synthesizer.sample(5)
    synthesizer.fit(guests())
    rows = synthesizer.sample(50, seed=1)
    assert isinstance(rows, pd.DataFrame)
    assert list(rows.columns) == ["room", "nights", "loyal"]
    assert set(rows["room"]) <= {"basic", "suite"}
    assert synthesizer.release.ledger.guarantee == {"epsilon": 2.0, "delta": 0.0}
    synthesizer.save(tmp_path / "release")
    assert (tmp_path / "release" / "ledger.json").is_file()
    with pytest.raises(SfumatoError, match="spent its budget"):
        synthesizer.fit(guests())


def test_what_cannot_be_carried_is_refused_all_at_once():
    with pytest.raises(SchemaError) as refused:
        SfumatoSynthesizer(METADATA, epsilon=1)
    for words in ("'guest' is an identifier", "'room': the file has no list", "'nights': the file has no bounds"):
        assert words in str(refused.value)


def test_domains_of_the_metadata_want_a_signature():
    metadata = {"columns": {"room": {"sdtype": "categorical", "range_values": ["basic", "suite"]}}}
    with pytest.raises(SfumatoError, match="observed"):
        SfumatoSynthesizer(metadata, epsilon=1, method="privbayes").fit(guests()[["room"]])
    signed = SfumatoSynthesizer(
        metadata, epsilon=1, method="privbayes", accepted_by="A. Steward", reason="rooms are on our web site"
    )
    signed.fit(guests()[["room"]])
    assert signed.release.ledger.observed == ("room",)


def test_metadata_that_sdv_detected_is_taken_as_it_is():
    found = json.loads((Path(__file__).parent / "schema" / "exchange" / "files" / "sdv.json").read_text())
    synthesizer = SfumatoSynthesizer(found, epsilon=1, leave_out=["id"], accepted_by="A. Steward", reason="a test")
    assert [column.name for column in synthesizer.schema.columns] == ["sex", "age", "weight", "seen", "smokes"]
