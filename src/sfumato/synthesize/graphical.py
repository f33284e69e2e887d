"""Graphical models: the distribution of highest entropy that has given tables, and rows drawn from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal
from sfumato.data.marginals import Marginals
from sfumato.data.records import Records, code_type
from sfumato.data.selection import Selection
from sfumato.models import junction_tree
from sfumato.models.graphical import fit
from sfumato.models.tree_model import Evidence, TreeModel
from sfumato.synthesize.rounding import draw_given
from sfumato.synthesize.start import maximal

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Graphical:
    """Rows of the graphical model of the tables: nothing depends on anything in a way that no table shows.

    Args:
        limit: the most cells that all tables of the junction tree may have together.
    """

    limit: int = 10_000_000

    def __call__(self, marginals: Marginals, selection: Selection, rows: int, rng: np.random.Generator) -> Records:
        """`rows` rows whose tables are those of the model, up to rounding."""
        return draw(self.model(marginals), rows, rng)

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
        tree = junction_tree.check(marginals.domain, marginals.cliques, self.limit)
        return fit(tree, [marginals.project(clique) for clique in maximal(marginals.cliques)])


def draw(model: TreeModel, rows: int, rng: np.random.Generator) -> Records:
    """Rows of a model: clique by clique, with whole counts for each value of the columns that are there already."""
    domain = model.domain
    columns: dict[str, NDArray[np.unsignedinteger]] = {}
    for clique, separator, table in zip(model.tree.cliques, model.tree.separators, model.tables, strict=True):
        added = tuple(name for name in clique if name not in separator)
        cells = Marginal(domain.project(clique), table.reshape(domain.project(clique).shape))
        conditional = cells.project((*separator, *added)).counts.reshape(domain.cells(separator), -1)
        values = draw_given(_number(columns, domain, separator, rows), np.asarray(conditional, dtype=np.float64), rng)
        decoded = np.unravel_index(values, domain.project(added).shape)
        for name, codes in zip(added, decoded, strict=True):
            columns[name] = codes.astype(code_type(domain[name]))
    return Records(domain, [columns[name] for name in domain.names])


def _number(columns: dict[str, NDArray[np.unsignedinteger]], domain: Domain, names: Clique, rows: int) -> Ints:
    """The cell of the table over `names` that each row lies in."""
    cell = np.zeros(rows, dtype=np.int64)
    for name in names:
        cell *= domain[name]
        cell += columns[name]
    return cell
