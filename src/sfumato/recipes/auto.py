"""Auto: the default. Tables are chosen in rounds, where a model is most wrong; rows are drawn from a tree and moved.

A method of our own. It shares ideas with AIM (McKenna et al., 2022: rounds, and scores against the current model),
PrivSyn (noise weighed against error) and PGM (a junction tree), and differs from all of them in what it does with noisy
tables. The reasons, the figures and what did not work: docs/systems/auto.md; why it is private: docs/proofs/auto.md.
"""

from dataclasses import replace
from fractions import Fraction
from math import sqrt

from sfumato.encode.count_first import CountFirst
from sfumato.encode.supported_levels import SupportedLevels
from sfumato.intake.attributes import Attributes
from sfumato.learn.if_measured import IfMeasured
from sfumato.learn.rounds import Rounds
from sfumato.pipeline import Guarantee, Recipe
from sfumato.privacy.budget import ApproxDP, Budget, PureDP
from sfumato.privacy.holder import CHOOSE, DISTANCES
from sfumato.privacy.mechanism_choice import choose_mechanism, planned_noise
from sfumato.privacy.neighbours import Neighbours
from sfumato.recipes.privbayes import PRIVBAYES
from sfumato.reconcile.by_structure import FitByStructure
from sfumato.reconcile.layered import LayeredFit
from sfumato.schema.schema import Schema
from sfumato.synthesize.by_structure import DrawByStructure
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

AUTO_PURE = replace(
    PRIVBAYES,
    name=AUTO.name,
    summary="rounds where the rows can pay for scores of all pairs, and else the parts of privbayes, or columns alone",
    encode=CountFirst(SupportedLevels(), PRIVBAYES.encode),
    encode_part=Fraction(99, 100),
    learn=IfMeasured(Rounds(), PRIVBAYES.learn),
    reconcile=FitByStructure(PRIVBAYES.reconcile, LayeredFit()),
    synthesize=DrawByStructure(PRIVBAYES.synthesize, Moves()),
    needs=(CHOOSE, DISTANCES),
)
"""Auto without a delta. Scores of m pairs have m times the Laplace noise of one, while Gaussian noise grows with the
root of m. So the rows are counted first: many rows with few pairs learn in rounds, others have a network of a few
tables, which the exponential mechanism chooses, and very few rows have single columns. docs/systems/auto.md has the
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


AUTO_PURE_PARTIES = replace(PRIVBAYES, name=AUTO.name, summary="the parts of privbayes, whose parties choose in turn")
"""Auto over many parties without a delta: nobody can tell distances, so there are no rounds to choose from."""


def for_budget(recipe: Recipe, budget: Budget, schema: Schema) -> Recipe:
    """Auto with the parts that suit a budget; any other recipe, and an auto of somebody's own parts, as it is.

    What suits follows from public facts alone: the budget, the columns, and the guess of the rows, if there is one.
    """
    own, whole, pure, parties = map(_parts, (recipe, AUTO, AUTO_PURE, AUTO_PARTIES))
    if own in (whole, pure):
        suits = AUTO_PURE if isinstance(budget, PureDP) or drowns(budget, schema) else AUTO
    elif own == parties and isinstance(budget, PureDP):
        suits = AUTO_PURE_PARTIES
    else:
        return recipe
    usual = recipe.synthesize in (AUTO.synthesize, AUTO_PURE.synthesize)
    return replace(suits, synthesize=suits.synthesize if usual else recipe.synthesize)


def drowns(budget: Budget, schema: Schema) -> bool:
    """Whether noise leaves nothing but single columns, which then had better have Laplace noise, as far as is public.

    Gaussian noise of m tables grows with the root of m, Laplace noise with m: it is less for a few tables alone. A run
    with Laplace noise keeps epsilon without a delta, which is more than was asked for (docs/proofs/accounting.md,
    section 8).
    """
    if schema.rows_guess is None or not isinstance(budget, ApproxDP):
        return False
    columns, neighbours = len(Attributes(schema).domain), Neighbours.of(schema)
    pure = choose_mechanism(budget, columns, neighbours)
    if not isinstance(pure, PureDP):
        return False
    noise = planned_noise(pure.total.part(Fraction(1, columns)), neighbours.marginal)
    return sqrt(noise.variance) / neighbours.parts > CountFirst.drowned * schema.rows_guess


def _parts(recipe: Recipe) -> tuple[object, ...]:
    return recipe.name, recipe.encode, recipe.learn, recipe.reconcile
