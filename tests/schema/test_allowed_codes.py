"""Evidence: from what a user asks of rows to codes of columns."""

import pytest

from sfumato.errors import SchemaError
from sfumato.schema.conditions import allowed_codes
from sfumato.schema.schema import Schema

SCHEMA = Schema.parse(
    {
        "name": "people",
        "columns": [
            {"name": "sex", "type": "categorical", "categories": ["f", "m"], "nullable": True},
            {"name": "smokes", "type": "boolean", "true_values": ["yes"], "false_values": ["no"]},
            {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 10},
            {"name": "children", "type": "integer", "min": 0, "max": 9},
            {"name": "weight", "type": "number", "min": 0, "max": 100, "bins": 4},
            {"name": "seen", "type": "date", "min": "2024-01-01", "max": "2024-12-31", "granularity": "month"},
        ],
    }
)


@pytest.mark.parametrize(
    ("column", "wish", "codes"),
    [
        ("sex", "m", [1]),
        ("sex", ["m", None], [1, 2]),
        ("smokes", True, [1]),
        ("smokes", "no", [0]),
        ("age", {"min": 20, "max": 39}, [2, 3]),
        ("age", {"max": "9"}, [0]),
        ("children", [3, "5"], [3, 5]),
        ("weight", {"min": 25, "max": 75}, [1, 2]),
        ("weight", {"min": 75}, [3]),
        ("seen", {"min": "2024-11-07"}, [10, 11]),
        ("seen", "2024-03-05", [2]),
    ],
)
def test_values_and_ranges_become_codes(column, wish, codes):
    assert allowed_codes(SCHEMA, {column: wish})[column].tolist() == codes


@pytest.mark.parametrize(
    ("column", "wish", "wanted"),
    [
        ("town", "Rome", "column 'town' is not in the schema"),
        ("sex", "x", "one of its declared categories"),
        ("sex", [], "at least one value"),
        ("sex", {"min": "f"}, "a range needs a column of numbers or dates"),
        ("smokes", None, "it is never missing"),
        ("smokes", "maybe", "true or false"),
        ("age", 25, "a range of whole bins"),
        ("age", {"min": 25}, "a range of whole bins"),
        ("age", {"from": 20}, "a range such as"),
        ("age", "old", "a number"),
        ("children", 12, "inside its bounds"),
        ("children", {"min": 5, "max": 3}, "with min not above max"),
        ("weight", {"min": 30}, "a range of whole bins"),
        ("seen", "May", "a date, as the schema writes it"),
    ],
)
def test_what_does_not_fit_is_refused(column, wish, wanted):
    with pytest.raises(SchemaError) as refused:
        allowed_codes(SCHEMA, {column: wish})
    assert wanted in str(refused.value)
