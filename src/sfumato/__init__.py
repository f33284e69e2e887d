"""Differentially private synthetic tables, with a privacy ledger that anyone can check."""

from importlib.metadata import version

from sfumato.errors import SfumatoError
from sfumato.fitting import fit, run_job
from sfumato.job import Job
from sfumato.pipeline import Recipe
from sfumato.planning.plan import Plan, plan
from sfumato.recipes import RECIPES, register
from sfumato.release import Release
from sfumato.schema.schema import Schema
from sfumato.steward import card, check, draft, evaluate, verify

__version__ = version("sfumato")
__all__ = [
    "Job",
    "Plan",
    "Recipe",
    "Release",
    "Schema",
    "SfumatoError",
    "__version__",
    "card",
    "check",
    "draft",
    "evaluate",
    "fit",
    "methods",
    "plan",
    "register",
    "run_job",
    "verify",
]


def methods() -> dict[str, str]:
    """The methods that `fit` knows, each with one line about it."""
    return {name: f"{recipe.guarantee}: {recipe.summary}" for name, recipe in RECIPES.items()}
