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
    """Rows by `synthesize`, for each group of columns by itself if the selection keeps groups apart.

    They have the columns alone; coarser versions of columns, which tables may be over, are left out.
    """
    coarser = {level.name for level in selection.levels}
    columns = [name for name in marginals.domain if name not in coarser]
    codes: dict[str, Codes] = {}
    if isinstance(selection.structure, Apart):
        for group, part in zip(selection.structure.groups, selection.structure.selections, strict=True):
            names = (*group, *(level.name for level in part.levels))
            made = synthesize(marginals.within(names), part, rows, rng).take(rng.permutation(rows))
            codes |= {name: made[name] for name in group}
    else:
        made = synthesize(marginals, selection, rows, rng)
        codes = {name: made[name] for name in columns}
    return Records(marginals.domain.project(columns), [codes[name] for name in columns])
