"""DP-CCBN (Su et al., section V): a Bayesian network from noisy tables of all candidates, to compare DP-SUBN with.

Like DP-SUBN it asks only for noisy tables. Where we depart from the paper, and why: all candidates are measured at once
and not once for each column (see `CandidateNetwork`); the rest is as in our DP-SUBN.
"""

from fractions import Fraction

from sfumato.encode.rare_values import RareValues
from sfumato.measure.least_noise import LeastNoise
from sfumato.pipeline import Recipe
from sfumato.reconcile.consistency import ConsistentNormSub
from sfumato.select.candidate_network import CandidateNetwork
from sfumato.synthesize.ancestral import Ancestral

DP_CCBN = Recipe(
    name="dp-ccbn",
    summary="a Bayesian network chosen from noisy tables of all candidates, for comparison with dp-subn",
    guarantee="epsilon or (epsilon, delta)",
    shares={"encode": Fraction(1, 10), "select": Fraction(45, 100), "measure": Fraction(45, 100)},
    encode=RareValues(sigmas=None),
    select=CandidateNetwork(measure_ratio=1.0),
    measure=LeastNoise(laplace_power=1 / 2),
    reconcile=ConsistentNormSub(),
    synthesize=Ancestral(),
)
