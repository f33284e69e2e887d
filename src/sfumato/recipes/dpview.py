"""DPView and DPView+ (Lin et al.): views from domain sizes alone, so the whole budget goes into measuring them.

Where the paper is ambiguous or wrong, and what we do:

- Only full base views are sorted; a short one stays last. Type III copies columns of the last but one base view into
  the last, and that pair has no cross view.
- The paper's random restarts are replaced by a local search over arrangements, which ends with no more cells in the
  same number of evaluations (`select/chain_search.py`); the flag of Algorithm 3 is reset in every run.
- The view size follows section IV-C7 in our reading (`select/view_size.py`): exponent and sign that the text lost are
  restored, each view has its own epsilon, and the number of rows is a public guess.
- Budget: epsilon P_i with P_i proportional to cells^(1/3) (the paper's "epsilon / P_i" is a slip).
- The number of rows is the inverse-variance mean of the views' totals. The paper's plain mean weighs a view of a
  million noisy cells like one of ten.
- Iterative non-negativity is norm-sub in closed form; it alternates with weighted consistency (weights P_i² / xi_i)
  until both hold. It ends on non-negativity.
- Normalization: a slice is rescaled by the *sum* of its counts (the paper prints a product). Decimals within 1e-9 are
  a tie and are broken at random. Rho uses each view's own noise, with gamma 0.95. A slice without any partial record
  is filled from the view's other one-way tables. Upper cross views take no part.
- Linking: once shared counts agree, every pairing within a shared value is a maximum one, so the paper's matching
  problem is solved by any of them; rows are paired at random, which is conditional independence. Where an upper cross
  view says more (DPView+), pairings follow its counts by iterative proportional fitting, and what is left is paired
  at random.
"""

from dataclasses import replace
from fractions import Fraction

from sfumato.encode.rare_values import RareValues
from sfumato.learn.measure import Tables
from sfumato.learn.once import Once
from sfumato.learn.select.chained_views import ChainedViews
from sfumato.pipeline import Guarantee, Recipe
from sfumato.reconcile.consistency import ConsistentNormSub
from sfumato.synthesize.linking import Linking

DPVIEW = Recipe(
    name="dpview",
    summary="base and cross views chosen by domain sizes, rounded so they still agree, and linked to rows",
    guarantee=Guarantee.PURE,
    encode=RareValues(sigmas=None),
    encode_part=Fraction(1, 10),
    learn=Once(select=ChainedViews(), measure=Tables()),
    reconcile=ConsistentNormSub(),
    synthesize=Linking(),
)

DPVIEW_PLUS = replace(
    DPVIEW,
    name="dpview+",
    summary="dpview with upper cross views, which say how rows of neighbouring views are paired",
    learn=Once(select=ChainedViews(upper=True), measure=Tables()),
)
