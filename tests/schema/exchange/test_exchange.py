"""Schemas of other tools: what comes over, what is listed as lost, and that nothing comes over as confirmed."""

import json
from pathlib import Path

import pytest
import yaml

from sfumato.errors import SchemaError
from sfumato.schema.exchange import EXPORTS, IMPORTS, export_schema, import_schema
from sfumato.schema.schema import Schema

FILES = Path(__file__).parent / "files"

VISITS = Schema.parse(
    {
        "name": "visits",
        "columns": [
            {"name": "sex", "type": "categorical", "categories": ["f", "m"]},
            {"name": "grade", "type": "categorical", "categories": ["low", "o'hara", "high"], "ordered": True},
            {"name": "smokes", "type": "boolean", "nullable": True},
            {"name": "age", "type": "integer", "min": 0, "max": 120, "bins": 12, "outside": "clip"},
            {"name": "weight", "type": "number", "min": 0.0, "max": 250.5, "decimals": 1, "nullable": True},
            {"name": "born", "type": "date", "min": "1900-01-01", "max": "2024-12-31", "granularity": "year"},
        ],
        "rules": [{"if": {"age": {"max": 15}}, "then": {"grade": ["low"]}}],
    }
)


@pytest.mark.parametrize("form", sorted(set(IMPORTS) & set(EXPORTS)))
def test_what_is_exported_comes_back_or_is_listed_as_lost(form, tmp_path):
    exported = export_schema(VISITS, form)
    file = tmp_path / "visits.schema"
    file.write_text(exported.text, encoding="utf-8")
    carried = import_schema(file, form)
    back = {column["name"]: column for column in carried.keys["columns"]}
    for column in VISITS.to_dict()["columns"]:
        if column["name"] not in back:
            assert any(repr(column["name"]) in sentence for sentence in exported.lost), column["name"]
            continue
        found = back[column["name"]]
        for key in ("categories", "min", "max"):
            if key in column and found["type"] == column["type"] and form != "domain-json":
                assert str(found[key]).startswith(str(column[key])), (column["name"], key)
    for key in ("rules", "bins", "granularity"):
        assert any(repr(key) in sentence for sentence in exported.lost) or form in ("frictionless", "domain-json")


def test_a_frictionless_schema_comes_back_whole(tmp_path):
    file = tmp_path / "visits.json"
    file.write_text(export_schema(VISITS, "frictionless").text)
    keys = import_schema(file, "frictionless").keys
    for column in keys["columns"]:
        assert column.pop("domain_from").startswith("observed")
    assert Schema.parse(keys) == VISITS


@pytest.mark.parametrize("form", sorted(IMPORTS))
def test_imported_domains_are_unconfirmed(form):
    file = next(FILES.glob(f"{form}.*"))
    carried = import_schema(file, form)
    assert carried.keys["columns"]
    assert all(column["domain_from"] == f"observed, imported from {file.name}" for column in carried.keys["columns"])
    if not carried.open:
        assert Schema.parse(carried.keys).observed == tuple(column["name"] for column in carried.keys["columns"])


def test_sql_checks_become_domains_and_others_are_listed():
    carried = import_schema(FILES / "sql.sql", "sql")
    columns = {column["name"]: column for column in carried.keys["columns"]}
    assert carried.keys["name"] == "visits"
    assert "patient id" not in columns
    assert columns["sex"]["categories"] == ["f", "m", "o'x"]
    assert columns["mood"]["categories"] == ["sad", "ok", "happy"]
    assert (columns["age"]["min"], columns["age"]["max"]) == (0, 120)
    assert columns["price"]["decimals"] == 2
    assert columns["seen"]["nullable"]
    assert any("seen" in sentence and "left" in sentence for sentence in carried.lost)
    assert any("'price'" in sentence for sentence in carried.open)


