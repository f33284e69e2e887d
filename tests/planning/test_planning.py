"""Plans: what is said before spending is what a run then has; wishes are granted; what cannot work is said."""

import json

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato.errors import BudgetError, SchemaError
from sfumato.fitting import check_fits
from sfumato.intake.codec import SchemaCodec
from sfumato.models.residuals import held
from sfumato.planning import rehearsal
from sfumato.planning.population import GROUP, POPULATIONS, Population
from sfumato.planning.rehearsal import scaled_budget
from sfumato.planning.support import LOST
from sfumato.planning.wish import Wish, solve, times
from sfumato.privacy.budget import ZCDP, ApproxDP, PureDP
from sfumato.release.intervals import table_interval
from sfumato.report.plan_page import plan_page
from sfumato.schema.schema import Schema
from sfumato.survey import survey_schema_text

KEYS = {
    "name": "people",
    "columns": [
        {"name": "age", "type": "integer", "min": 0, "max": 99, "bins": 10},
        {"name": "sex", "type": "categorical", "categories": ["f", "m"]},
        {"name": "city", "type": "categorical", "categories": [f"c{i}" for i in range(6)], "nullable": True},
    ],
}
SCHEMA = Schema.parse(KEYS)


def people(rows):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 100, rows),
            "sex": rng.choice(["f", "m"], rows),
            "city": rng.choice([f"c{i}" for i in range(6)], rows),
        }
    )


def intervals_of(release, scale=1.0):
    fine = release.model.recoding.fine
    return {
        held(table, fine)[0]: scale * table_interval(release.noisy_tables, table, fine)
        for table in release.noisy_tables
    }


class TestNoise:
    """Where public facts decide which tables there are, a plan tells their noise exactly."""

    @pytest.mark.parametrize("epsilon", ["0.5", "2"])
    def test_what_is_planned_is_what_a_run_has(self, epsilon):
        planned = sfumato.plan(SCHEMA, rows_guess=500, epsilon=epsilon, method="priview")
        real = intervals_of(sfumato.fit(people(70), SCHEMA, epsilon=epsilon, method="priview"))
        assert {one.columns for one in planned.tables} == set(real)
        for one in planned.tables:
            assert one.noise == pytest.approx((real[one.columns], real[one.columns]))
            assert one.smallest_group == pytest.approx(one.noise[1] / 0.3)
            assert one.basis == "the same in every rehearsal: budget and schema decide it"

    def test_a_large_table_is_rehearsed_with_fewer_rows_and_the_same_noise_beside_them(self, monkeypatch):
        monkeypatch.setattr(rehearsal, "MOST_ROWS", 400)
        for method, delta in (("priview", None), ("privsyn", "1e-6")):
            whole = sfumato.plan(SCHEMA, rows_guess=4_000, epsilon="1", delta=delta, method=method)
            assert whole.rehearsed_rows == 400
            real = intervals_of(sfumato.fit(people(70), SCHEMA, epsilon="1", delta=delta, method=method))
            for one in whole.tables:
                if len(one.columns) == 1 and method == "priview":
                    assert one.noise == pytest.approx((real[one.columns], real[one.columns]), rel=0.01)
            assert whole.one_way[1] < 0.2

    def test_a_scaled_budget_has_noise_in_proportion_to_the_rows(self):
        assert scaled_budget(PureDP("0.5"), 4) == PureDP(2)
        budget = ApproxDP("1", "1e-9")
        assert scaled_budget(budget, 4) == ZCDP(budget.total.amount * 16)
        assert scaled_budget(budget, 1) is budget

    def test_the_attack_rate_is_that_of_the_guarantee(self):
        planned = sfumato.plan(SCHEMA, rows_guess=300, epsilon="1", method="priview")
        assert planned.attack_rate == pytest.approx(np.e / (1 + np.e))
        release = sfumato.fit(people(50), SCHEMA, epsilon="1", method="priview")
        assert f"{100 * planned.attack_rate:.1f}" in release.ledger.sentence()


