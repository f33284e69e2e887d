"""Pandera: it writes schemas that we read, reads ours back, and finds our rows valid."""

import json

import pandas as pd
import pandera.pandas as pa


def test_schemas_that_pandera_wrote(bring_in, tmp_path):
    schema = pa.DataFrameSchema(
        {
            "sex": pa.Column(str, pa.Check.isin(["f", "m"])),
            "age": pa.Column(int, [pa.Check.ge(0), pa.Check.le(120)]),
            "weight": pa.Column(float, pa.Check.in_range(0, 250.5), nullable=True),
            "smokes": pa.Column(bool),
            "name": pa.Column(str, pa.Check.str_length(1, 40), unique=True),
        },
        name="visits",
    )
    (tmp_path / "schema.json").write_text(schema.to_json())
    (tmp_path / "schema.yaml").write_text(schema.to_yaml())
    for file in ("schema.json", "schema.yaml"):
        columns, said = bring_in(tmp_path / file, "pandera")
        assert list(columns) == ["sex", "age", "weight", "smokes"]
        assert columns["sex"]["categories"] == ["f", "m"]
        assert (columns["age"]["min"], columns["age"]["max"]) == (0, 120)
        assert (columns["weight"]["min"], columns["weight"]["max"], columns["weight"]["nullable"]) == (0, 250.5, True)
        assert columns["smokes"]["type"] == "boolean"
        assert "'name'" in said


def test_pandera_reads_what_we_export_and_finds_our_rows_valid(send_out, release):
    text = send_out("pandera")[0].read_text()
    json.loads(text)
    schema = pa.DataFrameSchema.from_json(text)
    rows = pd.read_csv(release / "synthetic.csv", parse_dates=["born"])
    assert len(schema.validate(rows)) == len(rows)
