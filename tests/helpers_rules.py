"""Random rule sets over columns of every kind, and rows that know nothing of them."""

import numpy as np
import pyarrow as pa

from sfumato.data.records import Records
from sfumato.errors import SchemaError
from sfumato.intake.attributes import Attributes
from sfumato.intake.codec import SchemaCodec
from sfumato.intake.ruled import Ruled
from sfumato.schema.schema import Schema
from sfumato.synthesize.repair import repaired_by

COLOURS = ["red", "green", "blue", "grey"]
GRADES = ["low", "middle", "high"]
COLUMNS = [
    {"name": "colour", "type": "categorical", "categories": COLOURS, "nullable": True},
    {"name": "shape", "type": "categorical", "categories": ["round", "square", "flat"]},
    {"name": "before", "type": "categorical", "categories": GRADES, "ordered": True},
    {"name": "after", "type": "categorical", "categories": GRADES, "ordered": True, "nullable": True},
    {"name": "one", "type": "boolean"},
    {"name": "two", "type": "boolean", "nullable": True},
    {"name": "three", "type": "boolean"},
    {"name": "part", "type": "integer", "min": 0, "max": 39, "bins": 5},
    {"name": "rest", "type": "integer", "min": 0, "max": 39, "bins": 4, "nullable": True},
    {"name": "total", "type": "integer", "min": 0, "max": 78, "bins": 7},
    {"name": "low", "type": "number", "min": 0.0, "max": 10.0, "decimals": 1, "bins": 4},
    {"name": "high", "type": "number", "min": 0.0, "max": 10.0, "bins": 5, "nullable": True},
    {"name": "start", "type": "date", "min": "2024-01-01", "max": "2024-12-30", "bins": 6},
    {"name": "end", "type": "date", "min": "2024-01-01", "max": "2024-12-31", "bins": 5, "nullable": True},
    {"name": "seen", "type": "datetime", "min": "2024-01-01", "max": "2024-12-31", "granularity": "month"},
]
KINDS = {
    "if then": lambda rng: {
        "if": {"part": {str(rng.choice(["min", "above"])): int(rng.integers(1, 30))}},
        "then": {"shape": ["round", str(rng.choice(["square", "flat"]))]},
    },
    "a range that depends": lambda rng: {
        "if": {"shape": ["flat"]},
        "then": {"low": {"max": float(rng.integers(1, 9)) + 0.5}, "total": {"min": int(rng.integers(1, 30))}},
    },
    "not missing": lambda rng: {"if": {"one": [True]}, "then": {"end": {"not": [None]}}},
    "less or equal": lambda rng: {"less_or_equal": ["part", "rest"] if rng.random() < 0.5 else ["before", "after"]},
    "less": lambda rng: {"less": ["start", "end"]},
    "a chain": lambda rng: {"less_or_equal": ["part", "rest", "total"]},
    "numbers": lambda rng: {"less_or_equal": ["low", "high"]},
    "equal": lambda rng: {"equal": ["low", "high"]},
    "at most some days": lambda rng: {
        "difference": ["start", "end"],
        "min": 0,
        "max": int(rng.integers(5, 90)),
        "unit": "days",
    },
    "months": lambda rng: {"less_or_equal": ["seen", "end"]},
    "a difference": lambda rng: {"difference": ["low", "high"], "max": float(rng.integers(1, 60)) / 10},
    "a sum": lambda rng: {"sum": ["part", "rest"], "equals": "total"},
    "increments": lambda rng: {"multiple_of": int(rng.integers(2, 6)), "column": "part"},
    "allowed": lambda rng: {
        "allowed": ["before", "shape"],
        "rows": [["low", "round"], ["middle", "square"], ["high", "flat"], [str(rng.choice(GRADES)), "flat"]],
    },
    "forbidden": lambda rng: {
        "forbidden": ["colour", "three"],
        "rows": [[str(rng.choice(COLOURS)), True], [None, bool(rng.random() < 0.5)]],
    },
    "dependency": lambda rng: {
        "determines": ["shape", "before"],
        "values": dict(zip(["round", "square", "flat"], rng.permutation(GRADES).tolist(), strict=True)),
    },
    "exactly one": lambda rng: {"exactly_one": ["one", "two", "three"]},
    "missing together": lambda rng: {"missing_together": ["rest", "high"]},
    "missing iff": lambda rng: {"missing": "colour", "iff": {"part": {"min": int(rng.integers(1, 39))}}},
    "always": lambda rng: {"then": {"after": {"not": [None]}}},
}


def schema_with(rules):
    return Schema.parse({"name": "things", "columns": COLUMNS, "rules": rules})


def random_schema(seed):
    """A schema with one to four random rules that do not contradict each other."""
    rng = np.random.default_rng(seed)
    while True:
        kinds = rng.choice(list(KINDS), size=rng.integers(1, 5), replace=False)
        try:
            return schema_with([KINDS[str(kind)](rng) for kind in kinds])
        except SchemaError as refusal:
            if "obey" not in str(refusal):
                raise


def narrowed(schema):
    """The columns that rules speak of, and one more: small enough to be fitted often."""
    wanted = {name for rule in schema.rules for name in rule.names} | {"shape"}
    columns = [column for column in COLUMNS if column["name"] in wanted]
    keys = schema.to_dict()
    return Schema.parse({**keys, "columns": columns})


def obeying_table(schema, rows, seed=0):
    """Rows that obey the rules of a schema, of random codes."""
    rng = np.random.default_rng(seed)
    ruled, attributes = Ruled(schema), Attributes(schema)
    codes = Records(attributes.domain, [rng.integers(0, size, rows) for size in attributes.domain.shape])
    made = repaired_by(ruled, codes, rng).records
    return SchemaCodec(schema).decode(attributes.decode(made), rng)


def careless_table(rows, seed=0):
    """Rows whose columns are independent, so they break every rule."""
    rng = np.random.default_rng(seed)
    days = np.datetime64("2024-01-01", "D") + rng.integers(0, 364, (3, rows))

    def labels(values, missing=0.0):
        return pa.array(rng.choice(values, rows).tolist(), mask=rng.random(rows) < missing)

    return pa.table(
        {
            "colour": labels(COLOURS, 0.2),
            "shape": labels(["round", "square", "flat"]),
            "before": labels(GRADES),
            "after": labels(GRADES, 0.2),
            "one": labels([True, False]),
            "two": labels([True, False], 0.2),
            "three": labels([True, False]),
            "part": pa.array(rng.integers(0, 40, rows)),
            "rest": pa.array(rng.integers(0, 40, rows), mask=rng.random(rows) < 0.2),
            "total": pa.array(rng.integers(0, 79, rows)),
            "low": pa.array(np.round(rng.random(rows) * 10, 1)),
            "high": pa.array(rng.random(rows) * 10, mask=rng.random(rows) < 0.2),
            "start": pa.array(days[0]),
            "end": pa.array(days[1], mask=rng.random(rows) < 0.2),
            "seen": pa.array(days[2].astype("datetime64[s]")),
        }
    )
