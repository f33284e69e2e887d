"""Differentially private synthetic tables, with a privacy ledger that anyone can check."""

from sfumato.data.schema import Schema
from sfumato.errors import SfumatoError
from sfumato.fitting import fit
from sfumato.recipes import RECIPES
from sfumato.release import Release

__all__ = ["Release", "Schema", "SfumatoError", "fit", "methods"]


def methods() -> dict[str, str]:
    """The methods that `fit` knows, each with one line about it."""
    return {name: f"{recipe.guarantee}: {recipe.summary}" for name, recipe in RECIPES.items()}
