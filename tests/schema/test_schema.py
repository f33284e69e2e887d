"""The schema file: what it accepts, what it refuses, and in which words."""

import json
from datetime import date, datetime
from pathlib import Path

import pytest

import sfumato.schema.schema
from sfumato.errors import SchemaError
from sfumato.schema.columns import Categorical, Integer
from sfumato.schema.schema import Schema

FULL = {
    "name": "visits",
    "source": "a clinic",
    "license": "CC BY 4.0",
    "rows_guess": 1000,
    "notes": "an example",
    "neighbours": "replace-one",
    "unit": {"rows": 3, "column": "patient"},
    "label": "sex",
    "columns": [
        {
            "name": "sex",
            "type": "categorical",
            "categories": ["f", "m"],
            "other": "x",
            "note": "codebook",
            "on_bad_value": "other",
        },
        {
            "name": "smokes",
            "type": "boolean",
            "true_values": ["yes"],
            "false_values": ["no"],
            "nullable": True,
        },
        {
            "name": "age",
            "type": "integer",
            "min": 0,
            "max": 120,
            "edges": [0, 18, 65, 120],
            "outside": "clip",
            "dtype": "int8",
        },
        {"name": "weight", "type": "number", "min": 0.5, "max": 250, "bins": 20, "decimals": 1},
        {"name": "born", "type": "date", "min": "1900-01-01", "max": "2024-12-31", "granularity": "year"},
        {
            "name": "seen",
            "type": "datetime",
            "min": "2024-01-01",
            "max": "2024-12-31T23:59:59",
            "granularity": "hour",
            "nullable": True,
            "null_values": ["?", "-"],
            "domain_from": "observed",
        },
    ],
}


def one(**keys):
    return {"name": "t", "columns": [{"name": "x", **keys}]}


def refusal(keys):
    with pytest.raises(SchemaError) as caught:
        Schema.parse(keys)
    return str(caught.value)


def test_a_full_schema_says_what_was_declared():
    schema = Schema.parse(FULL)
    assert schema.names == ("sex", "smokes", "age", "weight", "born", "seen")
    assert schema["sex"].labels == ("f", "m", "x")
    assert schema["smokes"].null_values == ("",)
    assert schema["born"].min == date(1900, 1, 1)
    assert schema["seen"].max == datetime(2024, 12, 31, 23, 59, 59)
    assert schema.observed == ("seen",)
    assert (schema.neighbours, schema.unit.rows, schema.unit.column) == ("replace-one", 3, "patient")


def test_defaults_are_the_documented_ones():
    schema = Schema.parse(one(type="boolean"))
    column = schema["x"]
    assert (schema.neighbours, schema.unit.rows, schema.unit.column, schema.label) == (
        "add-remove",
        1,
        None,
        None,
    )
    assert (column.nullable, column.null_values, column.domain_from) == (False, (), "declared")
    assert (schema.default_policy, column.on_bad_value, column.dtype) == ("refuse", None, None)


def test_to_dict_round_trips():
    schema = Schema.parse(FULL)
    assert Schema.parse(json.loads(json.dumps(schema.to_dict()))) == schema


@pytest.mark.parametrize("ending", ["json", "yaml", "yml"])
def test_json_and_yaml_files_are_the_same_schema(tmp_path, ending):
    path = tmp_path / f"schema.{ending}"
    path.write_text(json.dumps(FULL), encoding="utf-8")  # JSON is YAML too
    assert Schema.load(path) == Schema.parse(FULL)


def test_yaml_dates_need_no_quotes(tmp_path):
    path = tmp_path / "schema.yaml"
    path.write_text(
        "name: t\ncolumns:\n"
        "- {name: a, type: date, min: 2020-01-01, max: 2020-12-31}\n"
        "- {name: b, type: datetime, min: 2020-01-01, max: 2020-12-31 10:00:00}\n"
    )
    schema = Schema.load(path)
    assert schema["a"].max == date(2020, 12, 31)
    assert schema["b"].max == datetime(2020, 12, 31, 10)


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("missing.json", None, "cannot be read"),
        ("schema.txt", b"{}", "give a .json, .yaml or .yml file"),
        ("schema.json", b'{\n"name": }', "is not valid JSON (line 2)"),
        ("schema.yaml", b"name: [", "is not valid YAML (line 1)"),
        ("schema.json", b"\xff\xfe", "is not UTF-8"),
        ("schema.json", b"[1]", "not a mapping"),
    ],
)
def test_broken_files_are_refused(tmp_path, file, content, words):
    if content is not None:
        (tmp_path / file).write_bytes(content)
    with pytest.raises(SchemaError) as caught:
        Schema.load(tmp_path / file)
    assert words in str(caught.value)


