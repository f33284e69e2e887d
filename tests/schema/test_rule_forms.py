"""Rules: what they say, where they cut bins, and which of them cannot stand together."""

import json

import numpy as np
import pytest

from helpers_rules import COLUMNS, KINDS, schema_with
from sfumato.data.records import Records
from sfumato.errors import SchemaError
from sfumato.evaluate.rules import violations
from sfumato.intake.attributes import Attributes
from sfumato.intake.codec import SchemaCodec
from sfumato.intake.ruled import Ruled
from sfumato.schema.rules import Rule
from sfumato.schema.schema import Schema
from sfumato.synthesize.repair import repaired


def test_every_kind_is_written_as_it_was_read():
    for make in KINDS.values():
        keys = make(np.random.default_rng(0))
        rule = Rule.model_validate(keys)
        assert rule.model_dump(mode="json") == keys
        schema = schema_with([keys])
        assert Schema.parse(json.loads(json.dumps(schema.to_dict()))) == schema
        assert hash(rule) == hash(Rule.model_validate(keys))


def bins_of(rule):
    schema = schema_with([rule])
    return {column.name: column.cuts for column in schema.columns if getattr(column, "cuts", ())}


@pytest.mark.parametrize(
    ("condition", "cuts"),
    [
        ({"part": {"max": 15}}, (16,)),
        ({"part": {"below": 15}}, (15,)),
        ({"part": {"min": 15}}, (15,)),
        ({"part": {"above": 15}}, (16,)),
        ({"part": [15]}, (15, 16)),
        ({"part": {"not": [39]}}, (39,)),
        ({"part": {"min": 0}}, ()),
        ({"low": {"max": 3.5}}, (3.6,)),
        ({"low": {"above": 3.55}}, (3.6,)),
        ({"high": {"max": 3.5}}, (np.nextafter(3.5, 4),)),
        ({"high": {"below": 3.5}}, (3.5,)),
        ({"start": {"max": "2024-05-17"}}, ("2024-05-18",)),
        ({"seen": {"min": "2024-05-17"}}, ("2024-06-01T00:00:00",)),
    ],
    ids=str,
)
def test_bins_begin_where_a_condition_changes(condition, cuts):
    (name,) = condition
    found = bins_of({"if": {"one": [True]}, "then": condition}).get(name, ())
    assert tuple(cut.isoformat() if hasattr(cut, "isoformat") else cut for cut in found) == cuts


def test_no_bin_is_half_meant():
    rng = np.random.default_rng(5)
    schema = schema_with([{"if": {"part": {"above": 7, "max": 22}}, "then": {"high": {"min": 1.3, "below": 7.77}}}])
    for name, low, high in (("part", 8, 22), ("high", 1.3, np.nextafter(7.77, 0))):
        column = schema[name]
        codes = np.repeat(np.arange(len(column.binning())), 500)
        drawn = column.binning().draw(codes, rng)
        inside = ((drawn >= low) & (drawn <= high)).reshape(-1, 500)
        assert (inside.all(axis=1) | ~inside.any(axis=1)).all()
        assert inside.any()
        assert not inside.all()


YOUNG = {"part": {"max": 10}}


@pytest.mark.parametrize(
    ("rules", "named", "problem"),
    [
        ([{"then": {"shape": ["round"]}}], [1], "no row with shape square can obey"),
        ([{"less": ["after", "before"]}], [1], "no row with after high can obey"),
        (
            [
                {"missing_together": ["rest", "high"]},
                {"if": YOUNG, "then": {"shape": ["round"]}},
                {"if": YOUNG, "then": {"before": ["low"]}},
                {"forbidden": ["shape", "before"], "rows": [["round", "low"]]},
            ],
            [2, 3, 4],
            "no row with part 0 … 7 can obey",
        ),
        (
            [{"less": ["low", "high"]}, {"then": {"high": {"not": [None]}}}, {"less": ["high", "low"]}],
            [1, 2, 3],
            "no row at all",
        ),
        (
            [{"sum": ["part", "rest"], "equals": "total"}, {"difference": ["total", "part"], "min": 30}],
            [2],
            "no row with part",
        ),
        ([{"multiple_of": 20, "column": "part"}], [1], "no row with part 8 … 15 can obey"),
    ],
    ids=["never", "after the last", "three rules", "a circle", "a difference", "increments"],
)
def test_contradictions_are_refused_and_named(rules, named, problem):
    with pytest.raises(SchemaError) as refusal:
        schema_with(rules)
    message = str(refusal.value)
    assert problem in message
    for number, _ in enumerate(rules, 1):
        assert (f"number {number}, " in message) == (number in named), message


