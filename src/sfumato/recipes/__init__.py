"""The named methods: one short file each, a literal. And the named ways to make rows from the tables of a release."""

from sfumato.errors import MethodError
from sfumato.pipeline import Recipe, Synthesize
from sfumato.recipes.dp_ccbn import DP_CCBN
from sfumato.recipes.dp_subn import DP_SUBN
from sfumato.recipes.dpsyn import DPSYN
from sfumato.recipes.dpview import DPVIEW, DPVIEW_PLUS
from sfumato.recipes.pgm import PGM
from sfumato.recipes.privbayes import PRIVBAYES
from sfumato.recipes.priview import PRIVIEW
from sfumato.recipes.privsyn import PRIVSYN
from sfumato.synthesize.gradual_update import GradualUpdate
from sfumato.synthesize.graphical import Graphical
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


def synthesizer_named(name: str | None, method: str) -> Synthesize:
    """The synthesizer of that name, or a method's own if there is no name."""
    if name is None:
        return recipe_named(method).synthesize
    if name not in SYNTHESIZERS:
        raise MethodError(f"synthesizer {name!r} is unknown; known ones are {', '.join(SYNTHESIZERS)}")
    return SYNTHESIZERS[name]