def test_an_unknown_column_is_answered_with_those_that_exist():
    with pytest.raises(SchemaError, match="column 'agee' is not in the schema; it has sex, smokes, age"):
        Schema.parse(FULL)["agee"]


NUMBER = {"type": "number", "min": 0, "max": 1}
DATE = {"type": "date", "min": "2020-01-01", "max": "2020-12-31"}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"type": "integer", "min": 17, "max": 10}, "key 'max' is 10, below 'min' 17; give max >= min"),
        (
            {"type": "int"},
            "key 'type' is 'int'; give one of categorical, boolean, integer, number, date, datetime",
        ),
        ({}, "key 'type' is missing; give one of categorical, boolean, integer, number, date, datetime"),
        ({"type": "integer", "min": 1}, "key 'max' is missing; an integer column needs it"),
        ({"type": "integer", "min": "1", "max": 2}, "key 'min' is '1'; give a whole number"),
        ({"type": "integer", "min": True, "max": 2}, "key 'min' is True; give a whole number"),
        (
            {"type": "integer", "min": 0, "max": 2, "bins": 0},
            "key 'bins' is 0; give a number that is at least 1",
        ),
        (
            {"type": "integer", "min": 0, "max": 2, "bins": 4},
            "key 'bins' is 4, but min to max are 3 whole numbers; give fewer bins",
        ),
        (
            {"type": "integer", "min": 0, "max": 9, "bins": 2, "edges": [0, 9]},
            "keys 'bins' and 'edges' are both given; give one of them",
        ),
        (
            {"type": "integer", "min": 0, "max": 9, "edges": [1, 9]},
            "key 'edges' starts at 1, but 'min' is 0; the first edge must be min",
        ),
        (
            {"type": "integer", "min": 0, "max": 9, "edges": [0, 8]},
            "key 'edges' ends at 8, but 'max' is 9; the last edge must be max",
        ),
        (
            {"type": "integer", "min": 0, "max": 9, "edges": [0, 5, 5, 9]},
            "key 'edges' goes from 5 to 5; give edges that grow",
        ),
        (
            {"type": "integer", "min": 0, "max": 9, "outside": "drop"},
            "key 'outside' is 'drop'; give 'refuse' or 'clip'",
        ),
        (
            {"type": "integer", "min": 0, "max": 9, "nullable": True, "null_values": ["9.0"]},
            "key 'null_values' holds '9.0', which is also a value of the column; a text is either missing or a value",
        ),
        ({**NUMBER, "min": float("nan")}, "key 'min' is nan; give a finite number"),
        (
            {**NUMBER, "min": 0.05, "decimals": 1},
            "key 'min' is 0.05, which has more than 1 decimals; round it",
        ),
        (
            {**NUMBER, "max": 1e12, "decimals": 6},
            "key 'decimals' is 6, too fine for max 1000000000000.0; give fewer",
        ),
        (
            {**NUMBER, "decimals": 1, "bins": 20},
            "key 'bins' leaves a bin without any number that could be drawn; give fewer or wider bins",
        ),
        (
            {**NUMBER, "decimals": 1, "edges": [0, 0.01, 0.02, 1]},
            "key 'edges' leaves a bin without any number that could be drawn; give fewer or wider bins",
        ),
        (
            {"type": "number", "min": 0, "max": 5e-324, "bins": 3},
            "key 'bins' leaves a bin without any number that could be drawn; give fewer or wider bins",
        ),
        (
            {"type": "categorical", "categories": ["a", "a"]},
            "key 'categories' holds 'a' twice; each value may occur once",
        ),
        ({"type": "categorical", "categories": ["a", 1]}, "key 'categories' holds 1; give text in quotes"),
        (
            {"type": "categorical", "categories": []},
            "key 'categories' is []; give a longer list, with 1 or more in it",
        ),
        (
            {"type": "categorical", "categories": ["a"], "nullable": True, "null_values": ["a"]},
            "key 'null_values' holds 'a', which is also a value of the column; a text is either missing or a value",
        ),
        (
            {"type": "boolean", "null_values": ["?"]},
            "key 'null_values' needs a column that may be missing; set nullable to true or remove it",
        ),
        (
            {"type": "boolean", "nullable": True, "null_values": []},
            "key 'null_values' is empty; give the texts that stand for a missing value, or leave it out",
        ),
        (
            {"type": "boolean", "true_values": ["1", "false"]},
            "keys 'true_values' and 'false_values' both hold 'false'; give it to one of them",
        ),
        ({"type": "boolean", "nullable": "yes"}, "key 'nullable' is 'yes'; give true or false"),
        ({**DATE, "min": "1.1.2020"}, "key 'min' is '1.1.2020'; give an ISO date such as 2024-12-31"),
        (
            {**DATE, "granularity": "hour"},
            "key 'granularity' is 'hour'; give 'day', 'week', 'month', 'quarter' or 'year'",
        ),
        (
            {**DATE, "granularity": "year", "edges": ["2020-01-01", "2020-06-01", "2020-12-31"]},
            "key 'edges' leaves a bin without any year; give fewer or wider bins",
        ),
        (
            {**DATE, "format": "%Y-%m"},
            "key 'format' is '%Y-%m', which does not tell every day from min to max apart; "
            "give a format that can be read back",
        ),
        (
            {"type": "datetime", "min": "2020-01-01T00:00:00.5", "max": "2021-01-01"},
            "key 'min' is '2020-01-01T00:00:00.5'; "
            "give an ISO date and time in whole seconds such as 2024-12-31T23:59:59",
        ),
    ],
)
def test_a_wrong_column_is_refused_by_name_and_key(keys, message):
    assert refusal(one(**keys)) == f"column 'x': {message}"


