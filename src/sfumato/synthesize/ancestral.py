"""Rows from a Bayesian network: each column is drawn given its parents, which come before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.domain import Domain
from sfumato.data.marginals import Marginals
from sfumato.data.records import Records
from sfumato.data.selection import Family, Network, Selection
from sfumato.errors import MethodError
from sfumato.loops import counted
from sfumato.models.rounding import draw_given
from sfumato.synthesize.allowed_lines import allowed_lines

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Ancestral:
    """Ancestral sampling with controlled rounding.

    Among the rows of one parent cell, each code of the column occurs as often as its probability says, up to one row;
    independent draws would add a sampling error to the error of the tables. Which of these rows get it is random.
    """

    def __call__(self, marginals: Marginals, selection: Selection, rows: int, rng: np.random.Generator) -> Records:
        """Rows whose distribution is that of the network with the conditionals of `marginals`."""
        network = selection.structure
        if not isinstance(network, Network):
            raise MethodError("ancestral sampling was asked for without a network; select one, as GreedyNetwork does")
        level_of = {level.name: level for level in network.levels}
        base = Domain([(name, size) for name, size in marginals.domain.items() if name not in level_of])
        codes: dict[str, NDArray[np.integer]] = {}
        for family in counted(network.families, "columns"):
            parent = np.zeros(rows, dtype=np.int64)
            for name in family.parents:
                level = level_of.get(name)
                column = codes[name] if level is None else np.array(level.to)[codes[level.column]]
                parent = parent * marginals.domain[name] + column
            lines = conditional(marginals, family)
            ruling = [] if marginals.constraints is None else marginals.constraints.given(family.column, codes)
            codes[family.column] = draw_given(*allowed_lines(parent, lines, ruling), rng)
        return Records(base, [codes.get(name, np.zeros(rows, dtype=np.int64)) for name in base])


def conditional(marginals: Marginals, family: Family) -> Array:
    """Probabilities of a column, one line for each cell of its parents; where these have no rows, its own margin."""
    table = marginals.project((*family.parents, family.column)).counts
    joint = np.maximum(table.reshape(-1, marginals.domain[family.column]), 0.0)
    margin = joint.sum(axis=0)
    margin = margin / margin.sum() if margin.sum() > 0 else np.full(len(margin), 1 / len(margin))
    mass = joint.sum(axis=1, keepdims=True)
    return np.where(mass > 0, joint / np.where(mass > 0, mass, 1.0), margin)
