"""A release described for catalogues: Frictionless data package, Croissant, and the registry of DP deployments.

All of it follows from the schema, the ledger, the recipe and the synthetic file. What a person has to write is named as
such, and nothing is guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from sfumato.files import digest_of
from sfumato.pipeline import Recipe
from sfumato.privacy.budget import ZCDP, PureDP
from sfumato.privacy.events import Choice, Free, Noisy
from sfumato.privacy.ledger import Statement
from sfumato.schema.acceptance import observed_words
from sfumato.schema.columns import Boolean, Categorical, Column, Date, Datetime, Integer, Number
from sfumato.schema.schema import Schema

PACKAGE, CROISSANT, REGISTRY = "datapackage.json", "croissant.json", "registry.yaml"
TO_WRITE = "(to be written by the curator)"

_TYPES = {"integer": "sc:Integer", "number": "sc:Float", "boolean": "sc:Boolean", "date": "sc:Date"}
_MEDIA = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


def metadata(folder: Path, file: str, schema: Schema, statement: Statement, recipe: Recipe) -> dict[str, str]:
    """The content of each file of metadata for the release in a folder, by its name."""
    size, digest = (folder / file).stat().st_size, digest_of(folder / file)
    return {
        PACKAGE: _json(_package(file, size, digest, schema, statement)),
        CROISSANT: _json(_croissant(file, size, digest, schema, statement)),
        REGISTRY: yaml.safe_dump(_registry(schema, statement, recipe), sort_keys=False, allow_unicode=True, width=120),
    }


def _json(content: Any) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "release"


def _identifier(text: str) -> str:
    return re.sub(r"[^-A-Za-z0-9._]+", "-", text)


def _about(schema: Schema, statement: Statement) -> str:
    return f"Synthetic rows, made from noisy tables of counts of {schema.name!r}. Guarantee: {statement.sentence()}."


def _package(file: str, size: int, digest: str, schema: Schema, statement: Statement) -> dict[str, Any]:
    ending = file.rpartition(".")[2]
    resource = {
        "name": "synthetic",
        "path": file,
        "format": ending,
        "mediatype": _MEDIA[ending],
        "encoding": "utf-8",
        "bytes": size,
        "hash": f"sha256:{digest}",
        "schema": {"fields": [_field(column) for column in schema.columns], "missingValues": []},
    }
    return {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": _slug(schema.name),
        "title": schema.name,
        "description": _about(schema, statement),
        **({"sources": [{"title": schema.source}]} if schema.source else {}),
        **({"licenses": [{"name": _identifier(schema.license), "title": schema.license}]} if schema.license else {}),
        "resources": [resource],
    }


def _field(column: Column) -> dict[str, Any]:
    field: dict[str, Any] = {"name": column.name, "type": "string"}
    constraints: dict[str, Any] = {"required": True} if not column.nullable else {}
    match column:
        case Categorical():
            field["categories"] = list(column.labels)
            field["categoriesOrdered"] = column.is_ordered
        case Boolean():
            field |= {
                "type": "boolean",
                "trueValues": list(column.true_values),
                "falseValues": list(column.false_values),
            }
        case Integer() | Number():
            field["type"] = "integer" if isinstance(column, Integer) else "number"
            constraints |= {"minimum": column.min, "maximum": column.max}
        case Date() | Datetime():
            field["type"] = "date" if isinstance(column, Date) else "datetime"
            if column.format:
                field["format"] = column.format
            constraints |= {"minimum": column.min.isoformat(), "maximum": column.max.isoformat()}
    if column.nullable:
        field["missingValues"] = list(column.null_values)
    if column.note:
        field["description"] = column.note
    return field | ({"constraints": constraints} if constraints else {})


def _croissant(file: str, size: int, digest: str, schema: Schema, statement: Statement) -> dict[str, Any]:
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"rows/{column.name}",
            "name": column.name,
            "description": column.note or f"A column of type {column.type}.",
            "dataType": _TYPES.get(column.type, "sc:Text"),
            "source": {"fileObject": {"@id": file}, "extract": {"column": column.name}},
        }
        for column in schema.columns
    ]
    return {
        "@context": {
            "@language": "en",
            "@vocab": "https://schema.org/",
            "sc": "https://schema.org/",
            "cr": "http://mlcommons.org/croissant/",
            "rai": "http://mlcommons.org/croissant/RAI/",
            "dct": "http://purl.org/dc/terms/",
            "conformsTo": "dct:conformsTo",
            "recordSet": "cr:recordSet",
            "field": "cr:field",
            "source": "cr:source",
            "extract": "cr:extract",
            "column": "cr:column",
            "fileObject": "cr:fileObject",
            "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
        },
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": _slug(schema.name),
        "description": _about(schema, statement),
        **({"license": schema.license} if schema.license else {}),
        "rai:personalSensitiveInformation": f"Protected by differential privacy: {statement.sentence()}.",
        "rai:dataManipulationProtocol": "Noisy tables of counts, made to agree; rows drawn from them. See ledger.json.",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": file,
                "name": file,
                "contentUrl": file,
                "contentSize": f"{size} B",
                "encodingFormat": _MEDIA[file.rpartition(".")[2]],
                "sha256": digest,
            }
        ],
        "recordSet": [{"@type": "cr:RecordSet", "@id": "rows", "name": "rows", "field": fields}],
    }


def _registry(schema: Schema, statement: Statement, recipe: Recipe) -> dict[str, Any]:
    """An entry for the registry of deployments of differential privacy, as far as a release can tell."""
    budget = statement.budget
    variant = "Zero-concentrated DP" if isinstance(budget, ZCDP) else "Pure DP" if isinstance(budget, PureDP) else ""
    events = [event for _, event in statement.entries if not isinstance(event, Free)]
    unprotected = ["the schema: columns, their types and their declared domains"]
    unprotected += [f"{observed_words([name])}, which was read from the data" for name in statement.observed]
    if schema.may_refuse:
        unprotected.append("that no value of the table broke the schema")
    return {
        "url_slug": _slug(schema.name),
        "deployment": {
            "basic": {
                "name": schema.name,
                "data_curators": TO_WRITE,
                "description": _about(schema, statement),
                "intended_use": TO_WRITE,
                "data_product_type": "Synthetic data",
                "data_product_region": TO_WRITE,
                "data_product_sector": TO_WRITE,
                "publication_date": TO_WRITE,
            },
            "dp_variant": {
                "variant_name": variant or "Approximate DP",
                "data_domain": f"One row for each record, {len(schema.columns)} columns: {', '.join(schema.names)}.",
                "unprotected_quantities": "; ".join(unprotected) + ".",
            },
            "privacy_loss": {
                "privacy_unit": "User-level" if schema.unit.column else "Event-level",
                "privacy_unit_details": f"Protects {statement.protects}.",
                "privacy_parameters": dict(statement.guarantee),
                "privacy_parameters_details": f"{statement.sentence()}.",
            },
            "deployment_model": {
                "model_name": TO_WRITE if ", at each of " in statement.protects else "Central",
                "release_type": "One release",
                "data_source_type": TO_WRITE,
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": "Tables are made to agree and rows are drawn from noisy tables alone (model/).",
                "composition": "Costs of all events add up, as exact fractions, to at most the budget (ledger.json).",
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": "None that reads the data without an event in the ledger.",
                "mechanisms": f"Method {recipe.name} of Sfumato: {_mechanisms(events)}.",
                "justification": TO_WRITE,
            },
            "administrative": {
                "evidence_sources": TO_WRITE,
                "status": "Draft",
                "registry_authors": TO_WRITE,
                "tier": 3,
            },
        },
    }


def _mechanisms(events: Sequence[Noisy | Choice]) -> str:
    names = {"laplace": "discrete Laplace noise", "gaussian": "rounded Gaussian noise", "skellam": "Skellam noise"}
    kinds = ["the exponential mechanism" if isinstance(one, Choice) else names[one.noise.kind] for one in events]
    return ", ".join(f"{name} ({kinds.count(name)} answers)" for name in dict.fromkeys(kinds)) or "no answer"
