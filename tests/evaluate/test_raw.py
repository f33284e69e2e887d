"""Raw values: what happens inside bins is seen, and a verdict says for what a table is good enough."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.evaluate.raw import missing_share, raw_figures
from sfumato.report.assessment import assess
from sfumato.report.internal import internal_report
from sfumato.report.verdicts import model_verdict, table_verdict
from sfumato.schema.schema import Schema

DAYS = {"name": "days", "type": "integer", "min": 0, "max": 999}
SEX = {"name": "sex", "type": "categorical", "categories": ["f", "m"], "nullable": True}


def schema_of(*columns, **keys):
    return Schema.parse({"name": "t", "columns": list(columns), **keys})


@pytest.fixture(scope="module")
def smeared():
    """A table in which most rows are 999, and a copy in which these were drawn anew inside their bin."""
    rng = np.random.default_rng(1)
    real = np.where(rng.random(3_000) < 0.96, 999, rng.integers(0, 28, 3_000))
    synthetic = np.where(real == 999, rng.integers(969, 1_000, 3_000), real)
    sex = rng.choice(["f", "m", ""], 3_000, p=[0.4, 0.4, 0.2])
    return (
        pa.table({"days": real.astype(str), "sex": sex}),
        pa.table({"days": synthetic.astype(str), "sex": np.where(sex == "", "f", sex)}),
    )


def test_a_smeared_spike_is_seen_though_every_bin_is_right(smeared):
    schema = schema_of(DAYS, SEX)
    found = assess(*smeared, schema, fast=True)
    assert found.columns[0].error == 0  # which is what the bins say
    (days,) = found.raw
    assert days.distance > 0.9
    assert (days.spikes[0].number, round(days.spikes[0].real, 1)) == (999, 1.0)
    assert days.spikes[0].synthetic < 0.06
    words = [alert.words for alert in found.alerts]
    assert any(one.startswith("days: 999 is in 96") for one in words)
    assert any(one.startswith("sex: ") and "missing" in one for one in words)
    assert found.verdicts[0].grade == "poor"
    page = internal_report(found)
    assert "spike,days,999.0,0.9" in found.to_csv()
    assert '<a href="#pair-0">' in page
    assert 'id="pair-0"' in page
    assert "single columns: poor" in page
    assert "&#x27;special&#x27;: [999]" in page or "'special': [999]" in page
    assert page.index("Alerts") < page.index("Each column")


def test_an_equal_table_has_no_alerts(smeared):
    found = assess(smeared[0], smeared[0], schema_of(DAYS, SEX), fast=True)
    assert found.alerts == ()
    assert {one.grade for one in found.verdicts} == {"good"}


def test_sets_of_numbers_that_became_ranges_are_seen():
    rng = np.random.default_rng(1)
    schema = schema_of({"name": "x", "type": "number", "min": 0, "max": 10})
    real = pa.table({"x": rng.choice([0.5, 1.5, 2.5] + [float(x) for x in range(40)], 900)})
    synthetic = pa.table({"x": rng.random(900) * 10})
    assert (
        "different numbers became"
        in assess(real, synthetic, schema_of({**schema.to_dict()["columns"][0], "max": 40.0}), fast=True)
        .alerts[0]
        .words
    )


def test_numbers_beyond_the_bounds_are_counted_but_special_ones_are_not():
    column = {**DAYS, "max": 30, "special": [999], "outside": "clip"}
    real = pa.table({"days": ["5"] * 60 + ["40"] * 20 + ["999"] * 20})
    (found,) = raw_figures(real, real, schema_of(column).columns)
    assert found.outside == pytest.approx(0.2)
    assert found.distance == 0


numbers = st.lists(st.integers(-5, 5), min_size=1, max_size=30)


@given(numbers, numbers)
def test_the_distance_is_that_of_kolmogorov_and_smirnov(one, two):
    column = {"name": "x", "type": "integer", "min": -5, "max": 5}
    tables = (pa.table({"x": pa.array(some, pa.int64())}) for some in (one, two))
    (found,) = raw_figures(*tables, schema_of(column).columns)
    below = [[np.mean(np.array(some) <= place) for place in range(-5, 6)] for some in (one, two)]
    assert found.distance == pytest.approx(np.abs(np.subtract(*below)).max())


def test_missing_values_are_nulls_and_their_texts():
    column = schema_of({**SEX, "null_values": ["?", ""]})["sex"]
    assert missing_share(pa.table({"sex": ["f", "?", "", None]}), column) == 0.75


def test_verdicts_compare_with_chance_and_with_a_sample():
    assert table_verdict("crosstabs", 0.04, 0.01).grade == "good"
    assert table_verdict("crosstabs", 0.1, 0.06).grade == "good"
    assert table_verdict("crosstabs", 0.1, 0.01).grade == "fair"
    assert table_verdict("crosstabs", 0.4, 0.01).grade == "poor"
    assert table_verdict("crosstabs", 0.24, 0.16).grade == "fair"  # a fifth of the rows wrong is good for nobody
    assert table_verdict("crosstabs", 0.6, 0.5).grade == "poor"
    # An error of c / sqrt(m) with halves at 2 c / sqrt(n): the share is m / n.
    n, m, c = 10_000, 2_500, 3.0
    assert "random 25 % sample" in table_verdict("x", c / m**0.5, 2 * c / n**0.5).words.replace("\u00a0", " ")
    assert model_verdict(0.9, 0.89).grade == "good"
    assert model_verdict(0.9, 0.7).grade == "poor"
