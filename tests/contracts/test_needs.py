"""Recipes say what they ask of a holder, and it is what they ask; a federation refuses what it cannot answer."""

import re
from dataclasses import replace

import pytest
from test_recipes import COLUMNS, budget_for, every_recipe, schema_of, table_of

from helpers_holders import opened
from sfumato.errors import MethodError
from sfumato.parties.federation import OFFERS, check_method
from sfumato.pipeline import run
from sfumato.privacy.holder import CHOOSE, DEPENDENCE, DISTANCES, LocalHolder
from sfumato.recipes import RECIPES
from sfumato.recipes.auto import AUTO, AUTO_PARTIES, over_parties

QUESTIONS = (DEPENDENCE, DISTANCES, CHOOSE)


@every_recipe
def test_a_recipe_asks_what_it_says_that_it_needs(recipe, monkeypatch):
    asked = set()
    for name in QUESTIONS:
        real = getattr(LocalHolder, name)

        def spy(self, *given, name=name, real=real):
            asked.add(name)
            return real(self, *given)

        monkeypatch.setattr(LocalHolder, name, spy)
    schema = schema_of(COLUMNS)
    holder, ledger = opened(table_of(COLUMNS, 500), schema, budget_for(recipe))
    run(recipe, holder, schema, ledger)
    assert asked == set(recipe.needs)


@every_recipe
def test_a_federation_runs_what_it_can_answer_and_refuses_the_rest_by_name(recipe):
    if set(recipe.needs) <= OFFERS:
        check_method(recipe)
        return
    able = ", ".join(name for name, one in RECIPES.items() if set(over_parties(one).needs) <= OFFERS)
    with pytest.raises(MethodError, match=f"method {recipe.name!r} .* use one of {re.escape(able)}$"):
        check_method(recipe)


def test_auto_runs_over_parties_with_parts_that_ask_for_tables_alone():
    assert over_parties(AUTO) == AUTO_PARTIES
    check_method(over_parties(AUTO))
    for recipe in RECIPES.values():
        if recipe is not AUTO:
            assert over_parties(recipe) is recipe
    own = replace(AUTO, learn=replace(AUTO.learn, rounds=2))
    assert over_parties(own) is own
    with pytest.raises(MethodError, match=r"method 'auto' compares a model with exact tables, .* use one of auto, "):
        check_method(own)
