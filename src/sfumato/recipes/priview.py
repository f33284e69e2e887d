"""PriView (Qardaji, Yang and Li, SIGMOD 2014), after section 3.1 of the DPSyn concept paper and 3.2 of the NIST paper.

Where we depart from the texts, and why:

- PriView answers marginals and makes no rows. `Release.marginal` answers as it does, by maximum entropy; for those who
  want rows, gradual update fits them to the views.
- Views are limited by cells instead of binary columns: 256 cells are the paper's 8 binary columns. A pair of columns
  that is larger by itself becomes a view of its own.
- A column is left out of a view where other views hold all its pairs: the view has fewer cells and so less noise.
- The texts choose between pairs and triples by rows, columns and epsilon without a rule; ours is in `Covering`.
- Tables that share columns are averaged with weights 1 / (cells of the view for each shared cell), as in the concept
  paper, and not equally: views have different numbers of cells here.
- Theta of the ripple step is not given; 0.01 standard deviations of the noise did best for rows on a retail table.
- All cells below -theta pay out at once, so a sweep is a few array operations.
"""

from fractions import Fraction

from sfumato.encode.rare_values import RareValues
from sfumato.learn.measure import Tables
from sfumato.learn.once import Once
from sfumato.learn.select.covering import Covering
from sfumato.pipeline import Guarantee, Recipe
from sfumato.reconcile.ripple import ConsistentRipple
from sfumato.synthesize.gradual_update import GradualUpdate

PRIVIEW = Recipe(
    name="priview",
    summary="views that hold every pair of columns, made to agree: for answering tables over any columns",
    guarantee=Guarantee.PURE,
    encode=RareValues(sigmas=None),
    encode_part=Fraction(1, 10),
    learn=Once(select=Covering(cells=256), measure=Tables(epsilon_power=0.0)),
    reconcile=ConsistentRipple(),
    synthesize=GradualUpdate(),
    takes_views=True,
)
