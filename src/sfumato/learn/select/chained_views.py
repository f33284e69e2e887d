"""Choose base, cross and upper cross views from the sizes of columns alone: stage 2 of DPView and DPView+."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from sfumato.data.domain import Clique, Domain
from sfumato.data.selection import Chain, Selection
from sfumato.errors import MethodError
from sfumato.learn import Known, Learned
from sfumato.learn.select.chain_search import Pricing, local_search
from sfumato.learn.select.chains import Layout, by_size, chain_of, views_of
from sfumato.learn.select.view_size import view_size
from sfumato.privacy.budget import Share
from sfumato.privacy.holder import Holder


@dataclass(frozen=True)
class ChainedViews:
    """A chain of views with as few cells as a search finds; reads the public domain and the budget, never rows.

    Args:
        upper: whether to add upper cross views (DPView+).
        columns: how many columns a view has (d in the paper); None leaves it to the guideline of section IV-C7.
        rows_guess: a public guess of the number of rows, for the guideline. Ten times too few or too many moves its
            answer by one or two columns.
        most_cells: a view may have at most this many cells. The guideline takes fewer columns to keep to it; where two
            are too many, or the columns were given, a larger view is an error.
        evaluations: how many arrangements the search may look at.
        seed: of the search, which is public like all that it reads.
    """

    upper: bool = False
    columns: int | None = None
    rows_guess: int = 50_000
    most_cells: int = 1_000_000
    evaluations: int = 20_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.columns is not None and self.columns < 2:
            raise MethodError(f"views of {self.columns} columns tie nothing together; give at least 2 columns")
        for name in ("rows_guess", "most_cells", "evaluations"):
            if getattr(self, name) < 1:
                raise MethodError(f"{name} is {getattr(self, name)}; give at least 1")

    def __call__(self, holder: Holder, known: Known, share: Share, ahead: Share) -> Learned:
        """The views to measure, in the order of the chain; costs nothing, so the share is not touched."""
        domain = holder.domain
        rules = () if known.constraints is None else tuple(one.clique for one in known.constraints.items)
        chain = self._searched(domain, self.columns, rules) if self.columns else self._guided(holder, ahead, rules)
        domain.require_cells(_largest(domain, chain), self.most_cells)
        kinds = "base, cross and upper cross" if self.upper else "base and cross"
        holder.note(
            f"choose {kinds} views of {max(map(len, chain.base), default=0)} columns",
            f"reads only the sizes of columns{', rules' if rules else ''} and the budget",
        )
        return Learned(Selection(views_of(chain), chain, too_large=domain.pairs_above(self.most_cells)))

    def _guided(self, holder: Holder, ahead: Share, rules: Sequence[Clique]) -> Chain:
        """The chain of the view size that the guideline gives, or of the next smaller one that keeps to the limit."""
        domain = holder.domain
        scale = sqrt(holder.variance(ahead) / 2)
        width = view_size(domain.shape, scale, self.rows_guess, self.upper)
        # The base views have at least as many cells, multiplied, as the whole table: if all keep to the limit, so does
        # the limit multiplied. This saves searches that must fail.
        while width > 2 and domain.cells() > self.most_cells ** Layout(len(domain), width).groups:
            width -= 1
        chain = self._searched(domain, width, rules)
        while width > 2 and domain.cells(_largest(domain, chain)) > self.most_cells:
            width -= 1
            chain = self._searched(domain, width, rules)
        return chain

    def _searched(self, domain: Domain, columns: int, rules: Sequence[Clique]) -> Chain:
        layout = Layout(len(domain), columns)
        names = by_size(domain, domain.names)
        # Columns of one rule in one view: rows that are linked from two views can obey only by chance.
        together = [frozenset(map(names.index, one)) for one in rules if {*one} <= {*names}]
        pricing = Pricing(domain.shape, layout, self.evaluations, self.upper, together)
        arrangement = local_search(pricing, np.random.default_rng(self.seed)).arrangement
        groups = [[names[column] for column in group] for group in arrangement.groups]
        return chain_of(domain, groups, layout.width, arrangement.copied, self.upper)


def _largest(domain: Domain, chain: Chain) -> Clique:
    return max(views_of(chain), key=domain.cells, default=())
