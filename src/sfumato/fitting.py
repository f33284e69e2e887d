"""`fit`: the one function that spends a budget on a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato import tables
from sfumato.data.attributes import Attributes
from sfumato.data.schema import Schema
from sfumato.encode.codec import SchemaCodec
from sfumato.errors import BudgetError, MethodError, SchemaError, SfumatoError
from sfumato.pipeline import Progress, Recipe, run
from sfumato.privacy.budget import ApproxDP, Budget, PureDP, budget_of
from sfumato.privacy.holder import LocalHolder, Neighbours
from sfumato.privacy.intake import RawHolder
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.narrowing import less_noise
from sfumato.recipes import RECIPES, recipe_named, synthesizer_named
from sfumato.release import Release
from sfumato.select.given_views import GivenViews, read_views
from sfumato.select.random_views import RandomViews

PURE, APPROXIMATE, EITHER = "epsilon", "(epsilon, delta)", "epsilon or (epsilon, delta)"
"""Guarantees of methods that need no delta, of those that need one, and of those that may have one."""


def fit(
    data: Any,
    schema: Schema | str | Path,
    *,
    epsilon: float | str,
    delta: float | str | None = None,
    method: str = "privsyn",
    views: str | Path | None = None,
    synthesizer: str | None = None,
    accept_observed_domain: bool = False,
    progress: Progress = lambda stage: None,
) -> Release:
    """Spend a privacy budget on a table and return a release, which holds no private rows.

    Args:
        data: a pandas, polars or pyarrow table, or the path of a CSV, CSV.gz or Parquet file.
        schema: the public schema, or the path of its file.
        epsilon: the budget. Text such as "0.1" is exact.
        delta: the probability with which epsilon may fail; leave it out for pure differential privacy.
        method: the name of a recipe; `sfumato.methods()` lists them.
        views: a JSON file of the views to measure, with weights, in the place of those that the method would choose.
        synthesizer: what makes rows from the tables, if not the method's own part; it can be changed later for free.
        accept_observed_domain: say that the parts of the schema which were taken from the data may be public.
        progress: called with the name of each stage as it starts.
    """
    schema = schema if isinstance(schema, Schema) else Schema.load(schema)
    recipe = recipe_for(method, schema, views)
    if synthesizer is not None:
        recipe = replace(recipe, synthesize=synthesizer_named(synthesizer))
    budget = least_noise(recipe, check_budget(budget_of(epsilon, delta), method), schema)
    check_observed(schema, accept_observed_domain)
    progress("read")
    holder, ledger = take_in(data, schema, budget)
    model = run(recipe, holder, schema, ledger, progress)
    statement = ledger.statement()
    statement.verify()
    return Release.made_by(recipe, schema, statement, model, tables.kind_of(data))


def recipe_for(method: str, schema: Schema, views: str | Path | None) -> Recipe:
    """A method, with a user's views in the place of its select stage if he gives some; they are checked here."""
    recipe = recipe_named(method)
    if views is None:
        return recipe
    if not recipe.takes_views:
        able = ", ".join(name for name, one in RECIPES.items() if one.takes_views)
        raise MethodError(f"method {method!r} needs views of its own choice; views can be given to {able}")
    given = read_views(views)
    given.check(Attributes(schema).domain)
    return replace(recipe, select=given)


def least_noise(recipe: Recipe, budget: Budget, schema: Schema) -> Budget:
    """The budget to open a ledger with.

    A method of pure epsilon needs no delta, and what it gives is more than was asked for. For a method of either kind,
    it is the budget with less noise in each table.
    """
    if isinstance(budget, ApproxDP) and recipe.guarantee == PURE:
        return PureDP(budget.epsilon)
    if not isinstance(recipe.select, GivenViews | RandomViews) or recipe.guarantee != EITHER:
        return budget
    domain, neighbours = Attributes(schema).domain, Neighbours.of(schema)
    tables = len(domain) + recipe.select.tables(domain, budget.total, neighbours)
    return less_noise(budget, tables, neighbours)


def take_in(data: Any, schema: Schema, budget: Budget) -> tuple[LocalHolder, Ledger]:
    """Give a table to a holder, in the codes of its schema, and open the ledger. Refuses a table that does not fit."""
    neighbours = Neighbours.of(schema)
    ledger = Ledger(budget, str(neighbours), schema.observed)
    note_schema(ledger, schema)
    for name in schema.observed:
        ledger.note(f"domain of column {name!r} was observed in the data", "a person accepted it as public")
    try:
        return _encoded(data, schema, neighbours, ledger), ledger
    except SfumatoError as problem:
        refusal = type(problem)(*problem.args)
    # A new exception, raised here: the frames and the context of the first one hold rows.
    raise refusal


def _encoded(data: Any, schema: Schema, neighbours: Neighbours, ledger: Ledger) -> LocalHolder:
    drop = schema.on_bad_value != "refuse"
    raw = RawHolder(tables.read(data, schema), neighbours, ledger, schema.unit.column, drop_unidentified=drop)
    return raw.through(SchemaCodec(schema)).through(Attributes(schema))


def note_schema(ledger: Ledger, schema: Schema) -> None:
    """The first notes of a ledger: what the run took from the schema, and whether a value could have stopped it."""
    ledger.note("read the schema", "the schema is public")
    if schema.may_refuse:
        ledger.note(
            "a value that breaks the schema would have stopped the run",
            "not covered by the guarantee: that there is a release says that no row did; see on_bad_value",
        )


def check_budget(budget: Budget, method: str) -> Budget:
    """Refuse a budget of a kind that a method cannot spend."""
    if isinstance(budget, PureDP) and recipe_named(method).guarantee == APPROXIMATE:
        raise BudgetError(
            f"method {method!r} adds Gaussian noise and needs a delta; give one, for example delta = 1e-9"
        )
    return budget


def check_observed(schema: Schema, accepted: bool) -> None:
    """Refuse a schema with domains that were read off the data, unless a person has accepted them."""
    if schema.observed and not accepted:
        raise SchemaError(
            f"the domain of {', '.join(schema.observed)} was observed in the data, which can reveal persons; confirm "
            "that it is public and change 'domain_from', or accept it with --accept-observed-domain "
            "(accept_observed_domain=True)"
        )