class TestWishes:
    @pytest.mark.parametrize(
        ("text", "rows", "columns"),
        [
            ("±50 in age × sex", 50, ("age", "sex")),
            ("+-50 rows in age x sex", 50, ("age", "sex")),
            ("+/- 2.5 in age, city,sex", 2.5, ("age", "city", "sex")),
            ("±1% in city", 30, ("city",)),
        ],
    )
    def test_words_are_read(self, text, rows, columns):
        assert Wish.parse(text, SCHEMA, 3_000) == Wish(rows, columns)

    @pytest.mark.parametrize("text", ["", "50", "±x in age", "±0 in age", "±. in age", "in age", "±50 in age × age"])
    def test_words_that_make_no_sense_are_refused(self, text):
        with pytest.raises(BudgetError, match="--want"):
            Wish.parse(text, SCHEMA, 3_000)

    def test_unknown_columns_are_refused(self):
        with pytest.raises(SchemaError, match="column 'town' is not in the schema; it has age, sex, city"):
            Wish.parse("±5 in town × age", SCHEMA, 3_000)

    @pytest.mark.parametrize(("method", "delta"), [("priview", None), ("privsyn", "1e-6")])
    def test_a_run_with_the_epsilon_that_was_found_is_as_exact_as_was_wanted(self, method, delta, tmp_path):
        planned = sfumato.plan(SCHEMA, rows_guess=600, want="±40 in age × sex", delta=delta, method=method)
        assert planned.wish.wish == "±40 in age × sex"
        assert planned.epsilon == planned.wish.epsilon
        views = None
        if "--views" in planned.wish.basis:
            views = tmp_path / "views.json"
            views.write_text(json.dumps([{"columns": ["age", "sex"]}]))
        release = sfumato.fit(
            people(600), SCHEMA, epsilon=str(planned.epsilon), delta=delta, method=method, views=views
        )
        found = release.marginal("age", "sex")
        # Values that are too rare for a small budget are merged first: then a little less noise is left, or none told.
        assert (found["high"] - found["unbiased"]).max() < 40 * 1.05
        assert planned.wish.rows <= 40

    def test_the_least_budget_is_found_where_noise_follows_it(self):
        budget, rows = solve(10.0, PureDP(1), lambda budget: 300 / float(budget.epsilon))
        assert 9.3 <= rows <= 10
        assert 30 <= budget.epsilon <= 32.5
        assert solve(10.0, PureDP(1), lambda budget: None) is None

    def test_a_table_that_only_a_larger_budget_tells_is_found(self):
        noise = lambda budget: 30 / float(budget.epsilon) if budget.epsilon >= 8 else None  # noqa: E731
        budget, rows = solve(10.0, PureDP(1), noise)
        assert 8 <= budget.epsilon < 10
        assert rows < 4

    def test_budgets_are_scaled_by_their_noise(self):
        assert times(PureDP(1), 3.0) == PureDP(3)
        four = times(ApproxDP("1", "1e-9"), 2.0)
        assert float(four.total.amount / ApproxDP("1", "1e-9").total.amount) == pytest.approx(4, rel=0.02)


@pytest.fixture(scope="module")
def poor():
    return sfumato.plan(SCHEMA, rows_guess=100, epsilon="0.01", method="priview")


