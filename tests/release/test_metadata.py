"""Metadata for catalogues: it says what the release says, and names what a person has to write."""

import hashlib
import json

import pytest
import yaml

from helpers_release import SCHEMA, Forger, released
from sfumato.release.metadata import TO_WRITE
from sfumato.verify import Result, verify

RICH = {
    "name": "Ward 7, Übersicht",
    "source": "made up",
    "license": "CC0 1.0",
    "columns": [
        {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 10, "note": "in years"},
        {"name": "sex", "type": "categorical", "categories": ["f", "m"], "nullable": True, "null_values": ["?", "x"]},
        {"name": "smoker", "type": "boolean"},
        {"name": "ward", "type": "categorical", "categories": list("abcdefghij"), "ordered": True},
    ],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return released(tmp_path_factory.mktemp("metadata") / "release", "dpview", RICH, rows=20)


def test_the_data_package_has_hash_types_domains_and_missing_values(folder):
    package = json.loads((folder / "datapackage.json").read_text())
    assert (package["name"], package["title"]) == ("ward-7-bersicht", "Ward 7, Übersicht")
    assert package["licenses"] == [{"name": "CC0-1.0", "title": "CC0 1.0"}]
    (resource,) = package["resources"]
    content = (folder / "synthetic.csv").read_bytes()
    assert resource["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert (resource["path"], resource["bytes"]) == ("synthetic.csv", len(content))
    age, sex, smoker, ward = resource["schema"]["fields"]
    assert age["constraints"] == {"required": True, "minimum": 0, "maximum": 99}
    assert (age["type"], age["description"]) == ("integer", "in years")
    assert (sex["categories"], sex["missingValues"], "constraints" in sex) == (["f", "m"], ["?", "x"], False)
    assert (smoker["type"], smoker["trueValues"][0]) == ("boolean", "true")
    assert ward["categoriesOrdered"] is True


def test_croissant_has_one_field_for_each_column_and_the_guarantee(folder):
    croissant = json.loads((folder / "croissant.json").read_text())
    (rows,) = croissant["recordSet"]
    assert [one["source"]["extract"]["column"] for one in rows["field"]] == ["age", "sex", "smoker", "ward"]
    assert [one["dataType"] for one in rows["field"]] == ["sc:Integer", "sc:Text", "sc:Boolean", "sc:Text"]
    assert "epsilon = 2 (pure)" in croissant["rai:personalSensitiveInformation"]


def test_the_registry_entry_has_what_the_ledger_says_and_names_the_rest(folder):
    entry = yaml.safe_load((folder / "registry.yaml").read_text())["deployment"]
    assert entry["privacy_loss"]["privacy_parameters"] == {"epsilon": 2.0, "delta": 0.0}
    assert entry["dp_variant"]["variant_name"] == "Pure DP"
    assert "discrete Laplace noise" in entry["implementation"]["mechanisms"]
    assert "broke the schema" in entry["dp_variant"]["unprotected_quantities"]
    assert entry["basic"]["intended_use"] == entry["implementation"]["justification"] == TO_WRITE


def test_changed_metadata_is_noticed(folder, tmp_path):
    forger = Forger(folder, tmp_path)
    for name in ("datapackage.json", "croissant.json", "registry.yaml"):
        forged = forger.rewritten(name, lambda text: text.replace(b"epsilon = 2", b"epsilon = 1"))
        results = {one.check: one.result for one in verify(forged).findings}
        assert results["description"] is Result.FAILED, name


def test_persons_are_named_as_the_unit(tmp_path):
    folder = released(tmp_path / "release", "dpview", SCHEMA, format="parquet", rows=5)
    entry = yaml.safe_load((folder / "registry.yaml").read_text())["deployment"]
    assert entry["privacy_loss"]["privacy_unit"] == "User-level"
    assert json.loads((folder / "datapackage.json").read_text())["resources"][0]["format"] == "parquet"
