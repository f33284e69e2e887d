"""Columns that were selected apart are synthesised apart; their rows are joined at random."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.data.marginals import Marginals
from sfumato.data.records import Codes, Records
from sfumato.data.selection import Apart, Selection

Synthesize = Callable[[Marginals, Selection, int, np.random.Generator], Records]


def joined(
    synthesize: Synthesize, marginals: Marginals, selection: Selection, rows: int, rng: np.random.Generator
) -> Records:
    """Rows by `synthesize`, for each group of columns by itself if the selection keeps groups apart."""
    if not isinstance(selection.structure, Apart):
        return synthesize(marginals, selection, rows, rng)
    codes: dict[str, Codes] = {}
    for group, part in zip(selection.structure.groups, selection.structure.selections, strict=True):
        made = synthesize(marginals.within(group), part, rows, rng)
        made = made.take(rng.permutation(rows))
        codes |= {name: made[name] for name in group}
    return Records(marginals.domain, [codes[name] for name in marginals.domain])
