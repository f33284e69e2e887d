"""The named methods: one short file each, a literal. And the named ways to make rows from the tables of a release."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sfumato.errors import MethodError, ReleaseError
from sfumato.pipeline import Recipe, Synthesize
from sfumato.recipes.dp_ccbn import DP_CCBN
from sfumato.recipes.dp_subn import DP_SUBN
from sfumato.recipes.dpsyn import DPSYN
from sfumato.recipes.dpview import DPVIEW, DPVIEW_PLUS
from sfumato.recipes.pgm import PGM
from sfumato.recipes.privbayes import PRIVBAYES
from sfumato.recipes.priview import PRIVIEW
from sfumato.recipes.privsyn import PRIVSYN
from sfumato.synthesize.ancestral import Ancestral
from sfumato.synthesize.gradual_update import GradualUpdate
from sfumato.synthesize.graphical import Graphical
from sfumato.synthesize.linking import Linking
from sfumato.synthesize.min_cost_flow import MinCostFlow
from sfumato.synthesize.sorted_views import SortedViews

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe for recipe in (PRIVSYN, DPVIEW, DPVIEW_PLUS, PRIVIEW, DPSYN, PRIVBAYES, PGM, DP_SUBN, DP_CCBN)
}

SYNTHESIZERS: dict[str, Synthesize] = {
    "gradual-update": GradualUpdate(),
    "min-cost-flow": MinCostFlow(),
    "sorted-views": SortedViews(),
    "graphical": Graphical(),
}
"""These work for the tables of every method; a method's own may need the structure that it selected."""


def recipe_named(name: str) -> Recipe:
    """The recipe of that name; an unknown name is an error that lists the known ones."""
    if name not in RECIPES:
        raise MethodError(f"method {name!r} is unknown; known methods are {', '.join(RECIPES)}")
    return RECIPES[name]


def synthesizer_named(name: str) -> Synthesize:
    """The synthesizer of that name; an unknown name is an error that lists the known ones."""
    if name not in SYNTHESIZERS:
        raise MethodError(f"synthesizer {name!r} is unknown; known ones are {', '.join(SYNTHESIZERS)}")
    return SYNTHESIZERS[name]


_PARTS: dict[str, Any] = {
    part.__name__: part for part in (GradualUpdate, MinCostFlow, SortedViews, Graphical, Linking, Ancestral)
}


def synthesizer_to_dict(synthesize: Any) -> dict[str, Any]:
    """A synthesizer as JSON: the name of the part, and its settings."""
    return {"part": type(synthesize).__name__, **asdict(synthesize)}


def synthesizer_from_dict(record: Mapping[str, Any]) -> Synthesize:
    """Read a synthesizer back, as it was when its release was made, whatever a method of today has in its place."""
    try:
        settings = {str(name): value for name, value in record.items() if name != "part"}
        part: Any = _PARTS[record["part"]]
        usual = asdict(part())
        made: Synthesize = part(**{name: type(usual[name])(value) for name, value in settings.items()})
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ReleaseError(
            f"the synthesizer of a release cannot be read; known parts are {', '.join(_PARTS)}, with their settings"
        ) from None
    return made
