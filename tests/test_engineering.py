"""Schema features from end to end: what a steward declares holds in every synthetic row, and costs what it says."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sfumato
from helpers_holders import opened
from sfumato.errors import MethodError
from sfumato.intake.attributes import Attributes
from sfumato.pipeline import Guarantee, run
from sfumato.privacy.budget import ApproxDP, PureDP
from sfumato.privacy.events import Free
from sfumato.recipes import RECIPES, SYNTHESIZERS

STREETS = [f"street {number}" for number in range(300)]
TIME = {"type": "integer", "min": 0, "max": 99, "bins": 10}
SCHEMA = {
    "name": "calls",
    "columns": [
        {"name": "unit", "type": "categorical", "categories": ["engine", "truck", "medic"]},
        {"name": "als", "type": "boolean"},
        {"name": "received", **TIME},
        {"name": "arrived", **TIME, "nullable": True},
        {"name": "street", "type": "categorical", "categories": STREETS, "compress": {"sigmas": 3.0, "count": 200}},
        {"name": "wage", "type": "integer", "min": 0, "max": 99, "joint_bins": 5},
        {
            "name": "rich",
            "type": "categorical",
            "categories": ["no", "yes"],
            "derived": {"of": "wage", "edges": [0, 70, 99], "values": ["no", "yes"]},
        },
        {"name": "sex", "type": "categorical", "categories": ["f", "m"]},
    ],
    "recode": [{"name": "unit info", "columns": ["unit", "als"]}],
    "together": [{"name": "moment", "columns": ["received", "arrived"]}],
    "missing_patterns": [{"name": "reached", "columns": ["arrived"]}],
    "apart": [["wage", "sex"]],
}


def calls(rows=8000):
    rng = np.random.default_rng(0)
    unit = rng.choice(["engine", "truck", "medic"], rows, p=[0.5, 0.1, 0.4])
    received = rng.integers(0, 100, rows)
    wage = rng.binomial(99, rng.choice([0.2, 0.7], rows))
    wage -= wage % 2  # only even wages: a fine detail inside a joint bin
    return pd.DataFrame(
        {
            "unit": unit,
            "als": unit == "medic",  # three of six combinations occur
            "received": received,
            "arrived": np.where(rng.random(rows) < 0.25, np.nan, received),
            "street": np.where(rng.random(rows) < 0.8, "street 7", rng.choice(STREETS, rows)),
            "wage": wage,
            "rich": np.where(wage >= 70, "yes", "no"),
            "sex": np.where(rng.random(rows) < np.where(wage > 50, 0.8, 0.2), "f", "m"),
        }
    )


@pytest.fixture(scope="module", params=["privsyn", "dpview", "priview", "dpsyn", "privbayes", "pgm", "dp-subn"])
def release(request):
    delta = None if RECIPES[request.param].guarantee is Guarantee.PURE else "1e-6"
    return sfumato.fit(calls(), sfumato.Schema.parse(SCHEMA), epsilon=4, delta=delta, method=request.param)


@pytest.fixture(scope="module")
def rows(release):
    return release.sample(8000, seed=1)


def test_the_table_has_all_columns_in_order(rows):
    assert list(rows) == [column["name"] for column in SCHEMA["columns"]]


def test_a_derived_column_follows_in_every_row(rows):
    assert ((rows["wage"] >= 70) == (rows["rich"] == "yes")).all()


def test_columns_that_move_together_are_equal_or_missing(rows):
    there = rows["arrived"].notna()
    assert (rows["arrived"][there] == rows["received"][there]).all()
    assert there.mean() == pytest.approx(0.75, abs=0.04)


def test_combinations_that_do_not_occur_hardly_do(rows):
    impossible = rows["als"].astype(bool) != (rows["unit"] == "medic")
    assert impossible.mean() < 0.02


def test_inside_a_joint_bin_values_follow_their_own_table(rows):
    assert (rows["wage"] % 2 == 0).mean() > 0.9


def test_joint_bins_still_tie_columns(rows):
    assert (rows["sex"][rows["wage"] > 50] == "f").mean() > 0.7
    assert (rows["sex"][rows["wage"] <= 40] == "f").mean() < 0.35


def test_a_large_domain_is_compressed(release, rows):
    assert release.model.recoding.domain["street"] <= 4
    assert (rows["street"] == "street 7").mean() == pytest.approx(0.8, abs=0.03)
    assert rows["street"].nunique() > 20  # rare streets come back


def test_no_table_ties_what_is_apart(release):
    for clique in release.model.marginals.cliques:
        assert set(clique) <= {"wage", "sex"} or not set(clique) & {"wage", "sex"}


def test_a_release_answers_about_columns(release, tmp_path):
    again = sfumato.Release.load(release.save(tmp_path / "release", rows=10))
    for one in (release, replace(again, kind="pandas")):
        found = one.marginal("als", "unit")
        found = found.set_index(["als", "unit"])["count"]
        assert found[(True, "medic")] == pytest.approx(3200, abs=250)
        assert found[(True, "engine")] < 150
        assert one.marginal("rich")["count"].sum() == pytest.approx(one.rows, rel=0.01)
        missing = one.marginal("arrived").set_index("arrived")["count"]["(missing)"]
        assert missing == pytest.approx(2000, abs=250)


def test_a_derived_column_costs_nothing(release):
    assert not any("rich" in event.question for _, event in release.ledger.entries)


def test_what_nobody_asks_to_encode_is_left_to_the_tables():
    """A method that learns no coding spends all on its tables, unless the schema asks it to compress."""
    plain = {**SCHEMA, "recode": [], "together": [], "missing_patterns": [], "apart": []}
    plain["columns"] = [
        {key: value for key, value in column.items() if key not in ("compress", "joint_bins")}
        for column in SCHEMA["columns"]
    ]
    for keys, stages in [(plain, {"learn"}), (SCHEMA, {"encode", "learn"})]:
        schema = sfumato.Schema.parse(keys)
        holder, ledger = opened(calls(500), schema, PureDP(1))
        run(RECIPES["priview"], holder, schema, ledger)
        statement = ledger.statement()
        costs = {}
        for stage, event in statement.entries:
            costs[stage] = costs.get(stage, 0) + float(event.cost(statement.budget.notion))
        assert {stage for stage, cost in costs.items() if cost} == stages
        assert sum(costs.values()) == pytest.approx(1, rel=1e-5)
        assert costs.get("encode", 0) == pytest.approx(0.1 if "encode" in stages else 0, rel=1e-5)


def test_attributes_are_what_a_holder_holds():
    schema = sfumato.Schema.parse(SCHEMA)
    holder, _ = opened(calls(50), schema, PureDP(1))
    assert holder.domain == Attributes(schema).domain


class TestViewsOfAUser:
    @pytest.fixture
    def views(self, tmp_path):
        path = tmp_path / "views.json"
        path.write_text(json.dumps([{"columns": ["sex", "wage"], "weight": 3}, {"columns": ["unit info"]}]))
        return path

    def test_they_are_measured_with_their_weights(self, views):
        schema = sfumato.Schema.parse({**SCHEMA, "apart": []})
        release = sfumato.fit(calls(), schema, epsilon=4, delta="1e-6", method="dpsyn", views=views)
        costs = {
            event.question: float(event.cost(release.ledger.budget.notion))
            for stage, event in release.ledger.entries
            if stage == "learn" and not isinstance(event, Free)
        }
        assert costs["table wage × sex"] / costs["table unit info"] == pytest.approx(3, rel=1e-6)
        assert costs["table street"] == pytest.approx(costs["table unit info"], rel=1e-6)  # left over: least weight
        assert len(costs) == 5

    def test_few_tables_are_measured_with_laplace_noise(self, views):
        columns = [column for column in SCHEMA["columns"] if column["name"] in ("sex", "wage")]
        small = sfumato.Schema.parse({"name": "small", "columns": columns})
        views.write_text('[{"columns": ["sex", "wage"]}]')
        table = calls()[["wage", "sex"]]
        release = sfumato.fit(table, small, epsilon=1, delta="1e-9", method="dpsyn", views=views)
        assert isinstance(release.ledger.budget, PureDP)
        assert release.ledger.guarantee["epsilon"] == pytest.approx(1, rel=1e-5)
        wide = sfumato.fit(calls(), sfumato.Schema.parse(SCHEMA), epsilon=1, delta="1e-9", method="dpsyn")
        assert isinstance(wide.ledger.budget, PureDP | ApproxDP)

    def test_a_method_with_a_structure_of_its_own_refuses_them(self, views):
        with pytest.raises(MethodError, match=r"'dpview' needs views of its own choice; views can be given to auto"):
            sfumato.fit(calls(50), sfumato.Schema.parse(SCHEMA), epsilon=1, method="dpview", views=views)


@pytest.mark.parametrize("synthesizer", ["gradual-update", "min-cost-flow", "sorted-views"])
def test_rows_can_be_made_in_several_ways(synthesizer, tmp_path):
    schema = sfumato.Schema.parse(SCHEMA)
    release = sfumato.fit(calls(3000), schema, epsilon=4, method="priview", synthesizer=synthesizer)
    again = sfumato.Release.load(release.save(tmp_path / "release", rows=10, seed=2))
    assert again.recipe.synthesize == SYNTHESIZERS[synthesizer]
    assert again.sample(500, seed=3).equals(release.sample_arrow(500, seed=3))
    other = "min-cost-flow" if synthesizer != "min-cost-flow" else "sorted-views"
    changed = replace(again, recipe=replace(again.recipe, synthesize=SYNTHESIZERS[other]))
    assert not again.sample(500, seed=3).equals(changed.sample(500, seed=3))


def test_an_unknown_synthesizer_is_refused_before_anything_is_spent():
    with pytest.raises(MethodError, match="synthesizer 'gan' is unknown; known ones are gradual-update, min-cost-flow"):
        sfumato.fit(None, sfumato.Schema.parse(SCHEMA), epsilon=1, method="priview", synthesizer="gan")


def test_each_group_that_is_apart_has_a_limit_of_its_own():
    seen = []

    class Picky:
        def check(self, domain, selection):
            seen.append(domain.names)
            assert all(set(clique) <= set(domain.names) for clique in selection.cliques)

    schema = sfumato.Schema.parse(SCHEMA)
    holder, ledger = opened(calls(500), schema, PureDP(1))
    run(replace(RECIPES["priview"], synthesize=Picky()), holder, schema, ledger)
    assert tuple(seen) == Attributes(schema).parts
