from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from sfumato.data.records import Records
from sfumato.errors import DataError, SchemaError
from sfumato.evaluate.rules import violations
from sfumato.intake.codec import SchemaCodec
from sfumato.schema.rules import Rule, rule_problems
from sfumato.schema.schema import Schema

STATUS = ["single", "married", "widowed"]
GRADES = ["low", "middle", "high"]
SCHEMA = Schema.parse(
    {
        "name": "people",
        "columns": [
            {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 5},
            {"name": "status", "type": "categorical", "categories": STATUS, "nullable": True},
            {"name": "income", "type": "number", "min": 0.0, "max": 10.5, "nullable": True, "null_values": ["?"]},
            {"name": "in", "type": "date", "min": "2020-01-01", "max": "2020-12-31", "nullable": True},
            {"name": "out", "type": "datetime", "min": "2020-01-01", "max": "2020-12-31"},
            {"name": "before", "type": "categorical", "categories": GRADES, "ordered": True, "other": "unknown"},
            {"name": "after", "type": "categorical", "categories": GRADES, "ordered": True},
            {"name": "smokes", "type": "boolean", "true_values": ["yes"], "false_values": ["no"], "nullable": True},
        ],
    }
)
YOUNG = {"age": {"max": 15}}
TABLE = pa.table(
    {
        "age": [10, 15, 16, 15],
        "status": ["single", "married", "married", None],
        "income": [0.0, None, 5.0, 10.5],
        "in": [date(2020, 3, 2), date(2020, 3, 2), None, date(2020, 3, 1)],
        "out": pa.array(
            [datetime(2020, 3, 2), datetime(2020, 3, 1, 23), datetime(2020, 1, 1), datetime(2020, 3, 1, 1)]
        ),
        "before": ["low", "high", "strange", "middle"],
        "after": ["low", "middle", "high", "high"],
        "smokes": [True, False, None, True],
    }
)
TEXT = pa.table(
    {
        "age": ["10", "15", "16", "15"],
        "status": ["single", "married", "married", ""],
        "income": ["0", "?", "5.0", "10.5"],
        "in": ["2020-03-02", "2020-03-02", "", "2020-03-01"],
        "out": ["2020-03-02", "2020-03-01T23:00:00", "2020-01-01", "2020-03-01T01:00:00"],
        "before": pa.array(["low", "high", "strange", "middle"]).dictionary_encode(),
        "after": ["low", "middle", "high", "high"],
        "smokes": ["yes", "no", "", "yes"],
    }
)
BY_HAND = [
    ({"if": YOUNG, "then": {"status": ["single"]}}, 2 / 4),  # a missing status is not "single"
    ({"if": YOUNG, "then": {"status": ["single", None]}}, 1 / 4),
    ({"if": {"age": [10, 16]}, "then": {"status": ["single"]}}, 1 / 4),
    ({"if": {"status": [None]}, "then": {"income": {"min": 10.5}}}, 0.0),
    ({"if": {"age": {"min": 15, "max": 15}}, "then": {"income": [None]}}, 1 / 4),
    ({"if": {"age": {"min": 11}, "status": ["married"]}, "then": {"smokes": [False]}}, 1 / 4),
    ({"if": {"smokes": ["yes"]}, "then": {"income": {"min": 1}, "age": {"max": 20}}}, 1 / 4),
    ({"if": {"before": {"max": "middle"}}, "then": {"after": ["low"]}}, 1 / 4),
    ({"if": {"before": ["unknown"]}, "then": {"smokes": [True, False]}}, 1 / 4),
    ({"if": {"in": {"min": "2020-03-02"}}, "then": {"income": {"min": 0.0}}}, 1 / 4),
    ({"if": {"out": {"max": "2020-03-01T12:00:00"}}, "then": {"after": ["high"]}}, 0.0),
    ({"less_or_equal": ["in", "out"]}, 1 / 4),
    ({"less_or_equal": ["age", "income"]}, 3 / 4),
]


@pytest.mark.parametrize("table", [TABLE, TEXT], ids=["typed", "text"])
@pytest.mark.parametrize(("keys", "wanted"), BY_HAND, ids=lambda value: str(value)[:50])
def test_shares_by_hand(table, keys, wanted):
    assert violations(table, [Rule.model_validate(keys)], SCHEMA.columns) == (pytest.approx(wanted),)


def test_values_inside_a_bin_matter():
    # Ages 0 … 19 are one bin: a sample of it breaks the rule wherever a child of up to 15 comes out, 16 times in 20.
    codec = SchemaCodec(SCHEMA)
    records = Records(codec.domain, [np.zeros(4000, int), np.ones(4000, int), *[np.zeros(4000, int)] * 6])
    decoded = codec.decode(records, np.random.default_rng(0))
    rule = Rule.model_validate({"if": YOUNG, "then": {"status": ["single"]}})
    assert violations(decoded, [rule], SCHEMA.columns)[0] == pytest.approx(16 / 20, abs=0.03)


def test_no_rules_and_no_rows():
    assert violations(TABLE, [], SCHEMA.columns) == ()
    rules = [Rule.model_validate(keys) for keys, _ in BY_HAND]
    assert violations(TABLE.slice(0, 0), rules, SCHEMA.columns) == (0.0,) * len(rules)


