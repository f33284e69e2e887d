"""Auto: the default. Tables are chosen in rounds, where a model is most wrong; rows are drawn from a tree and moved.

A method of our own. It shares ideas with AIM (McKenna et al., 2022: rounds, and scores against the current model),
PrivSyn (noise weighed against error) and PGM (a junction tree), and differs from all of them in what it does with noisy
tables. The reasons, the figures and what did not work: docs/systems/auto.md; why it is private: docs/proofs/auto.md.
"""

from dataclasses import replace
from fractions import Fraction

from sfumato.encode.supported_levels import SupportedLevels
from sfumato.learn.rounds import Rounds
from sfumato.pipeline import Guarantee, Recipe
from sfumato.privacy.budget import Budget, PureDP
from sfumato.privacy.holder import DISTANCES
from sfumato.recipes.privbayes import PRIVBAYES
from sfumato.reconcile.layered import LayeredFit
from sfumato.synthesize.moves import Moves

AUTO = Recipe(
    name="auto",
    summary="tables chosen in rounds where a model is wrong, and rows of a tree moved towards all of them",
    guarantee=Guarantee.EITHER,
    encode=SupportedLevels(),
    encode_part=Fraction(1, 2),
    learn=Rounds(),
    reconcile=LayeredFit(),
    synthesize=Moves(),
    needs=(DISTANCES,),
    takes_views=True,
)

AUTO_PURE = replace(PRIVBAYES, name=AUTO.name, summary="the parts of privbayes, which are best without a delta")
"""Auto without a delta, also over many parties. Many small tables pay with Gaussian noise, whose cost adds up in
squares; with Laplace noise a few larger ones are better, and no scores of all pairs. docs/systems/auto.md has the
figures."""


AUTO_PARTIES = replace(
    AUTO,
    summary="the parts of auto, which compares models with noisy tables of all pairs",
    learn=Rounds(rounds=3, select_part=Fraction(1, 7), looks=True),
    needs=(),
)
"""Auto where rows are with many parties. Nobody has the exact tables that a model could be compared with, so the noisy
tables of all pairs are measured once and models are compared with these. docs/systems/auto.md has the figures."""


def over_parties(recipe: Recipe) -> Recipe:
    """Auto with the parts that many parties can answer; any other recipe, and one of somebody's own parts, as it is."""
    if recipe.name != AUTO.name or recipe.learn != AUTO.learn:
        return recipe
    return replace(recipe, summary=AUTO_PARTIES.summary, learn=AUTO_PARTIES.learn, needs=AUTO_PARTIES.needs)


def for_budget(recipe: Recipe, budget: Budget) -> Recipe:
    """Auto with the parts that suit a budget; any other recipe, and an auto of somebody's own parts, as it is."""
    own, *ours = ((one.encode, one.learn, one.reconcile) for one in (recipe, AUTO, AUTO_PARTIES))
    if recipe.name != AUTO.name or own not in ours or not isinstance(budget, PureDP):
        return recipe
    kept = AUTO_PURE.synthesize if recipe.synthesize == AUTO.synthesize else recipe.synthesize
    return replace(AUTO_PURE, synthesize=kept)
