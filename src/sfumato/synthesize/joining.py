"""Columns that were selected apart are synthesised apart; their rows are joined at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from sfumato.data.marginals import Marginals
from sfumato.data.records import Codes, Records
from sfumato.data.selection import Apart, Selection

Synthesize = Callable[[Marginals, Selection, int, np.random.Generator], Records]

Draw = Callable[[int, np.random.Generator], Records]
"""Draws this many rows, as often as it is called."""


@runtime_checkable
class Prepares(Protocol):
    """A synthesizer with work that is the same for every draw, such as the fit of a model."""

    def prepare(self, marginals: Marginals, selection: Selection) -> Draw:
        """Do that work once; what is returned draws rows as the synthesizer would."""
        ...


def prepared(synthesize: Synthesize, marginals: Marginals, selection: Selection) -> Draw:
    """Rows by `synthesize`, for each group of columns by itself if the selection keeps groups apart.

    They have the columns alone; coarser versions of columns, which tables may be over, are left out.
    """
    coarser = {level.name for level in selection.levels}
    domain = marginals.domain.project(name for name in marginals.domain if name not in coarser)
    if not isinstance(selection.structure, Apart):
        whole = _prepared(synthesize, marginals, selection)
        return lambda rows, rng: _only(whole(rows, rng), domain.names)
    draws = []
    for group, part in zip(selection.structure.groups, selection.structure.selections, strict=True):
        names = (*group, *(level.name for level in part.levels))
        draws.append((group, _prepared(synthesize, marginals.within(names), part)))

    def draw(rows: int, rng: np.random.Generator) -> Records:
        codes: dict[str, Codes] = {}
        for group, one in draws:
            made = one(rows, rng).take(rng.permutation(rows))
            codes |= {name: made[name] for name in group}
        return Records(domain, [codes[name] for name in domain])

    return draw


def _prepared(synthesize: Synthesize, marginals: Marginals, selection: Selection) -> Draw:
    if isinstance(synthesize, Prepares):
        return synthesize.prepare(marginals, selection)
    return lambda rows, rng: synthesize(marginals, selection, rows, rng)


def _only(records: Records, names: tuple[str, ...]) -> Records:
    if records.domain.names == names:
        return records
    return Records(records.domain.project(names), [records[name] for name in names])
