"""Graphical models: the distribution of highest entropy that has given tables, and rows drawn from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from sfumato.data.domain import Domain
from sfumato.data.marginals import Marginals
from sfumato.data.records import Records
from sfumato.data.selection import Selection
from sfumato.models import junction_tree
from sfumato.models.drawing import draw
from sfumato.models.graphical import fit
from sfumato.models.tree_model import Evidence, TreeModel
from sfumato.models.zeros import tree_with_zeros
from sfumato.synthesize.joining import Draw
from sfumato.synthesize.start import maximal


@dataclass(frozen=True)
class Graphical:
    """Rows of the graphical model of the tables: nothing depends on anything in a way that no table shows.

    Args:
        limit: the most cells that all tables of the junction tree may have together.
    """

    limit: int = 10_000_000

    def __call__(self, marginals: Marginals, selection: Selection, rows: int, rng: np.random.Generator) -> Records:
        """`rows` rows whose tables are those of the model, up to rounding."""
        return self.prepare(marginals, selection)(rows, rng)

    def prepare(self, marginals: Marginals, selection: Selection) -> Draw:
        """Fit the model once for any number of draws."""
        return partial(draw, self.model(marginals))

    def sample_given(
        self, marginals: Marginals, selection: Selection, rows: int, rng: np.random.Generator, given: Evidence
    ) -> Records:
        """`rows` rows of the model's exact distribution given that some columns have allowed codes."""
        return draw(self.model(marginals).given(given), rows, rng)

    def check(self, domain: Domain, selection: Selection) -> None:
        """Refuse tables whose model would be too large; asks for nothing but their columns."""
        junction_tree.check(domain, selection.cliques, self.limit)

    def model(self, marginals: Marginals) -> TreeModel:
        """The fitted model; refuses a column that no table contains, and a model with too many cells."""
        for name in marginals.domain.names:
            marginals.project((name,))
        junction_tree.check(marginals.domain, marginals.cliques, self.limit)
        zeros = () if marginals.constraints is None else marginals.constraints.items
        # A rule that would make the model too large is left to the last redraw.
        tree, kept = tree_with_zeros(marginals.domain, marginals.cliques, zeros, self.limit)
        return fit(tree, [marginals.project(clique) for clique in maximal(marginals.cliques)], kept)