INTEGERS = "int8, int16, int32, int64"
LABELS = {"type": "categorical", "categories": ["1", "200"]}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"type": "boolean", "dtype": "int32"},
            "key 'dtype' is 'int32'; the types of boolean columns are bool, string, int8",
        ),
        (
            {"type": "boolean", "dtype": "int8"},
            "key 'dtype' is 'int8', for 1 and 0; add '1' to 'true_values' and '0' to 'false_values'",
        ),
        (
            {**LABELS, "dtype": "text"},
            f"key 'dtype' is 'text'; the types of categorical columns are string, category, {INTEGERS}",
        ),
        (
            {**LABELS, "dtype": "int8"},
            "key 'dtype' is 'int8', which does not hold the category '200'; give 'string' or 'category'",
        ),
        (
            {**LABELS, "other": "rest", "dtype": "int64"},
            "key 'dtype' is 'int64', which does not hold the category 'rest'; give 'string' or 'category'",
        ),
        (
            {**LABELS, "categories": ["01"], "dtype": "int64"},
            "key 'dtype' is 'int64', which does not hold the category '01'; give 'string' or 'category'",
        ),
        (
            {"type": "integer", "min": 0, "max": 128, "dtype": "int8"},
            "key 'dtype' is 'int8', which does not hold 0 to 128; give a wider one",
        ),
        (
            {"type": "integer", "min": -(2**60), "max": 0, "dtype": "float64"},
            "key 'dtype' is 'float64', which cannot tell whole numbers above 2^53 apart; give 'int64'",
        ),
        (
            {"type": "integer", "min": 0, "max": 1, "dtype": "uint8"},
            f"key 'dtype' is 'uint8'; the types of integer columns are {INTEGERS}, float64, string",
        ),
        (
            {**NUMBER, "dtype": "float32"},
            "key 'dtype' is 'float32'; the types of number columns are float64, decimal(p,s), string",
        ),
        ({**NUMBER, "dtype": "decimal(4,2)"}, "key 'dtype' is 'decimal(4,2)'; give 'decimals' as well, of at most 2"),
        (
            {**NUMBER, "decimals": 3, "dtype": "decimal(4,2)"},
            "key 'dtype' is 'decimal(4,2)'; give 'decimals' as well, of at most 2",
        ),
        (
            {**NUMBER, "decimals": 2, "dtype": "decimal(2,2)"},
            "key 'dtype' is 'decimal(2,2)', which does not hold 0.0 to 1.0; give a higher precision",
        ),
        (
            {**NUMBER, "decimals": 2, "dtype": "decimal(2,3)"},
            "key 'dtype' is 'decimal(2,3)'; give a precision from 1 to 38 and a scale that is not above it",
        ),
        (
            {**DATE, "min": "1600-01-01", "granularity": "year", "dtype": "timestamp[ns]"},
            "key 'dtype' is 'timestamp[ns]', which holds the years 1678 to 2261; give 'timestamp[us]'",
        ),
    ],
)
def test_a_type_that_does_not_hold_the_column_is_refused(keys, message):
    assert refusal(one(**keys)) == f"column 'x': {message}"