def test_a_dump_of_postgresql_is_read_with_keys_and_checks_that_come_later():
    carried = import_schema(FILES / "dump.sql", "sql")  # written by pg_dump 15, comments taken out
    columns = {column["name"]: column for column in carried.keys["columns"]}
    assert list(columns) == ["ward", "age", "sex", "remark", "cost", "seen", "code", "doctor"]
    assert columns["ward"]["categories"] == ["surgery", "children's"]
    assert columns["sex"]["categories"] == ["f", "m"]
    assert columns["remark"]["categories"] == ["a::b", "no; never"]
    assert (columns["age"]["min"], columns["age"]["max"]) == (0, 120)
    assert (columns["cost"]["min"], columns["cost"]["max"], columns["cost"]["decimals"]) == (0, 99999.5, 2)
    assert (columns["seen"]["min"], columns["seen"]["max"]) == ("2020-01-01", "2024-12-31")
    for word in ("'id' is a key", "'case_number' is a key", "length(code)", "age < 200", "FOREIGN KEY (doctor)"):
        assert any(word in sentence for sentence in carried.lost), word


def test_a_key_of_another_table_is_not_ours(tmp_path):
    file = tmp_path / "two.sql"
    file.write_text(
        "CREATE TABLE a (x integer NOT NULL CHECK (x BETWEEN 1 AND 9));\n"
        "ALTER TABLE ONLY public.b ADD CONSTRAINT b_pkey PRIMARY KEY (x);\n"
        "CREATE UNIQUE INDEX i ON b (x);"
    )
    assert [column["name"] for column in import_schema(file, "sql").keys["columns"]] == ["x"]


