"""What every named method must keep, whatever its parts are."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from sfumato.data.schema import Schema
from sfumato.encode.codec import SchemaCodec
from sfumato.errors import BudgetExceeded, SfumatoError
from sfumato.evaluate.marginals import cliques_of, mean_total_variation
from sfumato.fitting import fit, take_in
from sfumato.pipeline import run
from sfumato.privacy.budget import ApproxDP, PureDP
from sfumato.privacy.events import Free, Gaussian, Laplace
from sfumato.privacy.holder import LocalHolder, Neighbours
from sfumato.privacy.ledger import Ledger
from sfumato.recipes import RECIPES
from sfumato.select.random_views import RandomViews

every_recipe = pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.name)


def schema_of(columns):
    kinds = [{"name": n, "type": "categorical", "categories": [str(v) for v in range(k)]} for n, k in columns.items()]
    return Schema.parse({"name": "test", "columns": kinds})


def table_of(columns, rows, seed=0):
    """A chain of dependent columns."""
    rng = np.random.default_rng(seed)
    made, last = {}, rng.integers(0, 2**20, rows)
    for name, size in columns.items():
        last = np.where(rng.random(rows) < 0.8, last, rng.integers(0, 2**20, rows))
        made[name] = pa.array((last % size).astype(str).tolist(), pa.string())
    return pa.table(made)


COLUMNS = {"a": 4, "b": 3, "c": 5, "d": 2, "e": 6}


def budget_for(recipe, epsilon=3):
    return PureDP(epsilon) if recipe.guarantee == "epsilon" else ApproxDP(epsilon, "1e-6")


def fit_with(recipe, table, schema, epsilon=3):
    delta = None if recipe.guarantee == "epsilon" else "1e-6"
    return fit(table, schema, epsilon=epsilon, delta=delta, method=recipe.name)


@every_recipe
def test_the_whole_budget_is_spent_and_no_more(recipe):
    holder, ledger = take_in(table_of(COLUMNS, 3000), schema_of(COLUMNS), budget_for(recipe))
    run(recipe, holder, schema_of(COLUMNS), ledger)
    assert 0 <= ledger.left < ledger.budget.total.amount * Fraction(1, 10**5)


STAGES = ("encode", "select", "measure")
ROUNDING = Fraction(1, 10**5)
"""Widths of noise are rounded up to 27 significant bits; what a stage may leave of its share is less than this part."""


@every_recipe
def test_every_stage_spends_its_share(recipe):
    """What one stage leaves goes to the next, so a total cannot show that a stage charges less than it should."""
    holder, ledger = take_in(table_of(COLUMNS, 3000), schema_of(COLUMNS), budget_for(recipe))
    run(recipe, holder, schema_of(COLUMNS), ledger)
    left = ledger.budget.total.amount
    for place, stage in enumerate(STAGES):
        events = [event for where, event in ledger.statement().entries if where == stage]
        spent = sum(ledger.budget.cost(event) for event in events)
        share = left * recipe.shares[stage] / sum(recipe.shares[later] for later in STAGES[place:])
        if any(not isinstance(event, Free) for event in events):
            assert share * (1 - ROUNDING) < spent <= share
        else:  # it asks nothing, and says so in public
            assert (stage, share) == ("select", 0) or (stage, recipe.encode.sigmas) == ("encode", None)
        left -= spent


INDEPENDENT = {
    "two binary columns": ({"a": 2, "b": 2}, 200),
    "few rows": ({"a": 4, "b": 3, "c": 12}, 30),
    "no rows": ({"a": 3, "b": 20}, 0),
    "one column": ({"a": 3}, 100),
    "one column of many values": ({"a": 40}, 500),
    "constant columns": ({"a": 1, "b": 1}, 50),
}


@every_recipe
@pytest.mark.parametrize("case", INDEPENDENT)
def test_the_whole_budget_is_spent_where_nothing_depends_on_anything(recipe, case):
    """privsyn and pgm chose no pair in one run of ten, and left most of the budget unspent (finding 4)."""
    columns, rows = INDEPENDENT[case]
    rng = np.random.default_rng(1)
    table = pa.table(
        {n: pa.array(rng.integers(0, k, rows).astype(str).tolist(), pa.string()) for n, k in columns.items()}
    )
    for _ in range(5):
        holder, ledger = take_in(table, schema_of(columns), budget_for(recipe, 1))
        model = run(recipe, holder, schema_of(columns), ledger)
        assert 0 <= ledger.left < ledger.budget.total.amount * ROUNDING
        assert {name for one in model.marginals.tables for name in one.clique} == set(columns)
        cliques = [one.clique for one in model.marginals.tables]
        assert len(set(cliques)) == len(cliques)  # tables that were measured twice are one table


@every_recipe
def test_a_ledger_with_too_little_left_stops_the_run(recipe):
    records = SchemaCodec(schema_of(COLUMNS)).encode(table_of(COLUMNS, 500))
    ledger = Ledger(budget_for(recipe), "test")
    holder = LocalHolder(records, Neighbours(), ledger)
    share = ledger.budget.total
    noise = (
        share.laplace(holder.neighbours.marginal)
        if share.unit == "epsilon"
        else share.gaussian(holder.neighbours.marginal)
    )
    holder.measure([("a",)], [noise])
    with pytest.raises(BudgetExceeded):
        run(recipe, holder, schema_of(COLUMNS), ledger)


class NearlyNoiseless(LocalHolder):
    """Answers exactly; for tests of what is left when noise is taken away."""

    def _draw(self, noise: Laplace | Gaussian, size: int):
        return np.zeros(size, dtype=np.int64)


@every_recipe
def test_without_noise_the_tables_come_back(recipe):
    schema, table = schema_of(COLUMNS), table_of(COLUMNS, 40_000)
    real = SchemaCodec(schema).encode(table)
    ledger = Ledger(budget_for(recipe, 1000), "test")
    model = run(recipe, NearlyNoiseless(real, Neighbours(), ledger), schema, ledger)
    rng = np.random.default_rng(0)
    synthetic = model.recoding.decode(recipe.synthesize(model.marginals, model.selection, len(real), rng), rng)
    assert model.marginals.rows == 40_000
    assert mean_total_variation(real, synthetic, cliques_of(real.domain, 1)) < 0.003
    assert mean_total_variation(real, synthetic, cliques_of(real.domain, 2)) < 0.02
    assert mean_total_variation(real, synthetic, cliques_of(real.domain, 3)) < 0.05


ODD_TABLES = {
    "no rows": ({"a": 3, "b": 2}, 0),
    "one row": ({"a": 3, "b": 2}, 1),
    "one column": ({"a": 3}, 500),
    "one column, one value": ({"a": 1}, 10),
    "constant columns": ({"a": 1, "b": 1, "c": 4}, 300),
    "two thousand categories": ({"a": 2000, "b": 3}, 4000),
    "many columns": ({f"c{i}": 2 for i in range(12)}, 500),
}


@every_recipe
@pytest.mark.parametrize("odd", ODD_TABLES)
def test_odd_but_legal_tables_work(recipe, odd):
    columns, rows = ODD_TABLES[odd]
    release = fit_with(recipe, table_of(columns, rows), schema_of(columns))
    budget = release.ledger.budget.total.amount
    assert budget * (1 - ROUNDING) < release.ledger.spent <= budget
    assert release.rows == pytest.approx(rows, abs=500)  # noise is added to up to 2,000 cells
    sample = release.sample(50, seed=1)
    assert sample.num_rows == 50
    assert sample.column_names == list(columns)
    assert all(set(sample[name].to_pylist()) <= {str(code) for code in range(size)} for name, size in columns.items())


@every_recipe
@pytest.mark.parametrize("epsilon", ["0.0001", "0.01", "100", "10000"])
def test_any_epsilon_works(recipe, epsilon):
    release = fit_with(recipe, table_of(COLUMNS, 400), schema_of(COLUMNS), epsilon)
    assert release.ledger.guarantee["epsilon"] == float(epsilon)
    budget = release.ledger.budget.total.amount
    assert budget * (1 - ROUNDING) < release.ledger.spent <= budget
    assert release.sample(20, seed=0).num_rows == 20
    if float(epsilon) > 1000:
        assert release.rows == 400


@every_recipe
def test_control_flow_depends_on_the_rows_only_through_noisy_answers(recipe):
    # The same noise on neighbouring tables: every event, every table and every shape must be the same.
    schema, table = schema_of(COLUMNS), table_of(COLUMNS, 800)

    class Replayed(LocalHolder):
        answers = None  # recorded on the first table, replayed on the second

        def measure(self, cliques, noises):
            found = super().measure(cliques, noises)
            return self._replay(("measure", tuple(cliques)), found)

        def dependence(self, pairs, noise):
            return self._replay(("dependence", tuple(pairs)), super().dependence(pairs, noise))

        def choose(self, families, score, epsilon, handicaps):
            picked = super().choose(families, score, epsilon, handicaps)
            return self._replay(("choose", tuple(families), tuple(handicaps)), picked)

        def through(self, codec):
            return Replayed(codec.encode(self._records), self.neighbours, self._ledger, self._entropy)

        def _replay(self, question, answer):
            if recording:
                tape.append((question, answer))
                return answer
            asked, recorded = tape.pop(0)
            assert asked == question
            return recorded

    tape, statements, recording = [], [], True
    for rows in (table, table.slice(1)):
        ledger = Ledger(budget_for(recipe), "test")
        run(recipe, Replayed(SchemaCodec(schema).encode(rows), Neighbours(), ledger), schema, ledger)
        statements.append(ledger.statement())
        recording = False
    assert tape == []
    assert statements[0] == statements[1]


@every_recipe
def test_rows_given_some_values_are_those_among_all_rows(recipe):
    release = fit_with(recipe, table_of(COLUMNS, 5000), schema_of(COLUMNS))
    given = {"a": ["0", "2"], "d": "1"}
    rows = release.sample(4000, seed=1, given=given)
    assert rows.num_rows == 4000
    assert set(rows["a"].to_pylist()) == {"0", "2"}
    assert set(rows["d"].to_pylist()) == {"1"}
    every = release.sample(60_000, seed=2).to_pandas()
    every = every[every["a"].isin(given["a"]) & (every["d"] == "1")]
    wanted = every["e"].value_counts(normalize=True)
    found = rows.to_pandas()["e"].value_counts(normalize=True)
    assert wanted.sub(found, fill_value=0).abs().sum() / 2 < 0.05
    with pytest.raises(SfumatoError, match="one of its declared categories"):
        release.sample(10, given={"a": "x"})


@every_recipe
def test_values_outside_the_domain_change_nothing_in_the_release(recipe):
    columns = [{"name": "a", "type": "categorical", "categories": ["x", "y"], "other": "y"}]
    columns.append({"name": "b", "type": "integer", "min": 0, "max": 9, "outside": "clip"})
    schema = Schema.parse({"name": "test", "columns": columns})
    table = pa.table({"a": ["x", "y", "never seen before"] * 50, "b": [1, 2, 10**9] * 50})
    release = fit_with(recipe, table, schema)
    sample = release.sample(200)
    assert set(sample["a"].to_pylist()) <= {"x", "y"}
    assert all(0 <= value <= 9 for value in sample["b"].to_pylist())


def test_the_list_of_methods_is_complete_and_named():
    import sfumato

    assert list(sfumato.methods()) == list(RECIPES)
    assert all(name == recipe.name for name, recipe in RECIPES.items())
    with pytest.raises(SfumatoError, match="method 'magic' is unknown; known methods are privsyn"):
        fit(pa.table({"a": ["0"]}), schema_of({"a": 1}), epsilon=1, method="magic")


@every_recipe
def test_a_selection_knows_how_much_budget_will_measure(recipe):
    """It weighs tables against the noise that they will get; the ratio is written down twice in a recipe."""
    if recipe.shares["select"]:
        assert Fraction(recipe.select.measure_ratio) == recipe.shares["measure"] / recipe.shares["select"]
    elif isinstance(recipe.select, RandomViews):
        assert recipe.select.measure_part == recipe.shares["measure"]