def test_an_unknown_key_is_answered_with_those_of_its_type():
    assert refusal(one(type="boolean", trues=["1"])) == (
        "column 'x': key 'trues' is unknown; the keys of a boolean column are name, type, nullable, "
        "null_values, on_bad_value, dtype, domain_from, description, note, binned_from, compress, joint_bins, derived, "
        "levels, true_values, false_values"
    )


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"label": "y"}, "key 'label' is 'y', which is not a column; give one of x"),
        ({"neighbours": "both"}, "key 'neighbours' is 'both'; give 'add-remove' or 'replace-one'"),
        ({"unit": {"rows": 0}}, "key 'unit.rows' is 0; give a number that is at least 1"),
        (
            {"unit": {"row": 1}},
            "key 'unit.row' is unknown; the keys of 'unit' are rows, rows_from, column, keep, order_by, count",
        ),
        (
            {"unit": {"column": "x"}},
            "key 'unit.column' is 'x', which is also declared in 'columns'; "
            "a person identifier is never synthesised, so remove that column",
        ),
        (
            {"unit": {"column": "id", "keep": "first"}},
            "key 'unit' is {'column': 'id', 'keep': 'first'}; 'keep' first or latest needs 'order_by', and no other "
            "does; give both or neither",
        ),
        (
            {"unit": {"column": "id", "order_by": "x"}},
            "key 'unit' is {'column': 'id', 'order_by': 'x'}; 'keep' first or latest needs 'order_by', and no other "
            "does; give both or neither",
        ),
        (
            {"unit": {"keep": "latest", "order_by": "x"}},
            "key 'unit' is {'keep': 'latest', 'order_by': 'x'}; 'keep' needs 'column', which tells whose rows they are",
        ),
        (
            {"unit": {"column": "id", "keep": "latest", "order_by": "y"}},
            "key 'unit.order_by' is 'y', not a column; give one of x",
        ),
        (
            {"unit": {"column": "id", "keep": "latest", "order_by": "x"}},
            "key 'unit.order_by' is 'x', which has no order; give a date or a number",
        ),
        (
            {"unit": {"column": "id", "keep": "any"}},
            "key 'unit.keep' is 'any'; give 'random', 'first' or 'latest'",
        ),
        ({"columns": []}, "key 'columns' is []; give a longer list, with 1 or more in it"),
        (
            {"columns": [5]},
            "column number 1: the declaration is not a mapping of keys; give at least 'name' and 'type'",
        ),
        (
            {"columns": [{"type": "boolean"}]},
            "column number 1: key 'name' is missing; a boolean column needs it",
        ),
        ({"name": ""}, "key 'name' is ''; give a text that is not empty"),
        (
            {"rows_guess": 48842},
            "key 'rows_guess' is 48842, and the number of rows is private; "
            "give a public guess of one digit and zeros, such as 50000",
        ),
        (
            {"columns": [{"name": "x", "type": "boolean"}] * 2},
            "column 'x': key 'name' is given to several columns; each name may occur once",
        ),
    ],
)
def test_a_wrong_table_is_refused_by_key(keys, message):
    assert refusal({**one(type="boolean"), **keys}) == message


