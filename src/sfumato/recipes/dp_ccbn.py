"""DP-CCBN (Su et al., section V): a Bayesian network from noisy tables of all candidates, to compare DP-SUBN with.

Like DP-SUBN it asks only for noisy tables. Where we depart from the paper, and why: all candidates are measured at once
and not once for each column (see `CandidateNetwork`); the rest is as in our DP-SUBN.
"""

from fractions import Fraction

from sfumato.encode.rare_values import RareValues
from sfumato.learn.measure import Tables
from sfumato.learn.once import Once
from sfumato.learn.select.candidate_network import CandidateNetwork
from sfumato.pipeline import Guarantee, Recipe
from sfumato.reconcile.consistency import ConsistentNormSub
from sfumato.synthesize.ancestral import Ancestral

DP_CCBN = Recipe(
    name="dp-ccbn",
    summary="a Bayesian network chosen from noisy tables of all candidates, for comparison with dp-subn",
    guarantee=Guarantee.EITHER,
    encode=RareValues(sigmas=None),
    encode_part=Fraction(1, 10),
    learn=Once(select=CandidateNetwork(), measure=Tables(epsilon_power=1 / 2), select_part=Fraction(1, 2)),
    reconcile=ConsistentNormSub(),
    synthesize=Ancestral(),
)