def test_files_of_sdv_without_domains_ask_for_them(tmp_path):
    file = tmp_path / "m.json"
    columns = {"age": {"sdtype": "numerical"}, "sex": {"sdtype": "categorical"}, "mail": {"sdtype": "email"}}
    columns["id"] = {"sdtype": "id"}
    file.write_text(json.dumps({"columns": columns, "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "primary_key": "id"}))
    carried = import_schema(file, "sdv")
    assert [column["name"] for column in carried.keys["columns"]] == ["age", "sex", "mail"]
    assert len(carried.open) == 3
    assert any("'mail'" in sentence for sentence in carried.lost)
    assert any("'id'" in sentence for sentence in carried.lost)


@pytest.mark.parametrize("form", sorted(IMPORTS))
@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"columns": -3}', b"\xff\xfe\x00", b"create table", b"a: [", b"null"]
)
def test_files_that_are_none_are_refused(form, content, tmp_path):
    file = tmp_path / "x"
    file.write_bytes(content)
    with pytest.raises(SchemaError):
        import_schema(file, form)


def test_unknown_tools_and_missing_files_are_refused(tmp_path):
    with pytest.raises(SchemaError, match="give one of sdv"):
        import_schema(tmp_path / "x", "excel")
    with pytest.raises(SchemaError, match="cannot be read"):
        import_schema(tmp_path / "x", "sdv")
    with pytest.raises(SchemaError, match="give one of sdv"):
        export_schema(VISITS, "excel")


def test_the_catalogue_of_a_database_gives_names_types_and_what_is_missing(tmp_path):
    carried = import_schema(FILES / "information-schema.csv", "information-schema")
    kinds = {column["name"]: column["type"] for column in carried.keys["columns"]}
    assert kinds == {
        "id": "integer", "sex": "categorical", "age": "integer", "weight": "number", "seen": "datetime",
        "born": "date", "smokes": "boolean", "place": "categorical",
    }  # fmt: skip
    assert [column["name"] for column in carried.keys["columns"] if not column.get("nullable")] == ["id", "sex"]
    assert next(column for column in carried.keys["columns"] if column["name"] == "weight")["decimals"] == 1
    assert any("keys and CHECK" in words for words in carried.lost)
    assert any("'point'" in words for words in carried.lost)
    assert any("'age'" in words for words in carried.open)
    both = tmp_path / "both.json"
    both.write_text(json.dumps([{"table_name": name, "column_name": "a", "data_type": "date"} for name in "xy"]))
    with pytest.raises(SchemaError, match="columns of 2 tables"):
        import_schema(both, "information-schema")


def test_what_sdv_detects_says_nothing_that_would_be_lost_but_its_key():
    carried = import_schema(FILES / "sdv.json", "sdv")
    assert [words for words in carried.lost if "'id'" not in words] == []
    assert {column["name"]: column["type"] for column in carried.keys["columns"]}["smokes"] == "boolean"
    older = import_schema(FILES / "sdv-v1.json", "sdv")
    assert [column["name"] for column in older.keys["columns"]] == ["sex", "age", "seen", "smokes"]
    assert len(older.open) == 4


def test_a_key_of_several_columns_is_listed_and_its_columns_stay(tmp_path):
    file = tmp_path / "m.json"
    columns = {name: {"sdtype": "categorical", "range_values": ["x", "y"]} for name in ("ward", "bed")}
    file.write_text(json.dumps({"columns": columns, "primary_key": ["ward", "bed"]}))
    carried = import_schema(file, "sdv")
    assert carried.lost == ("the key of 2 columns: ward, bed",)
    assert [column["name"] for column in carried.keys["columns"]] == ["ward", "bed"]


def test_a_boolean_that_may_be_missing_stays_so_in_sdv(tmp_path):
    file = tmp_path / "m.json"
    file.write_text(export_schema(VISITS, "sdv").text)
    assert {column["name"]: column for column in import_schema(file, "sdv").keys["columns"]}["smokes"]["nullable"]


def test_every_key_that_is_set_and_has_no_word_elsewhere_is_listed():
    schema = Schema.parse(
        {
            "name": "visits", "license": "CC0-1.0", "on_bad_value": "missing", "rows_guess": 5000, "label": "sex",
            "columns": [
                {"name": "sex", "type": "categorical", "categories": ["f", "m"], "ordered": True, "nullable": True},
                {"name": "days", "type": "integer", "min": 0, "max": 30, "special": [999], "nullable": True},
                {"name": "smokes", "type": "boolean", "true_values": ["1"], "false_values": ["0"], "nullable": True},
            ],
        }
    )  # fmt: skip
    for form in set(EXPORTS) - {"frictionless", "croissant", "domain-json"}:
        lost = " ".join(export_schema(schema, form).lost)
        for key in ("license", "on_bad_value", "rows_guess", "label", "special", "true_values"):
            assert repr(key) in lost, (form, key)
        assert ("'ordered'" in lost) == (form != "sdv")


def test_a_domain_of_dpsynth_says_what_becomes_of_other_values():
    carried = import_schema(FILES / "dpsynth.yaml", "dpsynth")
    columns = {column.pop("name"): column for column in carried.keys["columns"]}
    assert {column.pop("domain_from") for column in columns.values()} == {"observed, imported from dpsynth.yaml"}
    assert columns == {
        "age": {"type": "integer", "min": 17, "max": 90, "outside": "clip", "note": "in years"},
        "city": {"type": "categorical", "categories": ["Basel", "Bern", "<OOD>"], "other": "<OOD>"},
        "sex": {"type": "categorical", "categories": ["unknown", "f", "m"], "other": "unknown"},
        "smokes": {"type": "boolean"},
        "ward": {"type": "categorical", "categories": ["1", "2", "-1"], "other": "-1"},
        "weight": {"type": "number", "min": 0.0, "max": 250.5, "nullable": True, "on_bad_value": "missing"},
    }
    assert carried.lost == (
        "that the values of column 'city' are found in the data: only declared ones are synthesised",
        "column 'note' is free text, which is never synthesised; it is left out",
        "key 'out_of_domain_index' of column 'smokes': other values are bad values here",
        "key 'interval_handling' of column 'weight'",
        "key 'sentinel' of column 'weight'",
    )


def test_dpsynth_gets_labels_of_one_type_and_no_null():
    """It refuses null and mixed types, and compares its labels with what pandas reads from a file."""
    exported = export_schema(VISITS, "dpsynth")
    found = yaml.safe_load(exported.text)
    assert {name: said["type"] for name, said in found.items()} == {
        "sex": "CategoricalAttribute", "grade": "CategoricalAttribute", "smokes": "CategoricalAttribute",
        "age": "NumericalAttribute", "weight": "NumericalAttribute",
    }  # fmt: skip
    assert found["smokes"]["possible_values"] == ["(missing)", "False", "True"]
    assert (found["age"]["clip_to_range"], found["weight"]["clip_to_range"]) == (True, False)
    truth = Schema.parse({"name": "t", "columns": [{"name": "smokes", "type": "boolean"}]})
    assert yaml.safe_load(export_schema(truth, "dpsynth").text)["smokes"]["possible_values"] == [False, True]
    assert "column 'born': there are no dates" in exported.lost
    assert "column 'smokes': what is missing or unknown becomes the label '(missing)'" in exported.lost
    assert "column 'weight': a value outside the bounds becomes missing" in exported.lost
    assert not any("'age': a value outside" in words for words in exported.lost)