@pytest.mark.parametrize(
    "private", [{"rows": 48842}, {"splits": {"train": [0, 800]}}, {"rows": "lots", "splits": None}]
)
def test_the_number_of_rows_that_a_file_has_for_its_owner_goes_nowhere(private):
    keys = one(type="boolean")
    schema = Schema.parse(keys | private)
    assert schema == Schema.parse(keys)
    assert schema.to_dict() == Schema.parse(keys).to_dict()
    assert not any(str(value) in repr(schema) for value in private.values() if value)


@pytest.mark.parametrize(
    ("word", "source"),
    [
        ("declared", "declared"),
        ("codebook", "codebook"),
        ("codebook: UCI, 1996", "codebook"),
        ("known", "known"),
        ("observed", "observed"),
        ("Observed", "observed"),
        (" observed", "observed"),
        ("OBSERVED, rounded outward", "observed"),
        ("observed/declared", "observed"),
    ],
)
def test_the_first_word_says_where_a_domain_comes_from(word, source):
    schema = Schema.parse(one(type="boolean", domain_from=word))
    assert schema["x"].domain_from == source
    assert schema.observed == (("x",) if source == "observed" else ())
    assert Schema.parse(json.loads(json.dumps(schema.to_dict()))) == schema


@pytest.mark.parametrize("word", ["seen in the data", "", "not observed", "declaredobserved", "0bserved", 1, None, []])
def test_any_other_word_about_a_domain_is_refused(word):
    message = refusal(one(type="boolean", domain_from=word))
    assert "key 'domain_from' is" in message
    assert message.endswith("give 'declared', 'codebook', 'known' or 'observed'")


def test_several_problems_come_one_per_line_and_are_cut_short():
    lines = refusal({"name": "t", "columns": [{"name": f"c{i}"} for i in range(8)]}).split("\n")
    assert [line[:11] for line in lines[:5]] == [f"column 'c{i}'" for i in range(5)]
    assert lines[5:] == ["and 3 more problems"]


def test_values_do_not_change():
    schema = Schema.parse(FULL)
    with pytest.raises(Exception, match="frozen"):
        schema.label = "age"
    with pytest.raises(Exception, match="frozen"):
        schema["age"].max = 5


def test_a_thousand_categories_are_fine_and_other_may_be_one_of_them():
    many = [str(i) for i in range(1000)]
    column = Schema.parse(one(type="categorical", categories=many, other="7"))["x"]
    assert isinstance(column, Categorical)
    assert column.labels == tuple(many)


def test_without_bins_each_of_few_integers_has_its_own_code():
    column = Schema.parse(one(type="integer", min=-5, max=122))["x"]
    assert isinstance(column, Integer)
    assert len(column.binning()) == 128
    assert len(Schema.parse(one(type="integer", min=-5, max=123))["x"].binning()) == 32


def test_default_bins_never_leave_a_decimal_number_without_a_value():
    assert len(Schema.parse(one(**NUMBER, decimals=1))["x"].binning()) == 11
    assert len(Schema.parse(one(**NUMBER))["x"].binning()) == 32
    assert len(Schema.parse(one(type="number", min=2.5, max=2.5))["x"].binning()) == 1


def test_default_bins_of_dates_are_periods_until_there_are_many():
    assert len(Schema.parse(one(**DATE, granularity="week"))["x"].binning()) == 53
    assert len(Schema.parse(one(**DATE))["x"].binning()) == 64


def test_the_published_json_schema_is_up_to_date():
    published = Path(sfumato.schema.schema.__file__).with_name("schema.schema.json")
    wanted = json.dumps(Schema.json_schema(), indent=1) + "\n"
    assert published.read_text(encoding="utf-8") == wanted, "write Schema.json_schema() to schema/schema.schema.json"


def test_the_example_of_the_documentation_is_a_schema():
    page = (Path(__file__).parents[2] / "docs" / "schema.md").read_text(encoding="utf-8")
    example = page.partition("```json\n")[2].partition("```")[0]
    assert Schema.parse(json.loads(example)).unit.column == "patient"


def test_the_documentation_names_every_key():
    page = (Path(__file__).parents[2] / "docs" / "schema.md").read_text(encoding="utf-8")
    kinds = Schema.json_schema()["$defs"].values()
    keys = {key for kind in kinds for key in kind.get("properties", ())} | set(Schema.model_fields)
    assert [key for key in sorted(keys) if f"`{key}`" not in page] == []
