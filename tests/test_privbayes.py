"""PrivBayes from rows to rows: accuracy, the guarantee, and levels as parents."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from helpers_holders import opened
from helpers_select import halvings
from sfumato.evaluate.marginals import cliques_of, mean_total_variation
from sfumato.intake.codec import SchemaCodec
from sfumato.learn.select.greedy_network import GreedyNetwork
from sfumato.pipeline import run
from sfumato.privacy.budget import PureDP
from sfumato.recipes.privbayes import PRIVBAYES
from sfumato.schema.schema import Schema

SIZES = {"age": 60, "retired": 2, "income": 8, "sex": 2, "coin": 2}


def schema(neighbours="add-remove"):
    columns = [{"name": n, "type": "categorical", "categories": [str(v) for v in range(k)]} for n, k in SIZES.items()]
    return Schema.parse({"name": "test", "neighbours": neighbours, "columns": columns})


def table(rows=20_000):
    rng = np.random.default_rng(0)
    age = rng.integers(0, 60, rows)
    retired = np.where(rng.random(rows) < 0.95, age >= 45, rng.random(rows) < 0.5)
    income = np.clip(age // 10 + rng.integers(-1, 2, rows) - 2 * retired, 0, 7)
    columns = [age, retired, income, rng.integers(0, 2, rows), rng.integers(0, 2, rows)]
    return pa.table({n: [str(int(v)) for v in codes] for n, codes in zip(SIZES, columns, strict=True)})


def selecting(select):
    return replace(PRIVBAYES, learn=replace(PRIVBAYES.learn, select=select))


def errors(recipe, epsilon, neighbours="add-remove"):
    """Mean error of two-way tables, the model, and what is left of the budget."""
    real = SchemaCodec(schema()).encode(table())
    holder, ledger = opened(table(), schema(neighbours), PureDP(epsilon))
    model = run(recipe, holder, schema(neighbours), ledger)
    rng = np.random.default_rng(1)
    records = recipe.synthesize(model.marginals, model.selection, len(real), rng)
    found = model.recoding.decode(records, rng)
    return mean_total_variation(real, found, cliques_of(real.domain, 2)), model, ledger


def test_a_fair_budget_gives_close_tables_and_is_spent_as_pure_epsilon():
    error, model, ledger = errors(PRIVBAYES, 2)
    assert error < 0.05
    statement = ledger.statement()
    assert statement.guarantee["delta"] == 0
    assert 2 - 1e-5 < statement.guarantee["epsilon"] <= 2
    assert model.marginals.rows == pytest.approx(20_000, rel=0.02)


@pytest.mark.parametrize("score", ["R", "I"])
def test_the_network_is_better_than_independent_columns(score):
    independent = selecting(GreedyNetwork(theta=1e12))
    alone, _, _ = errors(independent, 2)
    error, model, _ = errors(selecting(GreedyNetwork(score)), 2)
    assert error < alone / 2
    assert any(family.parents for family in model.selection.structure.families)


def test_replace_one_neighbours_pay_more_for_the_same():
    _, _, added = errors(PRIVBAYES, 2)
    _, _, replaced = errors(PRIVBAYES, 2, "replace-one")
    rates = [
        next(event.mechanism.rate for _, event in ledger.statement().entries if event.to_dict()["event"] == "choice")
        for ledger in (added, replaced)
    ]
    assert rates[1] < rates[0]


class WithLevels:
    """A part that gets levels of the column age, which the schema does not declare."""

    def __init__(self, select):
        self.select = select

    def __call__(self, holder, known, share, ahead):
        return self.select(holder, replace(known, levels=halvings(holder.domain, "age")), share, ahead)


def test_levels_are_measured_in_the_place_of_columns_that_are_too_fine():
    first_is_age = next(seed for seed in range(100) if np.random.default_rng(seed).integers(5) == 0)
    # 150 cells: income with all 60 ages is too much, with 15 groups of ages it is not.
    select = GreedyNetwork(theta=20_000 * 1.6 / (5 * 150), price=0.0, seed=first_is_age)
    error, model, ledger = errors(selecting(WithLevels(select)), 2)
    assert any(name.startswith("age in") for clique in model.selection.cliques for name in clique)
    assert error < 0.07
    assert ledger.left < Fraction(1, 10**4)


def test_levels_of_the_schema_are_parents_and_survive_saving(tmp_path):
    rng = np.random.default_rng(0)
    town = rng.integers(0, 40, 3000)
    shop = 20 * (town // 20) + rng.integers(0, 20, 3000)  # on the same side of the river as the town
    kinds = [{"name": name, "type": "integer", "min": 0, "max": 39, "levels": [20]} for name in ("town", "shop")]
    towns = Schema.parse({"name": "towns", "columns": kinds})
    release = sfumato.fit(pa.table({"town": town, "shop": shop}), towns, epsilon=1, method="privbayes")
    again = sfumato.Release.load(release.save(tmp_path / "release", rows=10))
    (level,) = again.model.selection.structure.levels
    assert level.name in ("town in 2", "shop in 2")
    rows = again.sample(3000, seed=1).to_pandas()
    assert (rows["town"] // 20 == rows["shop"] // 20).mean() > 0.9
    assert again.marginal("town", "shop").to_pandas()["count"].sum() == pytest.approx(again.rows, rel=0.02)


@pytest.mark.parametrize("synthesizer", [None, "gradual-update", "sorted-views"])
def test_levels_are_parents_in_every_group_of_columns_that_is_kept_apart(tmp_path, synthesizer):
    """With `apart` a schema's levels were silently ignored (defect B2)."""
    rng = np.random.default_rng(0)
    towns = [rng.integers(0, 40, 3000) for _ in range(2)]
    shops = [20 * (town // 20) + rng.integers(0, 20, 3000) for town in towns]
    table = pa.table({"town": towns[0], "work": towns[1], "shop": shops[0], "lunch": shops[1]})
    kinds = [{"name": name, "type": "integer", "min": 0, "max": 39, "levels": [20]} for name in table.column_names]
    schema = Schema.parse({"name": "towns", "columns": kinds, "apart": [["town", "shop"], ["work", "lunch"]]})
    release = sfumato.fit(table, schema, epsilon=2, method="privbayes", synthesizer=synthesizer)
    again = sfumato.Release.load(release.save(tmp_path / "release", rows=10))
    parts = again.model.selection.structure.selections
    assert [len(part.structure.levels) for part in parts] == [1, 1]
    assert len(again.model.selection.levels) == 2
    rows = again.sample(3000, seed=1).to_pandas()
    assert list(rows.columns) == table.column_names
    if synthesizer is None:
        assert (rows["town"] // 20 == rows["shop"] // 20).mean() > 0.9
        assert (rows["work"] // 20 == rows["lunch"] // 20).mean() > 0.9
        assert again.marginal("work", "lunch").to_pandas()["count"].sum() == pytest.approx(again.rows, rel=0.02)
