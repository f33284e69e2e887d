"""Exact marginals of records in memory: many tables in few passes over the rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato import kernels
from sfumato.data.domain import Clique, Domain
from sfumato.data.marginal import Marginal
from sfumato.data.records import Records

JOINT_CELLS = 1 << 14
"""Cells of a joint that stands in for several tables: 128 KB of counts stay in the second-level cache."""


def count(records: Records, cliques: Sequence[Clique]) -> tuple[Marginal, ...]:
    """The exact marginal of each clique.

    A table that is contained in a larger one which is counted anyway costs nothing: it is summed from that one. Small
    tables are first gathered into joints (see `plan`), so that the rows are passed over as few times as possible.
    """
    joints = plan(records.domain, cliques)
    counted: dict[Clique, Marginal] = {}
    for joint in dict.fromkeys(joints):
        domain = records.domain.project(joint)
        counts = kernels.count([records[name] for name in joint], domain.shape) if joint else np.array(len(records))
        counted[joint] = Marginal(domain, counts.reshape(domain.shape))
    return tuple(counted[joint].project(clique) for clique, joint in zip(cliques, joints, strict=True))


def plan(domain: Domain, cliques: Sequence[Clique]) -> tuple[Clique, ...]:
    """For each clique, the joint to count in its place; a joint contains every clique that points to it.

    Greedy: the largest table that is still open starts a joint, which takes in the columns that cover most open tables
    while it has at most `JOINT_CELLS` cells. Tables that are larger than that are counted by themselves.
    """
    wanted = {frozenset(clique) for clique in cliques}
    home: dict[frozenset[str], Clique] = {}
    still_open = set(wanted)
    for start in sorted(wanted, key=lambda clique: (-domain.cells(clique), sorted(clique))):
        if start not in still_open:
            continue
        joint = set(start)
        while (best := _best_addition(domain, joint, still_open)) is not None:
            joint |= best
        covered = {clique for clique in still_open if clique <= joint}
        still_open -= covered
        home.update(dict.fromkeys(covered, domain.canonical(joint)))
    return tuple(home[frozenset(clique)] for clique in cliques)


def _best_addition(domain: Domain, joint: set[str], still_open: set[frozenset[str]]) -> frozenset[str] | None:
    """The columns that let a joint cover most further open tables per factor of growth, or None if nothing fits."""
    cells = domain.cells(joint)
    gains: dict[frozenset[str], int] = {}
    for clique in still_open:
        missing = frozenset(clique - joint)
        if missing and len(missing) <= 2 and missing != clique and cells * domain.cells(missing) <= JOINT_CELLS:
            gains[missing] = gains.get(missing, 0) + 1
    if not gains:
        return None
    return max(gains, key=lambda missing: (gains[missing] / domain.cells(missing), sorted(missing)))
