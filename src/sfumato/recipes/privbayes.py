"""PrivBayes (Zhang et al., SIGMOD 2014 and TODS 2017): a Bayesian network of small noisy tables, under pure epsilon.

Where we depart from the papers, and why:

- The papers replace one row and know n. Here n is private, whatever the neighbours: scores are in rows, with bounds
  that hold for every n (docs/proofs/choice.md), and n is measured with a twentieth of the select share.
- The score is R also for binary columns, where the papers use F: R is computed without a knapsack over all rows.
- I is divided by the most that one row can add to it, which makes its sensitivity a constant.
- Candidates are maximal sets of parents within the limit of theta-usefulness and within a half, a quarter, … of it;
  a price for the noise of their tables, which is public, decides between them. This allows theta = 1 instead of 4.
- A fifth of the budget goes to the structure instead of 0.3, which measured best on UCI Adult at epsilon 0.2, 1 and 5.
- At most about 10,000 candidates are scored; where there are more (many binary columns), some are left out at random.
- A table that lies inside another one is not measured. The papers do this for the first k columns of binary networks.
- Larger tables get more of the budget, epsilon_i in proportion to the root of their cells, instead of all the same.
- Tables are made to agree by weighted consistency and norm-sub, and not only clipped and normalized one by one.
- Rows are drawn with controlled rounding within each parent cell instead of independently.
"""

from fractions import Fraction

from sfumato.encode.rare_values import RareValues
from sfumato.learn.measure import Tables
from sfumato.learn.once import Once
from sfumato.learn.select.greedy_network import GreedyNetwork
from sfumato.pipeline import Guarantee, Recipe
from sfumato.privacy.holder import CHOOSE
from sfumato.reconcile.consistency import ConsistentNormSub
from sfumato.synthesize.ancestral import Ancestral

PRIVBAYES = Recipe(
    name="privbayes",
    summary="a Bayesian network chosen column by column, and rows drawn from its noisy tables",
    guarantee=Guarantee.PURE,
    encode=RareValues(sigmas=None),
    encode_part=Fraction(1, 10),
    learn=Once(select=GreedyNetwork(), measure=Tables(epsilon_power=1 / 2), select_part=Fraction(1, 5)),
    reconcile=ConsistentNormSub(),
    synthesize=Ancestral(),
    needs=(CHOOSE,),
)
