"""DPSyn."""

from fractions import Fraction

from sfumato.encode.rare_values import RareValues
from sfumato.measure.least_noise import LeastNoise
from sfumato.pipeline import Recipe
from sfumato.reconcile.ripple import ConsistentRipple
from sfumato.select.random_views import RandomViews
from sfumato.synthesize.gradual_update import GradualUpdate

DPSYN = Recipe(
    name="dpsyn",
    summary="random views, as many and as large as the noise allows, and rows moved gradually towards them",
    guarantee="epsilon or (epsilon, delta)",
    shares={"encode": Fraction(1, 10), "select": Fraction(0), "measure": Fraction(9, 10)},
    encode=RareValues(sigmas=4.5),
    select=RandomViews(measure_part=Fraction(9, 10)),
    measure=LeastNoise(),
    reconcile=ConsistentRipple(),
    synthesize=GradualUpdate(),
    takes_views=True,
)
