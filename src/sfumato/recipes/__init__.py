"""The named methods: one short file each, a literal. And the named ways to make rows from the tables of a release."""

from typing import Any, TypeVar

from sfumato.encode.count_first import CountFirst
from sfumato.encode.rare_values import RareValues
from sfumato.encode.supported_levels import SupportedLevels
from sfumato.errors import MethodError
from sfumato.learn.if_measured import IfMeasured
from sfumato.learn.measure import Tables
from sfumato.learn.once import Once
from sfumato.learn.rounds import Rounds
from sfumato.learn.select.candidate_network import CandidateNetwork
from sfumato.learn.select.chained_views import ChainedViews
from sfumato.learn.select.covering import Covering
from sfumato.learn.select.dense_pairs import DensePairs
from sfumato.learn.select.frontier_network import FrontierNetwork
from sfumato.learn.select.given_views import GivenView, GivenViews
from sfumato.learn.select.greedy_network import GreedyNetwork
from sfumato.learn.select.non_overlapping import NonOverlapping
from sfumato.learn.select.random_views import RandomViews
from sfumato.learn.select.spanning_tree import SpanningTree, TreeLimitedPairs
from sfumato.pipeline import Recipe, Synthesize
from sfumato.recipes.auto import AUTO
from sfumato.recipes.dp_ccbn import DP_CCBN
from sfumato.recipes.dp_subn import DP_SUBN
from sfumato.recipes.dpsyn import DPSYN
from sfumato.recipes.dpview import DPVIEW, DPVIEW_PLUS
from sfumato.recipes.pgm import PGM
from sfumato.recipes.privbayes import PRIVBAYES
from sfumato.recipes.priview import PRIVIEW
from sfumato.recipes.privsyn import PRIVSYN
from sfumato.reconcile.by_structure import FitByStructure
from sfumato.reconcile.consistency import ConsistentNormSub
from sfumato.reconcile.layered import LayeredFit
from sfumato.reconcile.ripple import ConsistentRipple
from sfumato.synthesize.ancestral import Ancestral
from sfumato.synthesize.by_structure import DrawByStructure
from sfumato.synthesize.gradual_update import GradualUpdate
from sfumato.synthesize.graphical import Graphical
from sfumato.synthesize.linking import Linking
from sfumato.synthesize.min_cost_flow import MinCostFlow
from sfumato.synthesize.moves import Moves
from sfumato.synthesize.sorted_views import SortedViews

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (AUTO, PRIVSYN, DPVIEW, DPVIEW_PLUS, PRIVIEW, DPSYN, PRIVBAYES, PGM, DP_SUBN, DP_CCBN)
}

DEFAULT = AUTO.name
"""The method of those who do not choose one."""

SYNTHESIZERS: dict[str, Synthesize] = {
    "gradual-update": GradualUpdate(),
    "min-cost-flow": MinCostFlow(),
    "sorted-views": SortedViews(),
    "graphical": Graphical(),
}
"""These work for the tables of every method; a method's own may need the structure that it selected."""

PARTS: dict[str, type] = {
    part.__name__: part
    for part in (
        *(CountFirst, RareValues, SupportedLevels, IfMeasured, Once, Rounds, Tables),
        *(CandidateNetwork, ChainedViews, Covering, DensePairs, FrontierNetwork, GivenView, GivenViews, GreedyNetwork),
        *(NonOverlapping, RandomViews, SpanningTree, TreeLimitedPairs),
        *(ConsistentNormSub, ConsistentRipple, FitByStructure, LayeredFit),
        *(Ancestral, DrawByStructure, GradualUpdate, Graphical, Linking, MinCostFlow, Moves, SortedViews),
    )
}
"""The parts that releases are read back with, by the names of their classes."""

Part = TypeVar("Part", bound=type[Any])


def register(part: Part) -> Part:
    """Make a part of your own known, so releases made with it can be opened and sampled; also a class decorator.

    >>> from sfumato.synthesize.gradual_update import GradualUpdate
    >>> register(GradualUpdate).__name__
    'GradualUpdate'
    """
    if PARTS.setdefault(part.__name__, part) is not part:
        raise MethodError(f"a part named {part.__name__!r} is known already; give yours another name")
    return part


def recipe_named(name: str) -> Recipe:
    """The recipe of that name; an unknown name is an error that lists the known ones."""
    if name not in RECIPES:
        raise MethodError(f"method {name!r} is unknown; known methods are {', '.join(RECIPES)}")
    return RECIPES[name]


def synthesizer_named(name: str) -> Synthesize:
    """The synthesizer of that name; an unknown name is an error that lists the known ones."""
    if name not in SYNTHESIZERS:
        raise MethodError(f"synthesizer {name!r} is unknown; known ones are {', '.join(SYNTHESIZERS)}")
    return SYNTHESIZERS[name]
