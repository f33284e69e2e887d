"""Auto: the default. Tables are chosen in rounds, where a model is most wrong; rows are drawn from a tree and moved.

A method of our own. It shares ideas with AIM (McKenna et al., 2022: rounds, and scores against the current model),
PrivSyn (noise weighed against error) and PGM (a junction tree), and differs from all of them in what it does with noisy
tables. The reasons, the figures and what did not work: docs/systems/auto.md; why it is private: docs/proofs/auto.md.
"""

from fractions import Fraction

from sfumato.encode.supported_levels import SupportedLevels
from sfumato.learn.rounds import Rounds
from sfumato.pipeline import Guarantee, Recipe
from sfumato.privacy.holder import DISTANCES
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
)
