"""A job: everything that describes one run, all of it public. The command line, Python and parties share it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp
from pathlib import Path

from sfumato.errors import BudgetError, MethodError, SchemaError
from sfumato.intake.attributes import Attributes
from sfumato.learn.measure import Tables
from sfumato.learn.once import Once
from sfumato.learn.select.given_views import GivenViews, read_views
from sfumato.pipeline import Guarantee, Recipe
from sfumato.privacy.budget import ApproxDP, Budget, PureDP, SkellamDP
from sfumato.privacy.mechanism_choice import choose_mechanism
from sfumato.privacy.neighbours import Neighbours
from sfumato.recipes import RECIPES, recipe_named, synthesizer_named
from sfumato.recipes.auto import for_budget
from sfumato.schema.acceptance import ROWS, RULES, observed_words
from sfumato.schema.schema import Schema

MOST_EPSILON, MOST_DELTA, MOST_ROWS = 10, 1e-4, 100
"""Beyond these, a budget promises next to nothing, or the noise drowns everything: a person must say why."""


@dataclass(frozen=True)
class Job:
    """One run, before it is run. A job that could not be run is refused when it is made, from public facts alone.

    Args:
        schema: the public schema.
        recipe: the method, part by part.
        budget: what was agreed on.

    >>> from sfumato.privacy.budget import budget_of
    >>> age = {"name": "age", "type": "integer", "min": 0, "max": 99}
    >>> job = Job(Schema.parse({"name": "people", "columns": [age]}), recipe_of("privsyn"), budget_of("1", "1e-6"))
    >>> job.recipe.name
    'privsyn'
    """

    schema: Schema
    recipe: Recipe
    budget: Budget

    def __post_init__(self) -> None:
        object.__setattr__(self, "recipe", for_budget(self.recipe, self.budget, self.schema))
        check_budget(self.recipe, self.budget)
        check_observed(self.schema)
        learn = self.recipe.learn
        if isinstance(learn, Once) and isinstance(learn.select, GivenViews):
            learn.select.check(Attributes(self.schema).domain)

    @property
    def opened(self) -> Budget:
        """The budget to open a ledger with; it implies the one that was agreed on.

        A method of pure epsilon needs no delta, and what it gives is more than was asked for. For a method of either
        kind, it is the budget with less noise in each table.
        """
        budget = self.budget
        if isinstance(budget, ApproxDP | SkellamDP) and self.recipe.guarantee is Guarantee.PURE:
            return PureDP(budget.epsilon)
        domain, neighbours = Attributes(self.schema).domain, Neighbours.of(self.schema)
        if self.recipe.guarantee is not Guarantee.EITHER or not isinstance(self.recipe.learn, Once):
            return budget
        tables = self.recipe.learn.tables(domain, budget.total.part(1 - self.recipe.encode_part), neighbours)
        return budget if tables is None else choose_mechanism(budget, len(domain) + tables, neighbours)


def recipe_of(method: str | Recipe, views: str | Path | None = None, synthesizer: str | None = None) -> Recipe:
    """A recipe, or the one of that name; `views` and `synthesizer`, if given, replace its parts."""
    recipe = method if isinstance(method, Recipe) else recipe_named(method)
    if views is not None:
        if not recipe.takes_views:
            able = ", ".join(name for name, one in RECIPES.items() if one.takes_views)
            raise MethodError(f"method {recipe.name!r} needs views of its own choice; views can be given to {able}")
        select = read_views(views)
        if isinstance(recipe.learn, Once):
            recipe = replace(recipe, learn=replace(recipe.learn, select=select))
        else:
            recipe = replace(recipe, learn=Once(select, Tables()), needs=())
    return recipe if synthesizer is None else replace(recipe, synthesize=synthesizer_named(synthesizer))


def foreseen(schema: Schema) -> Schema:
    """The schema as if its observed domains were accepted: for forecasts, which read no rows and publish nothing."""
    return schema.accepting(schema.unaccepted, "nobody", "a forecast") if schema.unaccepted else schema


def check_budget(recipe: Recipe, budget: Budget) -> None:
    """Refuse a budget of a kind that a recipe cannot spend."""
    if isinstance(budget, PureDP) and recipe.guarantee is Guarantee.APPROXIMATE:
        raise BudgetError(
            f"method {recipe.name!r} adds Gaussian noise and needs a delta; give one, for example delta = 1e-9"
        )


def check_observed(schema: Schema) -> None:
    """Refuse a schema with domains that were read off the data, unless a person has accepted each of them by name."""
    if schema.unaccepted:
        raise SchemaError(
            f"{observed_words(schema.unaccepted)} was observed in the data, which can reveal persons. For each "
            f"column: declare what is publicly known and change 'domain_from'; or put it into 'ignore'; or accept it "
            "by name, with your name and a reason (--accept-observed COLUMN --accepted-by NAME --reason TEXT, or the "
            "key 'accept_observed' of the schema)" + _keys_advice(schema.unaccepted)
        )


def _keys_advice(names: tuple[str, ...]) -> str:
    """What to do about keys of the table that were read from the rows."""
    keys = [name for name in (RULES, ROWS) if name in names]
    where = {RULES: "'rules_from'", ROWS: "'unit.rows_from'"}
    return "".join(f". For {key!r}: confirm it and change {where[key]}, or accept it by that name" for key in keys)


def unusual(schema: Schema, budget: Budget) -> list[str]:
    """What is unusual about a budget: it promises next to nothing, or its noise drowns everything."""
    numbers = budget.guarantee
    epsilon, delta = numbers.get("epsilon", 0.0), numbers.get("delta", 0.0)
    found = []
    if epsilon > MOST_EPSILON:
        share = 1 / (1 + exp(-min(epsilon, 700.0)))
        found.append(f"epsilon {epsilon:g} lets an attacker be right {share:.2%} of the time (a coin: 50 %)")
    if delta > _most_delta(schema):
        found.append(f"delta {delta:g} is the chance that the promise fails; it should be far below 1 / rows")
    if schema.unit.rows > MOST_ROWS:
        found.append(f"unit.rows is {schema.unit.rows}, and the noise is that many times as large")
    return found


def _most_delta(schema: Schema) -> float:
    return MOST_DELTA if schema.rows_guess is None else min(MOST_DELTA, 1 / schema.rows_guess)


def with_reason(schema: Schema, budget: Budget, reason: str | None) -> Schema:
    """Refuse a budget that promises next to nothing, unless a person says why; the reason goes into the notes."""
    found = unusual(schema, budget)
    most = _most_delta(schema)
    if found and not (reason or "").strip():
        raise BudgetError(
            f"{'; '.join(found)}. Usual are epsilon up to {MOST_EPSILON}, delta up to {most:g} and up to {MOST_ROWS} "
            "rows of a person; to go on all the same, say why with --yes REASON"
        )
    return with_note(schema, f"unusual budget ({'; '.join(found)}): {reason}") if found else schema


def with_note(schema: Schema, words: str) -> Schema:
    """The schema with one more remark, which is published."""
    notes = f"{schema.notes}; " if schema.notes else ""
    return schema.model_copy(update={"notes": f"{notes}{words}"})
