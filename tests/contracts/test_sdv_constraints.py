"""Every constraint that SDV users know, one by one: obeyed by all raw values of a release, judged by plain Python.

The private rows are random and break every rule: they count as the nearest rows that obey. `Unique` is about several
rows and not covered (docs/rules.md, Limits).
"""

import datetime
import random

import pandas as pd
import pytest

from sfumato.errors import SchemaError
from sfumato.fitting import fit
from sfumato.schema.schema import Schema

DAYS = {"type": "date", "min": "2024-01-01", "max": "2024-12-31"}
WHOLE = {"type": "integer", "min": -20, "max": 99, "bins": 8}
REAL = {"type": "number", "min": -10, "max": 10, "bins": 6, "decimals": 2}
FLAG = {"type": "boolean"}
CITY = {"type": "categorical", "categories": ["Oslo", "Bergen", "Rome"]}
LAND = {"type": "categorical", "categories": ["Norway", "Italy"]}
MAYBE = {"nullable": True}
MARCH = datetime.date(2024, 3, 1)

CASES = {
    "Inequality": ({"a": WHOLE, "b": WHOLE}, [{"less_or_equal": ["a", "b"]}], lambda row: row["a"] <= row["b"]),
    "Inequality, strict": ({"a": REAL, "b": REAL}, [{"less": ["a", "b"]}], lambda row: row["a"] < row["b"]),
    "Inequality of dates": ({"a": DAYS, "b": DAYS}, [{"less": ["a", "b"]}], lambda row: row["a"] < row["b"]),
    "equal dates": ({"a": DAYS, "b": DAYS}, [{"equal": ["a", "b"]}], lambda row: row["a"] == row["b"]),
    "at most 60 days": (
        {"a": DAYS, "b": DAYS},
        [{"difference": ["a", "b"], "min": 0, "max": 60, "unit": "days"}],
        lambda row: 0 <= (row["b"] - row["a"]).days <= 60,
    ),
    "at most 60 days, in months": (
        {"a": {**DAYS, "bins": 12}, "b": {**DAYS, "bins": 12}},
        [{"difference": ["a", "b"], "min": 0, "max": 60, "unit": "days"}],
        lambda row: 0 <= (row["b"] - row["a"]).days <= 60,
    ),
    # A bound of one column, always, is said by the column; as a rule it would leave declared values without a row.
    "ScalarInequality": ({"a": {**WHOLE, "max": 17}}, [], lambda row: row["a"] <= 17),
    "ScalarInequality of a date": ({"a": {**DAYS, "min": "2024-03-02"}}, [], lambda row: row["a"] > MARCH),
    "ScalarInequality of what is there": (
        {"a": {**WHOLE, "max": 17} | MAYBE, "b": CITY},
        [{"if": {"b": ["Rome"]}, "then": {"a": {"max": 17}}}],
        lambda row: row["b"] != "Rome" or (row["a"] is not None and row["a"] <= 17),
    ),
    "Positive": ({"a": {**REAL, "min": 0.01}}, [], lambda row: row["a"] > 0),
    "Negative": ({"a": {**REAL, "max": -0.01}}, [], lambda row: row["a"] < 0),
    "Range": (
        {"a": WHOLE, "b": WHOLE, "c": WHOLE},
        [{"less": ["a", "b", "c"]}],
        lambda row: row["a"] < row["b"] < row["c"],
    ),
    "ScalarRange": ({"a": {**REAL, "min": -1.5, "max": 2.24}}, [], lambda row: -1.5 <= row["a"] < 2.25),
    "FixedIncrements": ({"a": WHOLE}, [{"multiple_of": 5, "column": "a"}], lambda row: row["a"] % 5 == 0),
    "FixedCombinations": (
        {"a": CITY, "b": LAND},
        [{"allowed": ["a", "b"], "rows": [["Oslo", "Norway"], ["Bergen", "Norway"], ["Rome", "Italy"]]}],
        lambda row: (row["a"] == "Rome") == (row["b"] == "Italy"),
    ),
    "forbidden combinations": (
        {"a": CITY, "b": LAND},
        [{"forbidden": ["a", "b"], "rows": [["Rome", "Norway"]]}],
        lambda row: (row["a"], row["b"]) != ("Rome", "Norway"),
    ),
    "functional dependency": (
        {"a": CITY, "b": LAND},
        [{"determines": ["a", "b"], "values": {"Oslo": "Norway", "Bergen": "Norway", "Rome": "Italy"}}],
        lambda row: row["b"] == ("Italy" if row["a"] == "Rome" else "Norway"),
    ),
    "OneHotEncoding": (
        {"a": FLAG, "b": FLAG, "c": FLAG},
        [{"exactly_one": ["a", "b", "c"]}],
        lambda row: [row["a"], row["b"], row["c"]].count(True) == 1,
    ),
    "missing iff": (
        {"a": WHOLE | MAYBE, "b": CITY},
        [{"missing": "a", "iff": {"b": ["Rome"]}}],
        lambda row: (row["a"] is None) == (row["b"] == "Rome"),
    ),
    "missing together": (
        {"a": WHOLE | MAYBE, "b": CITY | MAYBE},
        [{"missing_together": ["a", "b"]}],
        lambda row: (row["a"] is None) == (row["b"] is None),
    ),
    "a sum": (
        {"a": WHOLE, "b": WHOLE, "c": {**WHOLE, "min": -40, "max": 198}},
        [{"sum": ["a", "b"], "equals": "c"}],
        lambda row: row["a"] + row["b"] == row["c"],
    ),
    "if, then": (
        {"a": CITY, "b": WHOLE},
        [{"if": {"a": ["Rome"]}, "then": {"b": {"min": 60}}}],
        lambda row: row["a"] != "Rome" or row["b"] >= 60,
    ),
    "a range that depends on another column": (
        {"a": CITY, "b": REAL},
        [
            {"if": {"a": ["Rome"]}, "then": {"b": {"min": 1, "max": 2}}},
            {"if": {"a": ["Oslo"]}, "then": {"b": {"max": 0.5}}},
        ],
        lambda row: {"Rome": 1 <= row["b"] <= 2, "Oslo": row["b"] <= 0.5}.get(row["a"], True),
    ),
}


