"""Exact copies: synthetic rows that equal some real row, beside what chance would give.

A synthetic row that equals a real one is no breach by itself: common rows should come back. It becomes suspicious
when synthetic rows equal real ones more often than other real rows do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.data.records import Records
from sfumato.errors import MethodError
from sfumato.evaluate.keys import joint_keys


@dataclass(frozen=True)
class Copied:
    """What share of some rows occur in another table: of all these rows, and of those that differ from each other."""

    rows: float
    distinct: float


@dataclass(frozen=True)
class Copies:
    """Exact copies among synthetic rows.

    Args:
        whole: synthetic rows that occur among all real rows.
        half: synthetic rows that occur in one random half of the real rows.
        expected: rows of the other half that occur in that half: what a second sample of people would give. Compare
            it with `half`, which has the same source, and no more rows.
    """

    whole: Copied
    half: Copied
    expected: Copied


def copied(rows: Records, source: Records) -> Copied:
    """What share of `rows` equal some row of `source` in every column."""
    if not len(rows):
        return Copied(0.0, 0.0)
    keys, known = joint_keys((rows, source), rows.domain.names)
    distinct, counts = np.unique(keys, return_counts=True)
    found = np.isin(distinct, known)
    return Copied(float(counts[found].sum() / len(rows)), float(found.mean()))


def copies(real: Records, synthetic: Records, seed: int = 0) -> Copies:
    """Count exact copies of real rows; `seed` chooses the halves, and the synthetic rows to compare with a half."""
    if len(real) < 2 or not len(synthetic):
        raise MethodError("copies are counted between two tables with rows, and one has too few; give larger tables")
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(real))
    source, others = real.take(order[: len(order) // 2]), real.take(order[len(order) // 2 :])
    # Among more rows there are more rare ones: the shares of distinct rows compare only between equal numbers.
    some = synthetic.take(rng.permutation(len(synthetic))[: len(others)])
    return Copies(copied(synthetic, real), copied(some, source), copied(others, source))
