"""The named methods: one short file each, a literal."""

from sfumato.errors import MethodError
from sfumato.pipeline import Recipe
from sfumato.recipes.dpview import DPVIEW, DPVIEW_PLUS
from sfumato.recipes.priview import PRIVIEW
from sfumato.recipes.privsyn import PRIVSYN

RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in (PRIVSYN, DPVIEW, DPVIEW_PLUS, PRIVIEW)}


def recipe_named(name: str) -> Recipe:
    """The recipe of that name; an unknown name is an error that lists the known ones."""
    if name not in RECIPES:
        raise MethodError(f"method {name!r} is unknown; known methods are {', '.join(RECIPES)}")
    return RECIPES[name]