def random_rows(columns, rows=300):
    """Rows that know of no rule."""
    chance = random.Random(0)

    def value(keys):
        if keys.get("nullable") and chance.random() < 0.3:
            return None
        if keys["type"] == "date":
            return (datetime.date(2024, 3, 2) + datetime.timedelta(chance.randrange(300))).isoformat()
        if keys["type"] in ("integer", "number"):
            return f"{chance.uniform(keys['min'], keys['max']):.{2 if keys['type'] == 'number' else 0}f}"
        return chance.choice(keys.get("categories", ["true", "false"]))

    return pd.DataFrame({name: [value(keys) for _ in range(rows)] for name, keys in columns.items()}, dtype=object)


@pytest.mark.parametrize("name", CASES)
def test_every_raw_value_obeys(name):
    columns, rules, obeys = CASES[name]
    declared = [{"name": column, **keys} for column, keys in columns.items()]
    schema = Schema.parse({"name": "things", "columns": declared, "rules": rules})
    release = fit(random_rows(columns), schema, epsilon=1, method="privbayes")
    made = release.sample_arrow(500, seed=1).to_pylist()
    assert len(made) == 500
    assert [row for row in made if not obeys(row)] == []


CONTRADICTIONS = {
    "an order in a circle": ({"a": WHOLE, "b": WHOLE}, [{"less": ["a", "b"]}, {"less": ["b", "a"]}], "rules number 1"),
    "a bound above a bound": (
        {"a": WHOLE},
        [{"then": {"a": {"min": 10}}}, {"then": {"a": {"max": 5}}}],
        r"rules number 1, .*number 2, .*: no row at all",
    ),
    "a bound that leaves declared values": (
        {"a": REAL},
        [{"then": {"a": {"above": 0}}}],
        r"rule number 1, 'always a is above 0': no row with a .* can obey; change a rule, or remove the value",
    ),
    "a value without a row": (
        {"a": CITY, "b": LAND},
        [{"forbidden": ["a", "b"], "rows": [["Rome", "Norway"], ["Rome", "Italy"]]}],
        "rule number 1, .*: no row with a Rome can obey",
    ),
    "three rules together": (
        {"a": CITY, "b": LAND, "c": FLAG},
        [
            {"if": {"a": ["Oslo"]}, "then": {"b": ["Norway"]}},
            {"if": {"b": ["Norway"]}, "then": {"c": ["true"]}},
            {"if": {"a": ["Oslo"]}, "then": {"c": ["false"]}},
        ],
        "rules number 1, .*number 2, .*number 3, .*: no row with a Oslo can obey",
    ),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_contradictions_are_refused_by_name(name):
    columns, rules, words = CONTRADICTIONS[name]
    declared = [{"name": column, **keys} for column, keys in columns.items()]
    with pytest.raises(SchemaError, match=words):
        Schema.parse({"name": "things", "columns": declared, "rules": rules})
