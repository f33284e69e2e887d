"""A recipe is data: every named one goes to JSON and back, and a release needs no list of names to be opened."""

import json
from dataclasses import fields, is_dataclass, replace
from functools import partial

import pyarrow as pa
import pytest
from test_recipes import COLUMNS, every_recipe, fit_with, schema_of, table_of

import sfumato
from sfumato import parts
from sfumato.errors import MethodError, SfumatoError
from sfumato.pipeline import STAGES, Recipe
from sfumato.recipes import PARTS, RECIPES, SYNTHESIZERS


@every_recipe
def test_a_recipe_comes_back_from_json_as_it_was(recipe):
    text = json.dumps(recipe.to_dict())
    assert Recipe.from_dict(json.loads(text), PARTS) == recipe
    unknown = Recipe.from_dict(json.loads(text), {})
    assert json.dumps(unknown.to_dict()) == text  # whoever knows none of its parts can still store it
    with pytest.raises(MethodError, match="is not known here"):
        unknown.learn(None, None, None)


@pytest.mark.parametrize("name", SYNTHESIZERS)
def test_a_synthesizer_comes_back_from_json_as_it_was(name):
    part = SYNTHESIZERS[name]
    assert parts.from_data(json.loads(json.dumps(parts.to_data(part))), PARTS) == part


@pytest.mark.parametrize("part", PARTS.values(), ids=list(PARTS))
def test_every_part_is_a_frozen_dataclass_of_plain_values(part):
    assert is_dataclass(part)
    assert part.__dataclass_params__.frozen
    assert all(one.init for one in fields(part))


@every_recipe
def test_every_key_of_a_recipe_is_needed(recipe):
    record = recipe.to_dict()
    for key in record:
        with pytest.raises(MethodError, match="a recipe cannot be read"):
            Recipe.from_dict({name: value for name, value in record.items() if name != key}, PARTS)


@pytest.mark.parametrize(
    "wrong",
    [{"guarantee": "magic"}, {"encode_part": "1/0"}, {"encode_part": 2}, {"name": 3}, {"needs": [3]}, {"needs": None}],
    ids=str,
)
def test_a_recipe_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(SfumatoError):
        Recipe.from_dict(RECIPES["privsyn"].to_dict() | wrong, PARTS)


@every_recipe
def test_a_release_carries_its_recipe_and_is_opened_without_the_list_of_methods(recipe, tmp_path, request):
    release = fit_with(recipe, table_of(COLUMNS, 300), schema_of(COLUMNS))
    folder = release.save(tmp_path / "release", rows=5, seed=1)
    sample, answer = release.sample(40, seed=2), release.marginal("a", "c")
    stored = json.loads((folder / "release.json").read_text())["recipe"]
    assert stored == json.loads(json.dumps(release.recipe.to_dict()))
    assert {stored[stage]["part"] for stage in STAGES} <= set(PARTS)
    for registry in (RECIPES, SYNTHESIZERS):
        kept = dict(registry)
        registry.clear()
        request.addfinalizer(partial(dict.update, registry, kept))  # in the order that messages list them
    again = sfumato.Release.load(folder)
    assert again.recipe == release.recipe
    assert again.sample(40, seed=2).equals(sample)
    assert again.marginal("a", "c").equals(answer)


def test_a_part_of_a_release_can_be_changed_and_is_stored_as_it_is(tmp_path):
    release = sfumato.fit(table_of(COLUMNS, 300), schema_of(COLUMNS), epsilon=2, method="priview")
    for name, part in SYNTHESIZERS.items():
        other = replace(release, recipe=replace(release.recipe, synthesize=part))
        again = sfumato.Release.load(other.save(tmp_path / name, rows=5, seed=1))
        assert again.recipe.synthesize == part
        assert isinstance(again.sample(20, seed=1), pa.Table)
