"""Rows that break a rule are given a place, by themselves, or refused; a run never depends on them otherwise."""

import numpy as np
import pyarrow as pa
import pytest

from helpers_rules import COLUMNS, KINDS, careless_table, random_schema, schema_with
from sfumato.errors import DataError, SchemaError
from sfumato.fitting import fit
from sfumato.intake.attributes import Attributes
from sfumato.intake.checking import problems
from sfumato.intake.codec import SchemaCodec
from sfumato.intake.intake import Intake
from sfumato.intake.obedience import Obedience
from sfumato.intake.ruled import Ruled
from sfumato.schema.schema import Schema
from sfumato.synthesize.repair import broken

TABLE = careless_table(300)


def forgiving(schema):
    """The same rules where every column may be missing, and no value stops a run; None if rules forbid that."""
    columns = [{**column, "nullable": True} for column in COLUMNS]
    try:
        return Schema.parse(schema.to_dict() | {"columns": columns, "on_bad_value": "missing"})
    except SchemaError:  # a rule of this form may not speak of missing values
        return None


FORGIVING = {seed: schema for seed in range(14) if (schema := forgiving(random_schema(seed)))}
SCHEMAS = {f"missing {seed}": schema for seed, schema in FORGIVING.items()}
SCHEMAS |= {f"nothing said {seed}": random_schema(seed) for seed in range(14)}


@pytest.mark.parametrize("name", SCHEMAS)
def test_no_row_stops_a_run_and_every_row_obeys(name):
    schema = SCHEMAS[name]
    ruled = Ruled(schema)
    codes = Attributes(schema).encode(SchemaCodec(schema).encode(TABLE))
    placed = Intake(schema).encode(TABLE).records
    bad = broken(codes, ruled.checks)
    assert bad.any()
    assert not broken(placed, ruled.checks).any()
    for name in codes.domain:  # who obeys is left alone
        np.testing.assert_array_equal(placed[name][~bad], codes[name][~bad])


@pytest.mark.parametrize("name", [*list(SCHEMAS)[:3], *list(SCHEMAS)[-3:]])
def test_what_becomes_of_a_row_depends_on_that_row_alone(name):
    intake = Intake(SCHEMAS[name])
    together = intake.encode(TABLE).records
    order = np.random.default_rng(0).permutation(len(TABLE))
    mixed = intake.encode(TABLE.take(pa.array(order))).records
    few = [intake.encode(TABLE.slice(row, 1)).records for row in range(20)]
    for name in together.domain:
        np.testing.assert_array_equal(mixed[name], together[name][order])
        assert [one[name][0] for one in few] == together[name][:20].tolist()


PERSON = {
    "name": "people",
    "columns": [
        {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 10},
        {"name": "status", "type": "categorical", "categories": ["single", "married", "?"], "other": "?"},
        {"name": "pension", "type": "integer", "min": 0, "max": 9, "nullable": True},
    ],
    "rules": [
        {"if": {"age": {"max": 15}}, "then": {"status": ["single", "?"]}},
        {"if": {"pension": {"min": 4}}, "then": {"age": {"min": 60}}},
    ],
}
PEOPLE = pa.table(
    {"age": [10, 10, 70, 30], "status": ["married", "single", "married", "single"], "pension": [0, 0, 9, 8]}
)


def person(**policies):
    columns = [
        {**column, **({"on_bad_value": policies[column["name"]]} if column["name"] in policies else {})}
        for column in PERSON["columns"]
    ]
    return Schema.parse(PERSON | {"columns": columns})


REFUSING = {"age": "refuse", "status": "refuse", "pension": "refuse"}


def codes_of(schema, names=("status", "pension")):
    rows = Intake(schema).encode(PEOPLE).records
    return [tuple(int(rows[name][row]) for name in names) for row in range(4)]


def test_a_policy_says_what_a_row_counts_as():
    """The child is not married, and at 30 the pension is not 8; both rows that obey stay as they are."""
    missing = len(Schema.parse(PERSON)["pension"].binning())
    keep = {"age": "refuse"}
    assert codes_of(person(**keep, status="other", pension="missing")) == [(2, 0), (0, 0), (1, 9), (0, missing)]
    assert codes_of(person(**keep, status="other", pension="clip")) == [(2, 0), (0, 0), (1, 9), (0, 3)]


