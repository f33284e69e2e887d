"""Croissant: mlcroissant reads the description of a release, and the rows through it."""

import hashlib
import json

import mlcroissant
import pandas as pd


def test_mlcroissant_reads_a_release(release):
    dataset = mlcroissant.Dataset(jsonld=release / "croissant.json")
    assert not dataset.metadata.issues.errors
    rows = pd.read_csv(release / "synthetic.csv")
    records = dataset.records(dataset.metadata.record_sets[0].id)
    assert sum(1 for _ in records) == len(rows)


def test_mlcroissant_reads_what_we_export_once_the_hash_is_in_it(send_out, release, tmp_path):
    file, said = send_out("croissant")
    assert "sha256" in said
    found = json.loads(file.read_text())
    content = (release / "synthetic.csv").read_bytes()
    found["distribution"][0]["sha256"] = hashlib.sha256(content).hexdigest()
    (tmp_path / "synthetic.csv").write_bytes(content)
    (tmp_path / "croissant.json").write_text(json.dumps(found))
    dataset = mlcroissant.Dataset(jsonld=tmp_path / "croissant.json")
    assert not dataset.metadata.issues.errors
    first = next(iter(dataset.records("rows")))
    assert set(first) >= {"rows/sex", "rows/age"}
