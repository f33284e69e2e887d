"""Release folders against the JSON Schema that readers in other languages have."""

import copy
import json
from importlib.resources import files

import jsonschema
import pytest

from helpers_release import SCHEMA as KEYS
from helpers_release import released
from sfumato.recipes import RECIPES

SCHEMA = json.loads((files("sfumato.release") / "release.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def content(folder):
    return {name: json.loads((folder / name).read_text(encoding="utf-8")) for name in SCHEMA["properties"]}


@pytest.mark.parametrize("method", RECIPES)
def test_a_release_by_every_method_is_what_the_schema_says(method, tmp_path):
    folder = released(tmp_path / "release", method)
    assert [problem.message for problem in VALIDATOR.iter_errors(content(folder))] == []


def test_the_schema_sees_what_is_wrong(tmp_path):
    alone = {key: value for key, value in KEYS.items() if key != "unit"}  # two rows a person leave nothing to choose
    right = content(released(tmp_path / "release", "privbayes", alone))
    kinds = {event["event"] for event in right["ledger.json"]["events"]}
    assert {"choice", "laplace", "free"} <= kinds
    noisy = next(at for at, event in enumerate(right["ledger.json"]["events"]) if event["event"] == "laplace")
    changes = [
        lambda it: it["ledger.json"].pop("budget"),
        lambda it: it["ledger.json"]["events"][noisy].pop("sensitivity_l1"),
        lambda it: it["ledger.json"]["events"][noisy].update(event="guess"),
        lambda it: it["ledger.json"]["events"][noisy].update(scale="0.5"),
        lambda it: it["answers.json"][0].update(numbers=[0.5]),
        lambda it: it["release.json"].update(format=3),
        lambda it: it["release.json"]["recipe"].pop("learn"),
        lambda it: it["marginals/index.json"]["tables"][0].update(variance=0),
        lambda it: it["manifest.json"]["subject"][0].update(digest={"md5": "0"}),
    ]
    for change in changes:
        wrong = copy.deepcopy(right)
        change(wrong)
        assert not VALIDATOR.is_valid(wrong)