def test_a_value_that_only_missing_values_save_is_fine():
    schema_with([{"if": {"shape": ["flat"]}, "then": {"colour": [None]}}])


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ({"less": ["part", "start"]}, "are of different kinds"),
        ({"difference": ["part", "total"], "max": 3, "unit": "days"}, "'unit' is given for dates and for nothing else"),
        ({"difference": ["start", "end"], "max": 3}, "'unit' is given for dates and for nothing else"),
        ({"difference": ["start", "part"], "max": 3}, "have no difference"),
        ({"difference": ["part", "total"], "max": 0.5}, "bound 0.5 has more decimals than the columns"),
        ({"difference": ["part", "total"]}, "needs 'min', 'max' or both"),
        ({"sum": ["part", "start"], "equals": "total"}, "column 'start' is date; a sum needs columns of numbers"),
        ({"sum": ["part", "part"], "equals": "total"}, "column 'part' occurs twice in a sum"),
        ({"multiple_of": 0, "column": "part"}, "give a step above 0"),
        ({"multiple_of": 0.5, "column": "part"}, "multiple_of 0.5 has more decimals than the column"),
        ({"multiple_of": 2, "column": "shape"}, "'multiple_of' needs a column of numbers"),
        ({"exactly_one": ["one", "shape"]}, "'exactly_one' needs boolean columns"),
        ({"missing_together": ["one", "two"]}, "column 'one' is never missing"),
        ({"missing": "one", "iff": {"shape": ["flat"]}}, "column 'one' is never missing"),
        ({"missing": "rest", "iff": {"rest": {"min": 3}}}, "column 'rest' decides about itself"),
        (
            {"allowed": ["shape", "before"], "rows": [["round"]]},
            "a combination needs one value for each of the 2 columns",
        ),
        ({"allowed": ["shape", "before"], "rows": "all"}, "give a list of combinations"),
        ({"determines": ["shape", "before"], "values": {"round": "low"}}, "'values' lacks 'square'"),
        ({"determines": ["part", "before"], "values": {"1": "low"}}, "'determines' starts from a categorical column"),
        ({"exactly_one": ["one", "one"]}, "column 'one' occurs twice in the rule"),
        ({"allowed": ["shape", "shape"], "rows": [["round", "flat"]]}, "column 'shape' occurs twice in the rule"),
        ({"missing_together": ["rest", "rest"]}, "column 'rest' occurs twice in the rule"),
        ({"determines": ["shape", "shape"], "values": {}}, "a key of the rule has no value"),
        ({"then": {"high": [3.5]}}, "real numbers, of which a single one is never drawn"),
        ({"then": {"part": {"min": 3, "above": 2}}}, "give a list of values"),
        ({"then": {"part": {"above": 3, "below": 3}}}, "below 3 lies below above 3; give below > above"),
    ],
    ids=str,
)
def test_rules_that_make_no_sense_are_refused(rule, problem):
    with pytest.raises(SchemaError) as refusal:
        Schema.parse({"name": "things", "columns": COLUMNS, "rules": [rule]})
    assert problem in str(refusal.value)


def test_columns_that_move_together_are_cut_together():
    dates = {"type": "date", "min": "2024-01-01", "max": "2024-12-31", "bins": 4}
    columns = [{"name": "seen", **dates}, {"name": "left", **dates}, {"name": "ill", "type": "boolean"}]
    rule = {"if": {"ill": [True]}, "then": {"seen": {"max": "2024-02-10"}}}
    together = [{"name": "when", "columns": ["seen", "left"]}]
    schema = Schema.parse({"name": "x", "columns": columns, "together": together, "rules": [rule]})
    assert schema["seen"].cuts == schema["left"].cuts != ()


def test_rules_over_too_many_cells_are_asked_of_rows():
    """Two dozen columns of true and false: no table of them would fit, and every row obeys."""
    flags = [f"flag {number}" for number in range(24)]
    columns = [{"name": name, "type": "boolean"} for name in flags]
    columns += [{"name": f"n{number}", "type": "integer", "min": 0, "max": 99, "bins": 100} for number in range(5)]
    many = {f"n{number}": {"min": 10} for number in range(4)}
    rules = [{"exactly_one": flags}, {"if": many, "then": {"n4": {"max": 49}}}]
    schema = Schema.parse({"name": "wide", "columns": columns, "rules": rules})
    assert [str(one.rule) for one in schema.compiled.wide] == [str(rule) for rule in schema.rules]
    ruled, domain = Ruled(schema), Attributes(schema).domain
    rng = np.random.default_rng(0)
    rows = Records(domain, [rng.integers(0, size, 60) for size in domain.shape])
    found = repaired(rows, ruled.checks, ruled.constraints, ruled.example, rng)
    decoded = SchemaCodec(schema).decode(Attributes(schema).decode(found.records), rng)
    assert violations(decoded, schema.rules, schema.columns) == (0.0, 0.0)
