"""One function runs every method: encode, select, measure, reconcile, synthesize.

The first three stages take a holder and a share of the budget; the last two take neither, and so cannot see rows or
spend.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, runtime_checkable

import numpy as np

from sfumato.data.attributes import Attributes
from sfumato.data.domain import Domain
from sfumato.data.marginal import Measurement
from sfumato.data.marginals import Marginals
from sfumato.data.recoding import Recoding
from sfumato.data.records import Records
from sfumato.data.schema import Schema
from sfumato.data.selection import Apart, Selection
from sfumato.errors import BudgetError
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder
from sfumato.privacy.ledger import Ledger
from sfumato.reconcile.pooling import pooled
from sfumato.reconcile.totals import common_total

ROUNDING = Fraction(1, 1 << 20)
"""Widths of noise are rounded up, so a little of every share stays unspent: far less than this part of the budget."""


class Encode(Protocol):
    """Stage 1: learn a coding of the columns, and hand over what was measured for it."""

    def __call__(self, holder: Holder, schema: Schema, share: Share) -> tuple[Recoding, tuple[Measurement, ...]]:
        """The recoding, and noisy tables over the codes of the attributes."""
        ...


class Select(Protocol):
    """Stage 2: choose the tables to measure."""

    def __call__(self, holder: Holder, share: Share) -> Selection:
        """The cliques to measure, and how they hang together."""
        ...


class Measure(Protocol):
    """Stage 3: measure the chosen tables."""

    def __call__(self, holder: Holder, selection: Selection, share: Share) -> tuple[Measurement, ...]:
        """One noisy table for each clique of the selection."""
        ...


class Reconcile(Protocol):
    """Stage 4: make noisy tables agree."""

    def __call__(self, domain: Domain, measurements: Sequence[Measurement], selection: Selection) -> Marginals:
        """Tables that agree with each other."""
        ...


class Synthesize(Protocol):
    """Stage 5: rows again."""

    def __call__(self, marginals: Marginals, selection: Selection, rows: int, rng: np.random.Generator) -> Records:
        """Rows whose marginals come close to the given ones."""
        ...


@runtime_checkable
class Generalises(Protocol):
    """A select stage in which coarser versions of columns may stand in for them."""

    def with_levels(self, levels: Mapping[str, Sequence[Sequence[int]]]) -> Select:
        """The same stage with such versions: for each column, lists of the coarse code of each of its codes."""
        ...


@runtime_checkable
class Limited(Protocol):
    """A synthesizer that cannot serve every selection, and knows so before the tables are measured."""

    def check(self, domain: Domain, selection: Selection) -> None:
        """Refuse a selection, in public words."""
        ...


@dataclass(frozen=True)
class Recipe:
    """A named method: five parts, and how the budget is shared among the three that pay.

    `takes_views` says whether a user may give the views to measure in the place of the select stage. `needs` names the
    questions that its parts ask of a holder; a holder that cannot answer one of them cannot run it.
    """

    name: str
    summary: str
    guarantee: str
    shares: Mapping[str, Fraction]
    encode: Encode
    select: Select
    measure: Measure
    reconcile: Reconcile
    synthesize: Synthesize
    takes_views: bool = False
    needs: frozenset[str] = frozenset({"measure"})

    def __post_init__(self) -> None:
        if set(self.shares) != {"encode", "select", "measure"} or sum(self.shares.values()) != 1:
            raise BudgetError(
                f"recipe {self.name!r} shares {dict(self.shares)}; encode, select and measure must sum to 1"
            )

    def parameters(self) -> dict[str, str]:
        """The parts and shares of this recipe in readable form."""
        parts = {
            stage: repr(getattr(self, stage)) for stage in ("encode", "select", "measure", "reconcile", "synthesize")
        }
        return {"shares": ", ".join(f"{stage} {part}" for stage, part in self.shares.items()), **parts}


@dataclass(frozen=True)
class Model:
    """What a run learned, free of rows: it can be sampled for ever."""

    recoding: Recoding
    selection: Selection
    measurements: tuple[Measurement, ...]
    marginals: Marginals


Progress = Callable[[str], None]


def run(
    recipe: Recipe, holder: Holder, schema: Schema, ledger: Ledger, progress: Progress = lambda stage: None
) -> Model:
    """Spend the ledger's budget on the rows of `holder`, which are in attributes of `schema`, as the recipe says.

    What a stage leaves unspent goes to the stages after it, in proportion to their own shares. What is left at the end,
    because no table was worth its noise, say, measures every column once more: the whole budget is spent on every path.
    """
    budget = ledger.budget.total
    start = ledger.left

    def left() -> Share:
        return Share(budget.unit, budget.amount - (start - ledger.left))

    def share_of(*stages: str) -> Share:
        """The share of the first of these stages, the only ones that are left to pay for."""
        parts = [recipe.shares[stage] for stage in stages]
        return Share(budget.unit, left().amount * parts[0] / (sum(parts) or 1))

    progress("encode")
    ledger.stage = "encode"
    recoding, one_way = recipe.encode(holder, schema, share_of("encode", "select", "measure"))
    holder = holder.through(recoding)

    progress("select")
    ledger.stage = "select"
    selection = _select(recipe.select, holder, Attributes(schema), recoding, share_of("select", "measure"))

    if isinstance(recipe.synthesize, Limited):
        for domain, part in _parts(recoding.domain, selection):
            recipe.synthesize.check(domain, part)
    progress("measure")
    ledger.stage = "measure"
    measured = recipe.measure(holder, selection, share_of("measure"))
    if left().amount > budget.amount * ROUNDING:
        measured += recipe.measure(holder, Selection(tuple((name,) for name in holder.domain)), left())

    # ------------- below this line nothing can see private rows -------------
    progress("reconcile")
    ledger.stage = "reconcile"
    ledger.note("make the noisy tables agree", "post-processing of noisy tables")
    tables = [*one_way, *measured]
    if one_way:
        tables = list(common_total(tables))
    agreed = pooled(recoding, tables[: len(one_way)], tables[len(one_way) :])
    marginals = recipe.reconcile(recoding.domain, agreed, selection)
    return Model(recoding, selection, (*one_way, *measured), marginals)


def _select(select: Select, holder: Holder, attributes: Attributes, recoding: Recoding, share: Share) -> Selection:
    """One selection, or one for each group of columns that the schema keeps apart."""
    groups = attributes.parts
    levels = {
        name: [recoding.coarsen(name, level).tolist() for level in found] for name, found in attributes.levels.items()
    }

    def for_group(group: Sequence[str]) -> Select:
        inside = {name: found for name, found in levels.items() if name in group}
        return select.with_levels(inside) if isinstance(select, Generalises) and inside else select

    if len(groups) == 1:
        return for_group(groups[0])(holder, share)
    # A group of k columns has about k²/2 pairs to be looked at.
    parts = share.split([len(group) ** 2 for group in groups]) if share.amount else [share] * len(groups)
    selections = tuple(
        for_group(group)(holder.through(Group(holder.domain.project(group))), part)
        for group, part in zip(groups, parts, strict=True)
    )
    cliques = tuple(clique for one in selections for clique in one.cliques)
    weights = tuple(weight for one in selections for weight in one.weights)
    return Selection(cliques, Apart(tuple(groups), selections), weights)


def _parts(domain: Domain, selection: Selection) -> list[tuple[Domain, Selection]]:
    """What is synthesised by itself: each group of columns that is kept apart, or everything."""
    if not isinstance(selection.structure, Apart):
        return [(domain, selection)]
    groups = zip(selection.structure.groups, selection.structure.selections, strict=True)
    return [(domain.project(group), part) for group, part in groups]


@dataclass(frozen=True)
class Group:
    """A codec that keeps some columns and drops the others."""

    domain: Domain

    def encode(self, records: Records) -> Records:
        """The rows with the columns of this group only."""
        return Records(self.domain, [records[name] for name in self.domain])
