"""PrivSyn (Zhang et al., USENIX Security 2021), after the report and appendix A of the DPSyn paper.

Where we depart from the texts, and why:

- Score noise is 8m/rho' in variance, from a sensitivity of 4 (the report's N(0, m² rho'²) is a misprint), plus 1/1024
  of a row, because scores are released as integers on that grid.
- One-way tables share their part of the budget in proportion to cells^(2/3), as all other tables do, instead of
  equally: on UCI Adult at epsilon 0.2 this lowers the error of two-way tables by a tenth.
- Rare values of an ordered column are merged with their neighbours instead of all together, which keeps a bin local.
- Columns of at most 8 codes are never merged: at epsilon 0.1 on a market basket of 64 binary columns, merging would
  give up most items, and error of two-way tables would be 0.029 instead of 0.005.
- Rare values whose sum is below the threshold cannot simply get the count 0, since rows that have them exist: these
  rows are counted with the column's most frequent value.
- Pairs that no combined clique covers are kept (Algorithm 3 of the report forgets them).
- A column in no chosen pair is left to its one-way table.
- Alpha decays by 0.84 every 3 sweeps instead of every 20, which ends nearer to the tables in a third of the sweeps.
- A pass of random swaps follows gradual update (see `GradualUpdate.swaps`): on UCI Adult it takes an eighth off the
  error of three-way tables at epsilon 1 and a quarter at epsilon 5. `GradualUpdate(swaps=0)` is the paper's own.
- After the first pass of consistency, one-way tables lead and larger ones follow (see `ConsistentNormSub`).
- Rows to move are rounded at random, never to the nearest whole number, which would starve small cells.
- Attribute appending is applied layer by layer and to combined cliques too, so trees are sampled exactly.
- Gaussian noise is accounted exactly (docs/proofs/accounting.md) and not by rho + 2 sqrt(rho log 1/delta).
"""

from fractions import Fraction

from sfumato.encode.rare_values import RareValues
from sfumato.learn.measure import Tables
from sfumato.learn.once import Once
from sfumato.learn.select.dense_pairs import DensePairs
from sfumato.pipeline import Guarantee, Recipe
from sfumato.privacy.holder import DEPENDENCE
from sfumato.reconcile.consistency import ConsistentNormSub
from sfumato.synthesize.gradual_update import GradualUpdate

PRIVSYN = Recipe(
    name="privsyn",
    summary="many small tables chosen by noisy dependence, and rows moved gradually towards them",
    guarantee=Guarantee.APPROXIMATE,
    encode=RareValues(sigmas=3.0),
    encode_part=Fraction(1, 10),
    learn=Once(select=DensePairs(clique_cells=5_000), measure=Tables(), select_part=Fraction(1, 9)),
    reconcile=ConsistentNormSub(),
    synthesize=GradualUpdate(),
    needs=(DEPENDENCE,),
    takes_views=True,
)