def test_where_nothing_is_said_a_row_counts_as_the_nearest_one():
    """Columns change in the order of the schema: a married child is as old as married ones, and so is the pensioner."""
    assert [column.on_bad_value for column in person().columns] == [None] * 3
    schema = person()
    bins = schema["age"].binning()
    ages = bins.code(np.array([16, 10, 70, 60])).tolist()
    found = codes_of(schema, ("age", "status", "pension"))
    assert found == [(ages[0], 1, 0), (ages[1], 0, 0), (ages[2], 1, 9), (ages[3], 0, 8)]


def test_a_run_does_not_depend_on_whether_rows_obey():
    release = fit(PEOPLE, person(), epsilon=1, method="privbayes")
    questions = [event.question for _, event in release.ledger.entries]
    assert "a row that breaks a rule counts as one that obeys" in questions
    assert "a value that breaks the schema would have stopped the run" in questions


def test_refusals_of_the_whole_table_are_kept_where_they_are_written_down():
    schema = Schema.parse(PERSON | {"on_bad_value": "refuse"})
    assert schema.to_dict()["on_bad_value"] == "refuse"
    assert schema.rules_may_refuse
    assert not Schema.parse(PERSON).rules_may_refuse
    with pytest.raises(DataError, match="rule number 1"):
        Intake(schema).encode(PEOPLE)


@pytest.mark.parametrize(
    ("policies", "number"),
    [(REFUSING, 1), (REFUSING | {"pension": "missing"}, 1), (REFUSING | {"status": "other"}, 2)],
    ids=["all", "1", "2"],
)
def test_a_row_without_a_place_is_refused_by_rule_and_not_by_value(policies, number):
    with pytest.raises(DataError, match=f"rule number {number}, .*: a row breaks it. Say what becomes") as refusal:
        fit(PEOPLE, person(**policies), epsilon=1, method="privbayes")
    assert not any(value in str(refusal.value) for value in ("30", "10", "married'"))


def test_the_ledger_says_that_a_row_could_have_stopped_the_run():
    obeying = PEOPLE.take(pa.array([1, 2]))
    release = fit(obeying, person(**REFUSING), epsilon=1, method="privbayes")
    questions = [event.question for _, event in release.ledger.entries]
    assert "a value that breaks the schema, or a row that breaks a rule, would have stopped the run" in questions


def test_the_steward_is_told_which_rows():
    told = [
        (one.column, one.others, one.rows.tolist(), one.stops)
        for one in problems(PEOPLE, person(**REFUSING | {"pension": "clip"}))
    ]
    assert told == [("age", ("status",), [0], True), ("pension", ("age",), [3], False)]


def test_derived_columns_follow_what_was_changed():
    grown = {"name": "grown", "type": "categorical", "categories": ["child", "adult"]}
    grown["derived"] = {"of": "age", "edges": [0, 20, 99], "values": ["child", "adult"]}
    age = {**PERSON["columns"][0], "nullable": True, "on_bad_value": "clip"}
    rule = {"if": {"status": ["married"]}, "then": {"grown": ["adult"]}}
    columns = [age, PERSON["columns"][1], {**grown, "nullable": True}]
    schema = Schema.parse(PERSON | {"columns": columns, "rules": [rule]})
    table = pa.table({"age": [10, 30], "status": ["married", "married"], "grown": ["adult", "child"]})
    rows = Intake(schema).encode(table).records  # what the table says in a derived column does not count
    assert not broken(rows, Ruled(schema).checks).any()
    assert rows["age"][1] == SchemaCodec(schema).encode(table)["age"][1]


def test_nobody_is_left_out():
    """Rules over sums have no cells in which the nearest value could be looked up: such rows become the public one."""
    schema = forgiving(schema_with([KINDS["a sum"](None), KINDS["a chain"](None)]))
    placed = Obedience(schema).placed(SchemaCodec(schema).encode(TABLE))
    assert len(placed.columns) == len(TABLE)
    assert not placed.broken.any()
