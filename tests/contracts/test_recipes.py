"""What every named method must keep, whatever its parts are."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from helpers_holders import opened, silence
from sfumato.errors import BudgetExceeded, SfumatoError
from sfumato.evaluate.marginals import cliques_of, mean_total_variation
from sfumato.fitting import fit
from sfumato.intake.codec import SchemaCodec
from sfumato.learn.once import Once
from sfumato.pipeline import Guarantee, run
from sfumato.privacy.budget import ApproxDP, PureDP
from sfumato.privacy.events import Free
from sfumato.privacy.holder import LocalHolder
from sfumato.recipes import RECIPES
from sfumato.schema.schema import Schema

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
    return PureDP(epsilon) if recipe.guarantee is Guarantee.PURE else ApproxDP(epsilon, "1e-6")


def fit_with(recipe, table, schema, epsilon=3):
    delta = None if recipe.guarantee is Guarantee.PURE else "1e-6"
    return fit(table, schema, epsilon=epsilon, delta=delta, method=recipe.name)


@every_recipe
def test_the_whole_budget_is_spent_and_no_more(recipe):
    holder, ledger = opened(table_of(COLUMNS, 3000), schema_of(COLUMNS), budget_for(recipe))
    run(recipe, holder, schema_of(COLUMNS), ledger)
    assert 0 <= ledger.left < ledger.budget.total.amount * Fraction(1, 10**5)


ROUNDING = Fraction(1, 10**5)
"""Widths of noise are rounded up to 27 significant bits; what a stage may leave of its share is less than this part."""


def cost(ledger, stage):
    """What a stage paid, and whether it asked anything at all."""
    events = [event for where, event in ledger.statement().entries if where == stage]
    asked = any(not isinstance(event, Free) for event in events)
    return sum((event.cost(ledger.budget.notion) for event in events), Fraction(0)), asked


class Watched:
    """A part of a `Once` that keeps what it was given, and what the ledger had left before and after."""

    def __init__(self, part, ledger):
        self.part, self.ledger, self.turns = part, ledger, []

    def __call__(self, holder, known, *shares):
        before = self.ledger.left
        answer = self.part(holder, known, *shares)
        self.turns.append((*(share.amount for share in shares), before - self.ledger.left))
        return answer


@every_recipe
def test_every_stage_spends_its_share(recipe):
    """What one stage leaves goes to the next, so a total cannot show that a stage charges less than it should."""
    holder, ledger = opened(table_of(COLUMNS, 3000), schema_of(COLUMNS), budget_for(recipe))
    total = ledger.budget.total.amount
    if not isinstance(recipe.learn, Once):  # what rounds spend, and when, is tested with them
        run(recipe, holder, schema_of(COLUMNS), ledger)
        assert ledger.left <= total * ROUNDING
        return
    select, measure = Watched(recipe.learn.select, ledger), Watched(recipe.learn.measure, ledger)
    watched = replace(recipe, learn=replace(recipe.learn, select=select, measure=measure))
    run(watched, holder, schema_of(COLUMNS), ledger)
    encoded, asked = cost(ledger, "encode")
    share = total * recipe.encode_part
    if asked:
        assert share * (1 - ROUNDING) < encoded <= share
    else:  # it asks nothing, and says so in public
        assert (encoded, recipe.encode.sigmas) == (0, None)
    ((choosing, ahead, chosen),) = select.turns
    assert choosing == (total - encoded) * recipe.learn.select_part
    assert choosing * (1 - ROUNDING) <= chosen <= choosing
    ((given, measured),) = measure.turns
    assert given == total - encoded - chosen
    assert given * (1 - ROUNDING) < measured <= given
    # It weighed tables against the noise that they would get.
    assert ahead == pytest.approx(given, rel=float(ROUNDING))


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
        holder, ledger = opened(table, schema_of(columns), budget_for(recipe, 1))
        model = run(recipe, holder, schema_of(columns), ledger)
        assert 0 <= ledger.left < ledger.budget.total.amount * ROUNDING
        assert {name for one in model.marginals.tables for name in one.clique} == set(columns)
        cliques = [one.clique for one in model.marginals.tables]
        assert len(set(cliques)) == len(cliques)  # tables that were measured twice are one table


@every_recipe
def test_a_ledger_with_too_little_left_stops_the_run(recipe):
    holder, ledger = opened(table_of(COLUMNS, 500), schema_of(COLUMNS), budget_for(recipe))
    holder.measure([("a",)], [ledger.budget.total])
    while ledger.left:  # what rounding left
        ledger.charge(Rest(ledger.left))
    with pytest.raises(BudgetExceeded):
        run(recipe, holder, schema_of(COLUMNS), ledger)


class Rest:
    """An event that costs what it is told."""

    question = "the rest"

    def __init__(self, price):
        self.price = price

    def cost(self, notion):
        return self.price


@every_recipe
def test_without_noise_the_tables_come_back(recipe, monkeypatch):
    silence(monkeypatch)
    schema, table = schema_of(COLUMNS), table_of(COLUMNS, 40_000)
    real = SchemaCodec(schema).encode(table)
    holder, ledger = opened(table, schema, budget_for(recipe, 1000))
    model = run(recipe, holder, schema, ledger)
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


def comparable(asked):
    """A part of a question that can be compared: arrays by their bytes."""
    if isinstance(asked, np.ndarray):
        return asked.tobytes()
    return tuple(map(comparable, asked)) if isinstance(asked, list) else asked


@every_recipe
def test_control_flow_depends_on_the_rows_only_through_noisy_answers(recipe, monkeypatch):
    # The same noise on neighbouring tables: every event, every table and every shape must be the same.
    schema, table = schema_of(COLUMNS), table_of(COLUMNS, 800)

    def replayed(name):
        real = getattr(LocalHolder, name)

        def ask(self, *question):
            question = [list(one) if isinstance(one, Iterator) else one for one in question]
            answer = real(self, *question)
            public = (name, self.coding, *map(comparable, question))
            if recording:
                tape.append((public, answer))
                return answer
            asked, recorded = tape.pop(0)
            assert asked == public
            return recorded

        return ask

    for name in ("measure", "dependence", "distances", "choose"):
        monkeypatch.setattr(LocalHolder, name, replayed(name))
    tape, statements, recording = [], [], True
    for rows in (table, table.slice(1)):
        holder, ledger = opened(rows, schema, budget_for(recipe))
        run(recipe, holder, schema, ledger)
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
    with pytest.raises(SfumatoError, match="method 'magic' is unknown; known methods are auto"):
        fit(pa.table({"a": ["0"]}), schema_of({"a": 1}), epsilon=1, method="magic")