@pytest.mark.parametrize("keys", [keys for keys, _ in BY_HAND], ids=lambda value: str(value)[:50])
def test_a_rule_is_written_as_it_was_read(keys):
    rule = Rule.model_validate(keys)
    assert rule.model_dump(mode="json", exclude_defaults=True) == keys
    assert Rule.model_validate(rule.model_dump(mode="json")) == rule
    assert hash(Rule.model_validate(keys)) == hash(rule)
    assert list(rule_problems([rule], SCHEMA.columns)) == []


def test_a_rule_reads_as_a_sentence():
    rule = Rule.model_validate({"if": {"age": {"min": 3, "max": 15}}, "then": {"status": ["single", None]}})
    assert str(rule) == "if age is at least 3 and at most 15, then status is single or missing"


def test_dates_of_yaml_are_dates():
    rule = Rule.model_validate({"if": {"in": {"min": date(2020, 3, 2)}}, "then": {"smokes": [True]}})
    assert rule.root.if_["in"].min == "2020-03-02"


def implied(condition):
    return {"if": YOUNG, "then": condition}


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        (implied({"aeg": [1]}), "column 'aeg' is not in the schema; it has age, status"),
        ({"less_or_equal": ["age", "aeg"]}, "column 'aeg' is not in the schema"),
        (implied({"status": ["divorced"]}), "column 'status': 'divorced' is not a value of its domain"),
        (implied({"age": [100]}), "column 'age': 100 is not a value of its domain"),
        (implied({"age": [1.5]}), "column 'age': 1.5 is not a value of its domain"),
        (implied({"age": [True]}), "column 'age': True is not a value of its domain"),
        (implied({"age": ["10"]}), "column 'age': '10' is not a value of its domain"),
        (implied({"smokes": ["maybe"]}), "column 'smokes': 'maybe' is not a value of its domain"),
        (implied({"smokes": [1]}), "column 'smokes': 1 is not a value of its domain"),
        (implied({"in": {"min": "2021-01-01"}}), "column 'in': '2021-01-01' is not a value of its domain"),
        (implied({"in": {"min": "soon"}}), "column 'in': 'soon' is not a value of its domain"),
        (implied({"in": {"min": 7}}), "column 'in': 7 is not a value of its domain"),
        (implied({"age": [None]}), "column 'age': null is given, but no value may be missing"),
        (implied({"status": {"max": "married"}}), "column 'status' has no order"),
        (implied({"smokes": {"max": True}}), "column 'smokes' has no order"),
        (implied({"age": {"min": 9, "max": 8}}), "column 'age': max 8 lies below min 9; give max >= min"),
        ({"less_or_equal": ["age", "age"]}, "column 'age' is compared with itself"),
        ({"less_or_equal": ["age", "status"]}, "column 'status' has no order; compare ordered columns"),
        ({"less_or_equal": ["age", "in"]}, "columns 'age' (integer) and 'in' (date) are of different kinds"),
        ({"less_or_equal": ["age", "after"]}, "columns 'age' (integer) and 'after' (categorical) are of different"),
        ({"less_or_equal": ["before", "after"]}, "columns 'before' and 'after' have different categories"),
    ],
)
def test_a_rule_that_does_not_fit_the_columns_is_refused(keys, problem):
    rules = [Rule.model_validate({"less_or_equal": ["in", "out"]}), Rule.model_validate(keys)]
    (found,) = list(rule_problems(rules, SCHEMA.columns))[:1]
    assert found.startswith(f"rule number 2: {problem}")
    with pytest.raises(SchemaError, match="rule number 2"):
        violations(TABLE, rules, SCHEMA.columns)


FORMS = "a rule has the keys 'if' and 'then', or one of 'then', 'less_or_equal'"
CONDITIONS = "give a list of values such as"


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({}, FORMS),
        ("age < 3", FORMS),
        ({"if": YOUNG}, FORMS),
        ({"if": YOUNG, "then": YOUNG, "less_or_equal": ["in", "out"]}, FORMS),
        ({"iff": YOUNG, "then": YOUNG}, FORMS),
        ({"if": YOUNG, "then": None}, "a key of the rule has no value"),
        ({"less_or_equal": None}, "a key of the rule has no value"),
        ({"if": {}, "then": YOUNG}, "a key of the rule has no value"),
        ({"less_or_equal": ["in"]}, "at least 2"),
        (implied({"age": []}), CONDITIONS),
        (implied({"age": {}}), CONDITIONS),
        (implied({"age": 15}), CONDITIONS),
        (implied({"age": {"maximum": 15}}), CONDITIONS),
        (implied({"age": {"min": None}}), CONDITIONS),
        (implied({"age": [[1]]}), "a value of a rule is a text"),
        (implied({"income": {"max": float("nan")}}), "a value of a rule is a text"),
    ],
    ids=str,
)
def test_what_is_no_rule_is_refused(keys, problem):
    with pytest.raises(ValidationError, match=problem):
        Rule.model_validate(keys)


def test_tables_that_do_not_fit_are_refused_without_quoting_a_value():
    rule = Rule.model_validate({"less_or_equal": ["in", "out"]})
    with pytest.raises(DataError, match="the table lacks the column 'out'"):
        violations(TABLE.drop_columns(["out"]), [rule], SCHEMA.columns)
    numbers = Rule.model_validate({"less_or_equal": ["age", "income"]})
    for broken, rules in (
        (TEXT.set_column(0, "age", [["secret"] * 4]), [numbers]),
        (TEXT.set_column(3, "in", [["secret"] * 4]), [rule]),
    ):
        with pytest.raises(DataError, match=r"a value cannot be read as (integer|date)") as refusal:
            violations(broken, rules, SCHEMA.columns)
        assert "secret" not in str(refusal.value)
