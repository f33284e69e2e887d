"""Rows of a distribution on a junction tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal
from sfumato.data.records import Records, code_type
from sfumato.loops import counted
from sfumato.models.rounding import draw_given
from sfumato.models.tree_model import TreeModel

Cells = NDArray[np.uint32]
"""Numbers of cells: a model has far fewer than 2^32."""


def draw(model: TreeModel, rows: int, rng: np.random.Generator) -> Records:
    """Rows of a model: clique by clique, with whole counts for each value of the columns that are there already."""
    domain = model.domain
    columns: dict[str, NDArray[np.unsignedinteger]] = {}
    steps = list(zip(model.tree.cliques, model.tree.separators, model.tables, strict=True))
    for clique, separator, table in counted(steps, "tables"):
        added = tuple(name for name in clique if name not in separator)
        cells = Marginal(domain.project(clique), table.reshape(domain.project(clique).shape))
        conditional = cells.project((*separator, *added)).counts.reshape(domain.cells(separator), -1)
        values = draw_given(_number(columns, domain, separator, rows), np.asarray(conditional, dtype=np.float64), rng)
        decoded = np.unravel_index(values, domain.project(added).shape)
        for name, codes in zip(added, decoded, strict=True):
            columns[name] = codes.astype(code_type(domain[name]))
    return Records(domain, [columns[name] for name in domain.names])


def _number(columns: dict[str, NDArray[np.unsignedinteger]], domain: Domain, names: Clique, rows: int) -> Cells:
    """The cell of the table over `names` that each row lies in."""
    cell = np.zeros(rows, dtype=np.uint32)
    for name in names:
        cell *= np.uint32(domain[name])
        cell += columns[name]
    return cell