class TestSupport:
    def test_columns_at_fault_are_named_with_three_ways_out(self, poor):
        assert not poor.is_supported
        assert "age" in poor.lost
        assert len(poor.ways_out) == 3
        more, coarser, fewer = poor.ways_out
        assert more.startswith("more budget: at epsilon ")
        assert "age to about" in coarser
        assert fewer.startswith("fewer columns: ")

    def test_the_budget_of_the_first_way_out_is_enough(self, poor):
        epsilon = poor.ways_out[0].split()[4]
        better = sfumato.plan(SCHEMA, rows_guess=100, epsilon=epsilon, method="priview")
        # Noise is drawn anew, so a column that was barely saved may be barely lost this time.
        assert all(one.error[1] < 2 * LOST for one in better.columns)
        assert sum(one.error[1] for one in better.columns) < sum(one.error[1] for one in poor.columns)

    def test_a_good_budget_loses_nothing(self):
        fine = sfumato.plan(SCHEMA, rows_guess=2_000, epsilon="5", method="priview")
        assert fine.is_supported
        assert fine.lost == fine.ways_out == ()


class TestValues:
    def test_a_plan_is_json(self):
        planned = sfumato.plan(SCHEMA, rows_guess=200, epsilon="1", method="priview")
        record = json.loads(json.dumps(planned.to_dict(), allow_nan=False))
        assert record["supported"] == planned.is_supported
        assert record["columns"][0]["column"] == "age"
        assert record["curve"] == []
        assert planned.track_record

    def test_the_guess_of_the_schema_is_taken_and_another_may_be_given(self):
        guessing = Schema.parse(KEYS | {"rows_guess": 300})
        assert sfumato.plan(guessing, epsilon="1", method="priview").rows_guess == 300
        with pytest.raises(BudgetError, match="no guess of the number of rows was given"):
            sfumato.plan(SCHEMA, epsilon="1")
        with pytest.raises(BudgetError, match="the guess of the number of rows is 0"):
            sfumato.plan(SCHEMA, rows_guess=0, epsilon="1")
        with pytest.raises(BudgetError, match="neither epsilon nor want was given"):
            sfumato.plan(SCHEMA, rows_guess=5)

    def test_the_page_has_one_picture_and_no_markup_of_strangers(self):
        keys = json.loads(json.dumps(KEYS))
        keys["name"] = keys["columns"][0]["name"] = "<b>bold"
        planned = sfumato.plan(Schema.parse(keys), rows_guess=200, epsilon="1", method="priview", curve=True)
        assert [point.epsilon for point in planned.curve] == [0.25, 0.5, 1, 2, 4]
        rates = [point.attack_rate for point in planned.curve]
        assert rates == sorted(rates)
        html = plan_page(planned)
        assert html.count("<svg") == 1
        assert "<b>bold" not in html
        assert "&lt;b&gt;bold" in html
        assert "<script" not in html


class TestPopulations:
    @pytest.mark.parametrize("population", POPULATIONS, ids=lambda one: one.name)
    def test_rows_fit_their_schema(self, population):
        keys = json.loads(survey_schema_text()) | {"unit": {"column": "person", "rows": 3}}
        for schema in (Schema.parse(keys), SCHEMA):
            table = population.table(schema, 400, seed=1)
            check_fits(table, schema)
            assert table.num_rows == 400

    def test_shares_and_dependence_are_those_that_it_says(self):
        columns = [{"name": f"c{i}", "type": "integer", "min": 0, "max": 9} for i in range(GROUP + 1)]
        schema = Schema.parse({"name": "ten", "columns": columns})
        table = Population("even", 0.0, 0.1, 0.5).table(schema, 50_000, seed=2)
        codes = SchemaCodec(schema).encode(table)
        assert codes.project(("c0",)).counts / 50_000 == pytest.approx(0.1, abs=0.01)
        matrix = np.corrcoef([codes[name] for name in schema.names])
        assert matrix[0, 1] == pytest.approx(0.6, abs=0.03)
        assert matrix[0, GROUP] == pytest.approx(0.1, abs=0.03)
        skewed = SchemaCodec(schema).encode(Population("skewed", 1.0, 0.0).table(schema, 50_000, seed=2))
        shares = np.sort(skewed.project(("c1",)).counts)[::-1] / 50_000
        assert shares[0] / shares[1] == pytest.approx(2, rel=0.05)
