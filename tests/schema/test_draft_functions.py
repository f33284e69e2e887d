"""A draft notices columns that follow from others, names of persons in short lists, and days that stand for none."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.schema.draft import draft
from sfumato.schema.draft_dates import far_dates
from sfumato.schema.draft_names import names_of_persons
from sfumato.schema.draft_numbers import quantile_edges, roundest, smear
from sfumato.schema.schema import Schema

ROWS = 1_200


def group(age):
    return "0-17" if age < 18 else "18-64" if age < 65 else "65+"


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(4)
    age = rng.integers(0, 95, ROWS)
    gone = rng.random(ROWS) < 0.1
    income = np.where(rng.random(ROWS) < 0.2, 0, np.round(np.exp(rng.normal(10, 1, ROWS)), -1)).astype(int)
    region = rng.choice(["north", "south", "west"], ROWS)
    density = {"north": "12.5", "south": "340.25", "west": "99.1"}
    return pa.table(
        {
            "age": ["N" if no else str(one) for no, one in zip(gone, age, strict=True)],
            "group": ["N" if no else group(one) for no, one in zip(gone, age, strict=True)],
            "income": list(map(str, income)),
            "decile": list(map(str, np.searchsorted(np.quantile(income, np.arange(0.3, 1, 0.1)), income, "right"))),
            "region": region.tolist(),
            "density": [density[one] for one in region],
            "sex": rng.choice(["f", "m"], ROWS).tolist(),
            "score": list(map(str, rng.integers(1, 6, ROWS))),
        }
    )


def test_functions_of_numbers_and_labels_are_declared(people):
    found = draft(people, "people")
    derived = {one.name: one.derived for one in found.schema.columns if one.derived is not None}
    assert {name: one.of for name, one in derived.items()} == {"group": "age", "decile": "income", "density": "region"}
    assert derived["group"].edges[1:-1] == (18, 65)
    assert found.schema["group"].null_values == ("N",)
    assert found.schema["group"].categories == ("0-17", "18-64", "65+")
    assert found.schema["income"].special == (0,)
    assert found.schema["density"].note.endswith("how it follows from region")
    assert {one.column for one in found.findings if one.proposal == "derived"} == set(derived)


def test_every_row_obeys_what_was_drafted(people):
    schema = draft(people, "people").schema
    accepted = schema.accepting(schema.unaccepted, "A. Tester", "made-up rows")
    sample = sfumato.fit(people, accepted, epsilon=8, delta="1e-6", method="pgm").sample(rows=400, seed=1)
    rows = sample.to_pylist()
    assert all(row["group"] == (None if row["age"] is None else group(row["age"])) for row in rows)
    density = dict(zip(people["region"].to_pylist(), map(float, people["density"].to_pylist()), strict=True))
    assert all(row["density"] == density[row["region"]] for row in rows)
    derived = schema["decile"].derived
    places = np.searchsorted(derived.edges[1:-1], [row["income"] for row in rows], side="right")
    assert [row["decile"] for row in rows] == [int(derived.values[place]) for place in places]
    assert any(row["income"] == 0 for row in rows)  # a special value inside the bounds lies where its number does


def test_why_values_are_missing_is_a_rule():
    rng = np.random.default_rng(5)
    age, kind = rng.integers(0, 80, ROWS), rng.choice(["flat", "house", "ward"], ROWS)
    table = pa.table(
        {
            "age": list(map(str, age)),
            "kind": kind.tolist(),
            "status": ["" if one < 15 else rng.choice(["single", "married"]) for one in age],
            "wage": ["" if one < 15 else str(rng.integers(0, 9)) for one in age],
            "rent": ["" if one == "ward" else str(rng.integers(0, 9)) for one in kind],
            "mood": ["" if one < 0.1 else "good" for one in rng.random(ROWS)],
        }
    )
    schema = draft(table, "t").schema
    assert list(map(str, schema.rules)) == [
        "status and wage are missing together",
        "status is missing if and only if age is below 15",
        "rent is missing if and only if kind is ward",
    ]
    assert schema.rules_from == "observed"


def test_a_special_value_outside_the_bounds_lies_in_no_interval():
    age = {"name": "age", "type": "integer", "min": 0, "max": 99, "special": [999]}
    derived = {"of": "age", "edges": [0, 18, 99], "values": ["child", "adult"]}
    group = {"name": "g", "type": "categorical", "categories": ["child", "adult"], "derived": derived}
    with pytest.raises(sfumato.SfumatoError, match="outside its bounds"):
        Schema.parse({"name": "t", "columns": [age, group]})
    inside = age | {"bins": 10, "special": [0]}
    derived["edges"][1] = 20
    assert Schema.parse({"name": "t", "columns": [inside, group]})["g"].derived.edges == (0, 20, 99)


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_the_roundest_number_separates(below, step):
    above = below + step
    if above > below:
        assert below < roundest(below, above) <= above


@pytest.mark.parametrize(
    ("below", "above", "edge"), [(17, 18, 18), (12_340, 12_551, 12_500), (0.19, 0.31, 0.2), (-3, 4, 0), (99, 250, 200)]
)
def test_the_roundest_number_is_round(below, above, edge):
    assert roundest(below, above) == edge


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        ("physician", ["Huber", "Nowak", "van Dyck"]),
        ("ward sister", ["Dr. Anna Huber", "Prof. Lee", "Frau Meier"]),
        ("seen by", ["Anna Huber", "Jan Nowak", "Kim de Vries", "X. Unbekannt"]),
        ("seen by", ["Huber, Anna", "Nowak, Jan"]),
        ("x", ["Anna", "Peter", "Laura"]),
        ("last_name", ["Smith", "O'Neill", "Garcia-Lopez"]),
    ],
)
def test_names_of_persons_are_noticed_in_short_lists(column, texts):
    assert names_of_persons(column, texts).startswith("names of persons")


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        ("physician", ["D1", "D2", "D3"]),
        ("title", ["Mr", "Mrs", "Ms"]),
        ("city", ["San Francisco", "New York", "Santa Clara", "Paris"]),
        ("education", ["Bachelors", "Some-college", "HS-grad"]),
        ("native-country", ["United-States", "Puerto-Rico", "Dominican Republic", "Germany"]),
        ("marital", ["married", "single"]),
        ("Call Type", ["Medical Incident", "Structure Fire", "Alarms"]),
        ("month", ["may", "jun", "april"]),
    ],
)
def test_other_words_are_not_taken_for_names(column, texts):
    assert names_of_persons(column, texts) is None


def test_days_that_stand_for_none_are_missing():
    days = [f"{day:02d}.0{month}.2021" for day in range(1, 29) for month in range(1, 9)]
    assert far_dates([*days, "31.12.9999", "01.01.1900"]) == ["01.01.1900", "31.12.9999"]
    assert far_dates([*days, "01.01.1990", "no date 9999"]) == []
    found = draft(pa.table({"seen": [*days, "31.12.9999"] * 2}), "t")
    assert found.schema["seen"].null_values == ("31.12.9999",)
    assert found.schema["seen"].max.year == 2021
    assert "31.12.9999 taken as missing" in found.findings[0].why


def test_dense_numbers_get_bins_by_quantiles():
    rng = np.random.default_rng(6)
    rates = np.round(np.concatenate([rng.normal(4.86, 0.004, 1_500), rng.uniform(0.6, 5.0, 500)]), 3)
    column = draft(pa.table({"rate": [f"{one:.3f}" for one in rates]}), "t").schema["rate"]
    assert column.edges is not None
    numbers, counts = np.unique(rates, return_counts=True)
    pairs = zip(numbers.tolist(), counts.tolist(), strict=True)
    seen = {number: count for number, count in pairs if number not in column.special}
    equal = smear(seen, np.linspace(column.min, column.max, 33))
    assert equal > 0.05
    assert smear(seen, np.array(column.edges)) < equal / 2
    even = dict.fromkeys(range(1_000), 3)
    assert smear(even, np.linspace(0, 1_000, 33)) < 0.01
    assert len(quantile_edges(even, 0, 1_000)) <= 33
