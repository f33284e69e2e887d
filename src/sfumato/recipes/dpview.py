"""DPView and DPView+ (Lin et al.): views from domain sizes alone, so that the whole budget goes into measuring them."""

from dataclasses import replace
from fractions import Fraction

from sfumato.encode.declared import Declared
from sfumato.measure.laplace import LaplaceTables
from sfumato.pipeline import Recipe
from sfumato.reconcile.consistency import ConsistentNormSub
from sfumato.select.chained_views import ChainedViews
from sfumato.synthesize.linking import Linking

DPVIEW = Recipe(
    name="dpview",
    summary="base and cross views chosen by domain sizes, rounded so that they still agree, and linked to rows",
    guarantee="epsilon",
    shares={"encode": Fraction(0), "select": Fraction(0), "measure": Fraction(1)},
    encode=Declared(),
    select=ChainedViews(),
    measure=LaplaceTables(),
    reconcile=ConsistentNormSub(),
    synthesize=Linking(),
)

DPVIEW_PLUS = replace(
    DPVIEW,
    name="dpview+",
    summary="dpview with upper cross views, which say how rows of neighbouring views are paired",
    select=ChainedViews(upper=True),
)
