"""PGM: the three steps of MST (McKenna, Miklau and Sheldon, 2021) with a graphical model of our own.

Where we depart from the texts, and why:

- Pairs are not only a spanning tree: all pairs that are worth their noise are taken, as PrivSyn does, as long as the
  junction tree stays small. On UCI Adult this takes a fifth off the error of two-way tables at epsilon 1, and nearly
  half at epsilon 5. `SpanningTree` selects the tree.
- Tables are over pairs only, as in MST. Cliques of pairs used to be combined into one table, as PrivSyn does; a model
  does not need that, since its tree ties pairs together, and larger tables have more noise.
- Dependences are scored once, with Gaussian noise, instead of one exponential mechanism for each edge.
- The budget is shared 3 : 1 : 6 instead of in thirds, because selection needs less than the tables do.
- Chosen tables get rho in proportion to cells^(2/3) instead of equal parts.
- Noisy tables are made to agree first (`ConsistentNormSub`); the model is then fitted to them exactly, by proportional
  fitting, instead of to the noisy tables by mirror descent. docs/decisions/0004-graphical-engine.md has the figures.
- Rare values of an ordered column are merged with their neighbours (see `RareValues`).
- Gaussian noise is accounted exactly (docs/proofs/accounting.md) and not by rho + 2 sqrt(rho log 1/delta).
"""

from fractions import Fraction

from sfumato.encode.rare_values import RareValues
from sfumato.learn.measure import Tables
from sfumato.learn.once import Once
from sfumato.learn.select.spanning_tree import TreeLimitedPairs
from sfumato.pipeline import Guarantee, Recipe
from sfumato.privacy.holder import DEPENDENCE
from sfumato.reconcile.consistency import ConsistentNormSub
from sfumato.synthesize.graphical import Graphical

PGM = Recipe(
    name="pgm",
    summary="small tables chosen by noisy dependence, and the graphical model that has just these tables",
    guarantee=Guarantee.APPROXIMATE,
    encode=RareValues(sigmas=3.0),
    encode_part=Fraction(3, 10),
    learn=Once(select=TreeLimitedPairs(limit=1_000_000), measure=Tables(), select_part=Fraction(1, 7)),
    reconcile=ConsistentNormSub(),
    synthesize=Graphical(limit=1_000_000),
    needs=(DEPENDENCE,),
    takes_views=True,
)
