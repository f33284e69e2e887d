"""The built-in survey: the same rows for ever, inside its declared domain, with the dependencies we claim."""

import hashlib
import json
from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from sfumato.errors import DataError
from sfumato.intake.codec import SchemaCodec
from sfumato.schema.schema import Schema
from sfumato.survey import simulate, survey_schema_text
from sfumato.survey.simulate import _Draws

SCHEMA = json.loads(survey_schema_text())
COLUMNS = {column["name"]: column for column in SCHEMA["columns"]}
WORKING = ["employed", "self-employed"]


@pytest.fixture(scope="module")
def table():
    return simulate()


@pytest.fixture(scope="module")
def people(table):
    return table.to_pandas()


def text_of(value):
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def canonical_text(table):
    """CSV text that owes nothing to a CSV library: fields of our survey never need quotes."""
    lines = [table.column_names, *zip(*(column.to_pylist() for column in table.columns), strict=True)]
    return "".join(",".join(text_of(value) for value in line) + "\n" for line in lines)


def association(left, right):
    """Cramér's V of two columns of categories, corrected for its bias."""
    counts = pd.crosstab(left, right).to_numpy(dtype=float)
    total, (rows, columns) = counts.sum(), counts.shape
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / total
    phi = max(0.0, ((counts - expected) ** 2 / expected).sum() / total - (rows - 1) * (columns - 1) / (total - 1))
    return (phi / (min(rows, columns) - 1)) ** 0.5


def missing_share(people, column, where):
    return people.loc[where, column].isna().mean()


# ---- the same for ever ----


def test_the_survey_never_changes(table):
    digest = hashlib.sha256(canonical_text(table).encode()).hexdigest()
    assert digest == "f6bc605a8cce1bf5bff67e774480c82d23e7a3f35b379fe66dbe0ac21131a534"


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_any_number_of_rows_can_be_asked_for(rows, table):
    small = simulate(rows)
    assert small.num_rows == rows
    assert small.schema == table.schema
    assert small.equals(simulate(rows))


@pytest.mark.parametrize("rows", [0, -3])
def test_a_survey_without_rows_is_refused(rows):
    with pytest.raises(DataError, match="ask for at least one row"):
        simulate(rows)


def test_uniform_numbers_are_the_upper_bits_of_the_raw_stream():
    raw = np.random.PCG64(5).random_raw(1000)
    assert np.array_equal(_Draws(np.random.PCG64(5), 1000).uniform(), ((raw >> np.uint64(12)) + 0.5) / 2**52)


def test_normal_deviates_stay_finite_at_the_ends_of_the_unit_interval():
    ends = (np.array([0, 2**52 - 1], dtype=np.float64) + 0.5) * 2.0**-52
    assert ends[0] > 0
    assert ends[1] < 1
    assert np.isfinite(ndtri(ends)).all()


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32),
    st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=1, max_size=4),
)
def test_categories_are_drawn_with_their_weights(seed, weights):
    weights = np.add(weights, [0.0, 1.0, 0.0])  # some weights are 0, no row is all 0
    group = np.arange(8000) % len(weights)
    draws = _Draws(np.random.PCG64(seed), 8000)
    for codes in (draws.by_group(weights, group), draws.by_row(weights[group])):
        for number, row in enumerate(weights):
            share, size = row / row.sum(), (group == number).sum()
            seen = np.bincount(codes[group == number], minlength=3) / size
            assert (seen[share == 0] == 0).all()
            assert np.abs(seen - share).max() < 6 * np.sqrt(0.25 / size)


# ---- inside the declared domain ----


