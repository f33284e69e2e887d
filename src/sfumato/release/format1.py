"""Release folders of format 1, which named their method and left its parts to be looked up."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.data.coding import Coding, Levels
from sfumato.data.recoding import Recoding
from sfumato.data.selection import Selection
from sfumato.intake.attributes import Attributes
from sfumato.job import recipe_of
from sfumato.pipeline import Model, Recipe
from sfumato.privacy.ledger import Statement
from sfumato.reconcile.pooling import model_domain
from sfumato.release.storage import damaged, read_json, read_marginals, read_measurement
from sfumato.schema.schema import Schema


def read(folder: Path, description: Mapping[str, Any]) -> tuple[Recipe, Schema, Statement, Model]:
    """A release of format 1 as it would be today: the named method stands for its parts of then."""
    with damaged(folder):
        keys = read_json(folder / "schema.json")
        keys.pop("rows", None)
        schema = Schema.parse(keys)
        recipe = recipe_of(description["method"], None, description.get("synthesizer"))
        statement = Statement.from_dict({"observed": list(schema.observed), **read_json(folder / "ledger.json")})
        return recipe, schema, statement, _model(folder, schema)


def _model(folder: Path, schema: Schema) -> Model:
    description = read_json(folder / "model" / "model.json")
    plain = Coding(Attributes(schema).domain)
    recoding = Recoding.from_dict(plain.domain, description["merged"])
    selection = Selection.from_dict(description["selection"])
    merged = plain.then(recoding.step)
    if selection.levels:
        merged = merged.then(Levels(selection.levels))
    measurements = tuple(
        read_measurement(folder / "marginals", entry, plain if entry["coding"] == "schema" else merged, None)
        for entry in read_json(folder / "marginals" / "index.json")
    )
    domain = model_domain(recoding, selection)
    selection.require(domain)
    marginals = read_marginals(folder, description, domain)
    return Model(recoding, selection, measurements, marginals)
