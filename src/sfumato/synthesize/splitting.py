"""Merged codes split again, where rules leave only some of their parts.

A merged code that rules cut has other parts in other rows. To draw again until rules hold would be simple, and would
change the column: what some rows may not have, the others must have more of.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.data.coding import Coding, Merge
from sfumato.data.constraints import Constraints
from sfumato.data.recoding import Merging, Recoding
from sfumato.data.records import Records
from sfumato.models.rounding import draw_given
from sfumato.synthesize.allowed_lines import Array, allowed_lines

TOGETHER = 1 << 16
"""Rows that are split together: each may have a line of probabilities of its own."""


def split(records: Records, recoding: Recoding, constraints: Constraints, rng: np.random.Generator) -> Records:
    """Fine codes of rows in merged codes.

    A merged code becomes one of its parts that the other columns of its row allow. Over all rows, parts come in
    proportion to their weights, as far as that can be. Columns are split one after the other; where a rule ties more
    than two of them, a row may still break it.
    """
    pieces = [_split(piece, recoding, constraints, rng) for piece in _pieces(records)]
    if len(pieces) == 1:
        return pieces[0]
    return Records(
        recoding.fine, [np.concatenate(columns) for columns in zip(*(p.columns for p in pieces), strict=True)]
    )


def _pieces(records: Records) -> Iterator[Records]:
    for start in range(0, max(len(records), 1), TOGETHER):
        yield records.take(np.arange(start, min(start + TOGETHER, len(records))))


def _split(records: Records, recoding: Recoding, constraints: Constraints, rng: np.random.Generator) -> Records:
    found = recoding.decode(records, rng)
    columns = {name: found[name] for name in found.domain}
    ruled = {name for one in constraints.items for name in one.clique}
    mergings = dict(zip(recoding.fine, recoding.mergings, strict=True))
    left = [name for name, one in mergings.items() if name in ruled and one.size < len(one.to)]
    while left:
        name, *left = left
        # What was not split yet allows what some part of it does.
        merged = Merge(tuple((other, tuple(mergings[other].to.tolist())) for other in left))
        codes = {other: records[other] if other in left else columns[other] for other in columns if other != name}
        ruling = constraints.through(Coding(recoding.fine).then(merged)).given(name, codes)
        if ruling:
            parent = records[name].astype(np.int64)
            columns[name] = draw_given(*allowed_lines(parent, _lines(mergings[name]), ruling), rng)
    return Records(recoding.fine, columns.values())


def _lines(merging: Merging) -> Array:
    """The share of each fine code in each merged one."""
    lines = np.zeros((merging.size, len(merging.to)))
    lines[merging.to, np.arange(len(merging.to))] = merging.weight
    return np.asarray(lines / lines.sum(axis=1, keepdims=True))