def test_the_schema_names_the_columns_of_the_table_in_order(table):
    assert list(COLUMNS) == table.column_names
    assert 14 <= len(COLUMNS) <= 16
    assert SCHEMA["label"] in COLUMNS


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_has_the_declared_type_and_missing_values_only_if_declared(name, table):
    types = {
        "categorical": pa.string(),
        "boolean": pa.bool_(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "date": pa.date32(),
    }
    assert table.schema.field(name).type == types[COLUMNS[name]["type"]]
    assert (table[name].null_count > 0) == COLUMNS[name]["nullable"]


@pytest.mark.parametrize("name", [name for name, column in COLUMNS.items() if column["type"] == "categorical"])
def test_every_category_is_declared(name, table):
    categories = COLUMNS[name]["categories"]
    assert len(set(categories)) == len(categories)
    assert set(table[name].drop_null().to_pylist()) <= set(categories)


@pytest.mark.parametrize("name", [name for name, column in COLUMNS.items() if "min" in column])
def test_every_number_and_date_lies_between_the_declared_bounds(name, table):
    low, high = COLUMNS[name]["min"], COLUMNS[name]["max"]
    if COLUMNS[name]["type"] == "date":
        low, high = date.fromisoformat(low), date.fromisoformat(high)
    values = table[name].drop_null().to_pylist()
    assert low <= min(values)
    assert max(values) <= high


@pytest.mark.parametrize("name", [name for name, column in COLUMNS.items() if "edges" in column])
def test_edges_rise_from_the_lowest_to_the_highest_value(name):
    edges = COLUMNS[name]["edges"]
    assert (edges[0], edges[-1]) == (COLUMNS[name]["min"], COLUMNS[name]["max"])
    assert edges == sorted(set(edges))


def test_the_schema_loads_and_reads_no_domain_from_the_data():
    schema = Schema.parse(SCHEMA)
    assert schema.names == tuple(COLUMNS)
    assert schema.observed == ()
    assert json.loads(json.dumps(schema.to_dict()))["columns"][-1]["name"] == "satisfaction"


def test_the_table_and_its_text_have_the_same_codes(table):
    codec = SchemaCodec(Schema.parse(SCHEMA))
    lines = [line.split(",") for line in canonical_text(table).splitlines()]
    text = pa.table([pa.array(column) for column in zip(*lines[1:], strict=True)], names=lines[0])
    typed, read = codec.encode(table), codec.encode(text)
    assert all(np.array_equal(typed[name], read[name]) for name in COLUMNS)


def test_decoding_gives_back_the_types_the_codes_and_all_plain_values(table):
    codec = SchemaCodec(Schema.parse(SCHEMA))
    records = codec.encode(table)
    decoded = codec.decode(records, np.random.default_rng(0))
    assert decoded.schema == table.schema
    assert all(np.array_equal(codec.encode(decoded)[name], records[name]) for name in COLUMNS)
    for name, column in COLUMNS.items():
        assert decoded[name].is_null().equals(table[name].is_null())
        if column["type"] in ("categorical", "boolean") or name == "children":
            assert decoded[name].equals(table[name])


def test_satisfaction_has_one_decimal(people):
    scores = people["satisfaction"].dropna()
    assert (scores == scores.round(1)).all()


# ---- the dependencies that docs/survey.md claims ----


def test_median_income_rises_with_every_step_of_education(people):
    median = people.groupby("education")["income"].median()[COLUMNS["education"]["categories"]]
    assert median.is_monotonic_increasing
    assert median.iloc[-1] > 2.5 * median.iloc[0]


def test_income_is_skewed_and_has_many_zeros(people):
    income = people["income"].dropna()
    assert income.mean() > 1.15 * income.median()
    assert 0.04 < (income == 0).mean() < 0.10


def test_income_depends_on_hours_sex_region_and_age(people):
    work = people[people["employment"] == "employed"]
    full = work[work["hours"].between(36, 42)]
    assert full["income"].median() > 1.3 * work.loc[work["hours"] < 30, "income"].median()
    assert full.loc[full["sex"] == "male", "income"].median() > full.loc[full["sex"] == "female", "income"].median()
    region = full.groupby("region")["income"].median()
    assert region["Aldermoor"] > 1.2 * region["Garrow"]
    assert (
        full.loc[full["age"].between(45, 59), "income"].median() > 1.2 * full.loc[full["age"] < 25, "income"].median()
    )


def test_hours_are_missing_exactly_for_those_who_do_not_work(people):
    assert (people["hours"].isna() == ~people["employment"].isin(WORKING)).all()


def test_sector_is_missing_only_for_those_who_may_never_have_worked(people):
    assert people.loc[people["employment"].isin(WORKING), "sector"].notna().all()
    assert missing_share(people, "sector", people["employment"] == "student") > 0.6
    assert people.loc[people["sector"].isna(), "occupation"].isna().all()
    assert 0.01 < missing_share(people, "occupation", people["sector"].notna()) < 0.05


def test_income_is_refused_most_by_the_self_employed_the_old_and_the_rich(people):
    employed = people["employment"] == "employed"
    assert missing_share(people, "income", people["employment"] == "self-employed") > 3 * missing_share(
        people, "income", employed
    )
    assert missing_share(people, "income", people["age"] >= 70) > 2 * missing_share(people, "income", employed)
    doctors = employed & (people["education"] == "doctor")
    assert missing_share(people, "income", doctors) > 1.2 * missing_share(people, "income", employed)


def test_other_answers_are_missing_more_often_where_the_question_is_hard(people):
    worked, primary = people["sector"].notna(), people["education"] == "primary"
    assert missing_share(people, "occupation", worked & primary) > 1.5 * missing_share(
        people, "occupation", worked & (people["education"] == "master")
    )
    shared = people["household"] == "shared"
    assert missing_share(people, "rent", shared) > 3 * missing_share(people, "rent", ~shared)
    poor = people["health"].isin(["very poor", "poor"])
    assert missing_share(people, "satisfaction", poor) > 3 * missing_share(people, "satisfaction", ~poor)


def test_sector_depends_on_education_sex_and_region(people):
    shares = pd.crosstab(people["sector"], people["education"], normalize="columns")
    assert shares.loc["technology", "master"] > 5 * shares.loc["technology", "lower secondary"]
    assert shares.loc["hospitality", "primary"] > 5 * shares.loc["hospitality", "master"]
    for name in ("education", "sex", "region"):
        assert association(people["sector"], people[name]) > 0.15


def test_occupation_is_a_long_tail_that_nearly_tells_the_sector(people):
    assert len(COLUMNS["occupation"]["categories"]) == 160
    counts = people["occupation"].value_counts()
    assert counts.iloc[:16].sum() > 0.45 * counts.sum()
    assert (counts < 20).sum() >= 20
    assert 0.8 < association(people["occupation"], people["sector"]) < 0.99
    assert association(people["occupation"], people["education"]) > 0.3


def test_degrees_need_years(people):
    for degree, age in (("bachelor", 21), ("master", 23), ("doctor", 27)):
        assert people.loc[people["education"] == degree, "age"].min() >= age


def test_whoever_raises_children_has_a_child(people):
    raising = people["household"].isin(["couple with children", "single parent"])
    assert people.loc[raising, "children"].min() == 1
    assert people.loc[people["household"] == "with parents", "children"].mean() < 0.2


def test_health_declines_with_age_low_income_and_smoking(people):
    health = people["health"].map({label: code for code, label in enumerate(COLUMNS["health"]["categories"])})
    by_age = health.groupby(pd.cut(people["age"], [17, 34, 49, 64, 79, 95]), observed=True).mean()
    assert by_age.is_monotonic_decreasing
    middle = people["age"].between(40, 60)
    quarter = pd.qcut(people.loc[middle, "income"], 4, labels=False, duplicates="drop")
    assert health[middle].groupby(quarter).mean().is_monotonic_increasing
    smoker = people["smoker"].eq(True) & middle
    assert health[smoker].mean() < health[middle & people["smoker"].eq(False)].mean() - 0.2


def test_smoking_falls_with_education(people):
    share = (
        people[people["smoker"].notna()].groupby("education")["smoker"].agg(lambda answers: answers.astype(bool).mean())
    )
    assert share["primary"] > share["vocational"] > share["master"]


def test_satisfaction_follows_health_company_and_work(people):
    score = people["satisfaction"]
    assert score.groupby(people["health"]).mean()[COLUMNS["health"]["categories"]].is_monotonic_increasing
    couple, alone = people["household"] == "couple", people["household"] == "alone"
    assert score[couple].mean() > score[alone].mean() + 0.4
    assert score[people["employment"] == "unemployed"].mean() < score[people["employment"] == "employed"].mean() - 1


def test_rent_depends_on_region_and_household_and_is_often_nothing(people):
    paid = people[people["rent"] > 0]
    region = paid.groupby("region")["rent"].median()
    assert region["Aldermoor"] > 1.8 * region["Lowfield"]
    household = paid.groupby("household")["rent"].median()
    assert household["couple with children"] > 1.3 * household["alone"] > 1.3 * household["shared"]
    assert 0.2 < (people["rent"] == 0).mean() < 0.4


def test_interviews_follow_the_week_and_the_season(people):
    days = pd.to_datetime(people["interview_date"])
    by_weekday = days.dt.day_of_week.value_counts()
    assert by_weekday.idxmin() == 6
    working = people["employment"].isin(WORKING)
    saturday = days.dt.day_of_week == 5
    assert saturday[working].mean() > 2 * saturday[~working].mean()
    assert days.dt.month.value_counts().idxmin() == 8
    assert association(days.dt.month, people["region"]) > 0.1


def test_no_column_is_a_copy_of_another(people):
    coded = people.apply(lambda column: column.astype(str))
    for left in coded:
        for right in coded:
            if left != right:
                assert coded.groupby(left)[right].nunique().max() > 1
