"""Frictionless: it writes table schemas that we read, reads ours back, and finds releases valid."""

import frictionless
from frictionless import Package, Resource, Schema, fields


def test_a_schema_that_frictionless_wrote(bring_in, tmp_path):
    born = fields.DateField(name="born", constraints={"minimum": "1900-01-01", "maximum": "2024-12-31"})
    schema = Schema(
        fields=[
            fields.StringField(name="patient"),
            fields.StringField(name="sex", constraints={"enum": ["f", "m"], "required": True}),
            fields.IntegerField(name="age", constraints={"minimum": 0, "maximum": 120}),
            fields.NumberField(name="weight", constraints={"minimum": 0, "maximum": 250.5}),
            fields.BooleanField(name="smokes", true_values=["yes"], false_values=["no"]),
            born,
        ],
        primary_key=["patient"],
        missing_values=["", "NA"],
    )
    for file, write in (("schema.json", schema.to_json), ("schema.yaml", schema.to_yaml)):
        write(str(tmp_path / file))
        columns, said = bring_in(tmp_path / file, "frictionless")
        assert list(columns) == ["sex", "age", "weight", "smokes", "born"]
        assert columns["sex"]["categories"] == ["f", "m"]
        assert not columns["sex"].get("nullable")
        assert (columns["age"]["min"], columns["age"]["max"]) == (0, 120)
        assert columns["smokes"]["true_values"] == ["yes"]
        assert columns["born"]["max"] == "2024-12-31"
        assert "'patient' is the primary key" in said


def test_a_schema_that_frictionless_described_from_a_file(visits, bring_in, tmp_path):
    visits.to_csv(tmp_path / "visits.csv", index=False)
    Schema.describe(str(tmp_path / "visits.csv")).to_json(str(tmp_path / "schema.json"))
    columns, said = bring_in(tmp_path / "schema.json", "frictionless")
    assert columns["age"]["type"] == "integer"
    assert "column 'age': the file has no bounds" in said


def test_frictionless_reads_what_we_export_and_finds_our_rows_valid(send_out, release):
    file, _ = send_out("frictionless")
    schema = Schema.from_descriptor(str(file.rename(file.with_suffix(".json"))))
    assert [field.type for field in schema.fields] == ["string", "string", "boolean", "integer", "number", "date"]
    with frictionless.system.use_context(trusted=True):
        report = Resource(path=str(release / "synthetic.csv"), schema=schema).validate()
        assert report.valid, report.to_summary()
        report = Package(str(release / "datapackage.json")).validate()
        assert report.valid, report.to_summary()
