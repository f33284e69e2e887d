"""Differentially private synthetic tables, with a privacy ledger that anyone can check."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.errors import SfumatoError
    from sfumato.fitting import fit, run_job
    from sfumato.job import Job
    from sfumato.pipeline import Recipe
    from sfumato.planning.plan import Plan, plan
    from sfumato.recipes import register
    from sfumato.release import Release
    from sfumato.schema.schema import Schema
    from sfumato.steward import card, check, draft, evaluate, verify

    __version__: str

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

_HOMES = {
    "Job": "job",
    "Plan": "planning.plan",
    "Recipe": "pipeline",
    "Release": "release",
    "Schema": "schema.schema",
    "SfumatoError": "errors",
    "card": "steward",
    "check": "steward",
    "draft": "steward",
    "evaluate": "steward",
    "fit": "fitting",
    "plan": "planning.plan",
    "register": "recipes",
    "run_job": "fitting",
    "verify": "steward",
}
"""The module of each name. It is loaded when the name is first asked for: a command needs few of them."""


class _Package(ModuleType):
    """This package. Its functions `evaluate` and `verify` have the names of two rooms, and keep them."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("sfumato")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def methods() -> dict[str, str]:
    """The methods that `fit` knows, each with one line about it.

    >>> "auto" in methods()
    True
    """
    from sfumato.recipes import RECIPES

    return {name: f"{recipe.guarantee}: {recipe.summary}" for name, recipe in RECIPES.items()}
