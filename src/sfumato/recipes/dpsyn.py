"""DPSyn (Li, Zhang and Wang): the concept paper, and sections 2.5 and 5 of the paper on the NIST challenge.

Where we depart from the texts, and why:

- The concept paper finds m and L by the expected squared error of a cell and names no number for what a missing view
  costs; we weigh noise against a public guess of dependence, in total variation distance (`RandomViews`).
- Views are random among those that no further column fits into, and none is drawn twice. Views for a challenge were
  chosen by hand; `GivenViews` takes such a choice.
- A column in no random view gets a view of its own.
- Laplace or Gaussian noise is chosen by comparing basic composition with our exact accounting of Gaussian noise, and
  not with zCDP: Gaussian noise is the lesser one sooner (13 tables and not 18 at epsilon 1 and delta 1e-8).
- Larger views get more of the budget: epsilon in proportion to cells^(1/3), or rho to cells^(2/3), and not equal parts.
- Columns of at most 8 codes are never compressed, as in `privsyn`.
- The threshold for rare values is 4.5 standard deviations of their noise, without the paper's floor of 800 rows, which
  belongs to one table. Rare values are split again by their noisy counts and not evenly. In an ordered column they are
  merged with their neighbours.
- Of the three ways to make rows, gradual update is the default. On UCI Adult, delta 1e-9, mean two-way distance at
  epsilon 0.1, 1 and 10: 0.129, 0.036 and 0.016 with it, 0.128, 0.038 and 0.019 with `MinCostFlow`, 0.144, 0.080 and
  0.068 with `SortedViews`.
- Ripple is followed by consistency, and all cells below its threshold pay out at once, as in `priview`. Norm-sub in its
  place is as good within a few hundredths of the distance, and takes several times as long.
"""

from fractions import Fraction

from sfumato.encode.rare_values import RareValues
from sfumato.learn.measure import Tables
from sfumato.learn.once import Once
from sfumato.learn.select.random_views import RandomViews
from sfumato.pipeline import Guarantee, Recipe
from sfumato.reconcile.ripple import ConsistentRipple
from sfumato.synthesize.gradual_update import GradualUpdate

DPSYN = Recipe(
    name="dpsyn",
    summary="random views, as many and as large as the noise allows, or views of your own",
    guarantee=Guarantee.EITHER,
    encode=RareValues(sigmas=4.5),
    encode_part=Fraction(1, 10),
    learn=Once(select=RandomViews(), measure=Tables()),
    reconcile=ConsistentRipple(),
    synthesize=GradualUpdate(),
    takes_views=True,
)
